"""Take a gender direction out of word vectors, and see what is left.

Hard and soft debiasing: Bolukbasi, Chang, Zou, Saligrama & Kalai (2016), "Man is to Computer Programmer as
Woman is to Homemaker? Debiasing Word Embeddings", NeurIPS 29. What remains: Gonen & Goldberg (2019),
"Lipstick on a Pig: Debiasing Methods Cover up Systematic Gender Biases in Word Embeddings But do not Remove
Them", NAACL-HLT, 609–614.
"""

import math
import warnings

import numpy as np
import pandas as pd

from biaslib.embeddings._words import vector_of
from biaslib.io.word_lists import check_pairs, check_words

TERMS = ("sum", "mean")
# Rows worked on at once in float64 (of 300 numbers: 120 MB).
_ROWS_AT_ONCE = 50_000
# What is left of a unit vector below this is float32 rounding.
_NOTHING_LEFT = 1e-6
# A smaller change than this share of an effect is not counted as a reduction.
_SMALLER = 0.01
# Eigenvalues below this share of the largest belong to directions that no vector has.
_NO_SPREAD = 1e-10
_NEIGHBOURS_AT_ONCE = 4_000_000
_FOLDS = 5


def gender_direction(vectors, pairs, *, unit=True):
    """Compute the direction along which the words of each pair differ.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors or mapping of str to array
    pairs : sequence of (str, str)
        Defining pairs, such as ("she", "he").
    unit : bool
        Scale the vectors to unit length first; False takes them as they are.

    Returns
    -------
    numpy.ndarray of float64
        Of unit length: the first principal component of the words, each pair centred on its own mean. It
        points to the pairs' first words.

    Raises
    ------
    ValueError
        If no pair is usable, or the words of no pair differ.

    Warns
    -----
    UserWarning
        Names the pairs left out because a word has no vector, or one of zeros.

    Examples
    --------
    >>> vectors = {"she": [1, 0.2, 0], "he": [-1, 0.1, 0], "woman": [1.1, -0.3, 0.1], "man": [-1, 0.1, 0.1],
    ...            "her": [0.9, 0.1, -0.2], "his": [-1, -0.2, -0.2]}
    >>> pairs = [("she", "he"), ("woman", "man"), ("her", "his")]
    >>> gender_direction(vectors, pairs).round(5).tolist()
    [0.99996, 0.00594, -0.00591]
    """
    direction, _, skipped = _direction(vectors, check_pairs("pairs", pairs), unit)
    if skipped:
        named = ", ".join("/".join(pair) for pair in skipped)
        warnings.warn(f"pairs left out, because a word has no vector: {named}", stacklevel=2)
    return direction


def hard_debias(vectors, *, pairs, specific, equalize):
    """Neutralise all but gender-specific words, and equalise pairs (Bolukbasi et al. 2016).

    Vectors are scaled to unit length; those of all words but the specific ones lose their component along
    the gender direction and are scaled anew; then the words of each pair to equalise become mirror images:
    their mean without that component, and equal and opposite components along it.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors
        Left as it is.
    pairs : sequence of (str, str)
        Defining pairs, see `gender_direction`.
    specific : sequence of str
        Words that keep their gender, as they are spelled.
    equalize : sequence of (str, str)
        Each pair in lower, Title and UPPER case, as far as the vocabulary has both.

    Returns
    -------
    gensim.models.KeyedVectors
        Unit vectors in the given precision; zero vectors stay zero. Its attribute ``debiasing`` is a dict:
        ``method``, ``direction``, ``explained`` (share of the pairs' variance along it), ``skipped`` (by
        list, the words and pairs that the vocabulary lacks, or that do not differ along the direction),
        ``n_neutralised``, ``n_equalised`` (pairs), ``left_nothing`` (words that had nothing but gender, now
        zero), ``neutral_bias_before`` and ``neutral_bias_after`` (mean absolute cosine of the neutralised
        words with the direction).

    Raises
    ------
    ValueError
        If no defining pair is usable, or a list is not of words or pairs.

    Examples
    --------
    >>> from gensim.models import KeyedVectors
    >>> vectors = KeyedVectors(2)
    >>> vectors.add_vectors(["she", "he", "nurse"], np.array([[1.0, 1.0], [-1.0, 1.0], [0.6, 0.8]]))
    >>> fair = hard_debias(vectors, pairs=[("she", "he")], specific=["she", "he"], equalize=[("she", "he")])
    >>> round(float(vectors["nurse"][0]), 6), round(abs(float(fair["nurse"][0])), 6)
    (0.6, 0.0)
    """
    _check_keyed(vectors)
    pairs, equalize = check_pairs("pairs", pairs), check_pairs("equalize", equalize)
    specific = check_words("specific", specific)
    direction, explained, skipped_pairs = _direction(vectors, pairs, unit=True)
    kept, skipped_specific = _places(vectors, specific)
    # Which word of a pair is on which side is to be read before both may be neutralised.
    forms, skipped_equalize = _forms(vectors, equalize, direction)
    rows = np.empty_like(vectors.vectors, subok=False)
    neutral = np.ones(len(rows), dtype=bool)
    neutral[kept] = False
    before, after, nothing = [], [], []
    for part in _parts(len(rows)):
        given = _unit_rows(vectors.vectors[part])
        along = given @ direction
        unit = given - np.outer(np.where(neutral[part], along, 0), direction)
        lost = neutral[part] & (np.linalg.norm(unit, axis=1) <= _NOTHING_LEFT) & given.any(axis=1)
        unit[lost] = 0
        unit = _unit_rows(unit)
        rows[part] = unit
        before.append(np.abs(along[neutral[part]]))
        after.append(np.abs(unit[neutral[part]] @ direction))
        nothing += [vectors.index_to_key[part.start + i] for i in np.flatnonzero(lost)]
    for first, second, sign in forms:
        rows[first], rows[second] = _equalised(rows[first], rows[second], direction, sign)
    return _like(
        vectors,
        rows,
        method="hard",
        direction=direction,
        explained=explained,
        skipped={"pairs": skipped_pairs, "specific": skipped_specific, "equalize": skipped_equalize},
        n_neutralised=int(neutral.sum()),
        n_equalised=len(forms),
        left_nothing=nothing,
        neutral_bias_before=_mean(before),
        neutral_bias_after=_mean(after),
    )


def soft_debias(vectors, *, pairs, specific, lambda_=0.2, terms="sum"):
    r"""Transform vectors so that neutral words lose gender, while inner products change little.

    With W all vectors (columns, unit length), N those of the words that are not gender-specific and B the
    gender direction, the linear transform T of Bolukbasi et al. (2016) minimises

    .. math:: \|(TW)^\top (TW) - W^\top W\|_F^2 + \lambda \|(TN)^\top (TB)\|_F^2

    and the transformed vectors are scaled to unit length.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors
        Left as it is.
    pairs, specific
        As in `hard_debias`.
    lambda_ : float
        The weight of the second term; 0.2 is the paper's.
    terms : {"sum", "mean"}
        ``"sum"`` is the paper's formula. Its first term has as many summands as there are pairs of words, its
        second only as many as words: the larger the vocabulary, the less a given λ does. ``"mean"`` divides
        each term by the number of its summands.

    Returns
    -------
    gensim.models.KeyedVectors
        As from `hard_debias`. Its ``debiasing`` has ``method``, ``direction``, ``explained``, ``skipped``,
        ``lambda_``, ``terms``, ``transform`` (T, symmetric), ``n_neutral``, and ``neutral_bias_before`` and
        ``neutral_bias_after``: mean absolute cosine of the neutral words with the direction, and with the
        transformed one.

    Raises
    ------
    ValueError
        If no defining pair is usable, `lambda_` is negative, or `terms` is unknown.

    Notes
    -----
    Only TᵀT matters, in which both terms are convex quadratics: with the gradient set to zero it follows from
    a linear system of as many equations as there are dimensions. Where that solution is not positive
    semidefinite (few neutral words), T is found by L-BFGS.

    Examples
    --------
    >>> from gensim.models import KeyedVectors
    >>> vectors = KeyedVectors(2)
    >>> vectors.add_vectors(["she", "he", "nurse"], np.array([[1.0, 1.0], [-1.0, 1.0], [0.6, 0.8]]))
    >>> softer = soft_debias(vectors, pairs=[("she", "he")], specific=["she", "he"], lambda_=10)
    >>> bool(0 < softer["nurse"][0] < vectors["nurse"][0])
    True
    """
    _check_keyed(vectors)
    if isinstance(lambda_, bool) or not 0 <= lambda_ < math.inf:
        raise ValueError(f"lambda_ has to be 0 or more, not {lambda_!r}")
    if terms not in TERMS:
        raise ValueError(f"terms {terms!r} is unknown; known: {', '.join(TERMS)}")
    direction, explained, skipped_pairs = _direction(vectors, check_pairs("pairs", pairs), unit=True)
    kept, skipped_specific = _places(vectors, check_words("specific", specific))
    neutral = np.ones(len(vectors.vectors), dtype=bool)
    neutral[kept] = False
    parts = (_unit_rows(vectors.vectors[part]) for part in _parts(len(neutral)))
    of_all = sum(unit.T @ unit for unit in parts)
    gendered = _unit_rows(vectors.vectors[kept])
    of_neutral = of_all - gendered.T @ gendered
    # Dividing both terms by the number of word pairs leaves this ratio.
    weight = lambda_ * len(neutral) ** 2 / max(1, neutral.sum()) if terms == "mean" else lambda_
    transform = _soft_transform(of_all, of_neutral, direction, float(weight))
    rows, before, after = np.empty_like(vectors.vectors, subok=False), [], []
    turned = transform @ direction
    turned = turned / (np.linalg.norm(turned) or 1.0)
    for part in _parts(len(neutral)):
        given = _unit_rows(vectors.vectors[part])
        unit = _unit_rows(given @ transform)
        rows[part] = unit
        before.append(np.abs(given[neutral[part]] @ direction))
        after.append(np.abs(unit[neutral[part]] @ turned))
    return _like(
        vectors,
        rows,
        method="soft",
        direction=direction,
        explained=explained,
        skipped={"pairs": skipped_pairs, "specific": skipped_specific},
        lambda_=lambda_,
        terms=terms,
        transform=transform,
        n_neutral=int(neutral.sum()),
        neutral_bias_before=_mean(before),
        neutral_bias_after=_mean(after),
    )


def remaining_bias(before, after, *, male, female, n=500, seed=0, exclude=(), among=50_000, k=100):
    """See whether the words that were most male and most female can still be told apart.

    The words are chosen by their cosine, before, with the difference of the mean unit vectors of `male` and
    `female`; then three measures of Gonen & Goldberg (2019) are taken before and after.

    Parameters
    ----------
    before, after : gensim.models.KeyedVectors
    male, female : sequence of str
        Words that define the direction, such as ("he",) and ("she",).
    n : int
        Words a side.
    seed : int
        Of the clusters and of the folds.
    exclude : sequence of str
        Words that have a gender by definition; they and `male` and `female` are not chosen.
    among : int
        Words are chosen among the first of the vocabulary, which are the most frequent ones as files have
        them, if they are lower-case letters only.
    k : int
        Neighbours looked at.

    Returns
    -------
    pandas.DataFrame
        ``measure before after chance n``, three rows: ``cluster accuracy`` (2-means), ``classifier
        accuracy`` (support vector machine, radial basis functions, 5-fold cross-validated) and ``neighbour
        correlation`` (Pearson correlation of a word's cosine before and the share of its nearest neighbours,
        among the words chosen from, that leaned to male before). ``attrs`` has the words chosen, ``male`` and
        ``female``, strongest first.

    Raises
    ------
    ValueError
        If `male` or `female` has no word with a vector, or there are too few words to choose from.

    Notes
    -----
    Two clusters of words without any order are split evenly at best by chance, but the better of the two
    ways to name them is taken: the chance level .5 is a lower bound.
    """
    _check_keyed(before)
    _check_keyed(after)
    for name, value, least in (("n", n, _FOLDS), ("among", among, 1), ("k", k, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} has to be a whole number from {least} up, not {value!r}")
    direction = _mean_unit(before, male, "male") - _mean_unit(before, female, "female")
    if np.linalg.norm(direction) <= _NOTHING_LEFT:
        raise ValueError("male and female have the same mean vector")
    words = _candidates(before, after, {*male, *female, *check_words("exclude", exclude)}, among)
    if len(words) < max(2 * n, k + 1):
        raise ValueError(f"{len(words)} words to choose from are too few for n = {n} a side and {k} neighbours")
    old, new = (_unit_rows(v.vectors[[v.key_to_index[word] for word in words]]) for v in (before, after))
    bias = old @ (direction / np.linalg.norm(direction))
    order = np.argsort(-bias, kind="stable")
    chosen, sides = np.concatenate([order[:n], order[::-1][:n]]), np.repeat([1, 0], n)
    rows = [
        ("cluster accuracy", *(_cluster_accuracy(v[chosen], sides, seed) for v in (old, new)), 0.5, 2 * n),
        ("classifier accuracy", *(_classifier_accuracy(v[chosen], sides, seed) for v in (old, new)), 0.5, 2 * n),
        ("neighbour correlation", *(_neighbour_correlation(v, chosen, bias, k) for v in (old, new)), 0.0, 2 * n),
    ]
    frame = pd.DataFrame(rows, columns=["measure", "before", "after", "chance", "n"])
    frame.attrs = {"male": [words[i] for i in chosen[:n]], "female": [words[i] for i in chosen[n:]]}
    return frame


def compare_contrasts(before, after):
    """Set the effect sizes of contrasts before and after debiasing side by side.

    Parameters
    ----------
    before, after : pandas.DataFrame
        From `biaslib.embeddings.run_contrasts`, with the same contrasts.

    Returns
    -------
    pandas.DataFrame
        ``contrast before after reduction smaller halved reversed``: reduction is the share of |d| that is
        gone (negative where it grew); smaller (by 1 % at least), halved and reversed (in sign) are None where
        either has no value.

    Raises
    ------
    ValueError
        If the contrasts differ.

    Examples
    --------
    >>> frames = [pd.DataFrame({"contrast": ["c"], "effect_size": [d]}) for d in (1.5, -0.3)]
    >>> compare_contrasts(*frames).values.tolist()
    [['c', 1.5, -0.3, 0.8, True, True, True]]
    """
    if list(before["contrast"]) != list(after["contrast"]):
        raise ValueError("before and after have to be of the same contrasts, in the same order")
    rows = []
    sizes = (frame["effect_size"].astype(float).tolist() for frame in (before, after))
    for contrast, old, new in zip(before["contrast"], *sizes, strict=True):
        reduction = 1 - abs(new) / abs(old) if old else math.nan
        known = not (math.isnan(old) or math.isnan(new))
        verdicts = (reduction >= _SMALLER, abs(new) <= abs(old) / 2, old * new < 0) if known else (None, None, None)
        rows.append((contrast, old, new, reduction, *verdicts))
    columns = ["contrast", "before", "after", "reduction", "smaller", "halved", "reversed"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[4:], object))


def _direction(vectors, pairs, unit):
    """Give the direction, the share of variance along it, and the pairs left out."""
    differences, skipped, size = [], [], 0.0
    for pair in pairs:
        first, second = (vector_of(vectors, word) for word in pair)
        if first is None or second is None:
            skipped.append(tuple(pair))
            continue
        if unit:
            first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
        size = max(size, np.abs(first).max(), np.abs(second).max())
        # Centred on the pair's mean, its words are plus and minus half of this.
        differences.append(first - second)
    if not differences:
        raise ValueError("no defining pair is usable: each lacks a vector")
    _, spread, components = np.linalg.svd(np.array(differences), full_matrices=False)
    if spread[0] <= _NOTHING_LEFT * size:
        raise ValueError("no defining pair is usable: the words of each have the same vector")
    direction = components[0]
    if np.sum(differences @ direction) < 0:
        direction = -direction
    return direction, float(spread[0] ** 2 / np.sum(spread**2)), skipped


def _forms(vectors, equalize, direction):
    """Give the places of the words of each pair, in each case that the vocabulary has, and its sign."""
    forms, skipped, taken = {}, [], set()
    for pair in equalize:
        usable = False
        for cased in (str.lower, str.title, str.upper):
            first, second = (cased(word) for word in pair)
            vectors_of_pair = [vector_of(vectors, word) for word in (first, second)]
            # A word can mirror one other only: of two pairs that share it, the first counts.
            if any(vector is None for vector in vectors_of_pair) or taken & {first, second}:
                continue
            along = [vector @ direction / np.linalg.norm(vector) for vector in vectors_of_pair]
            if abs(along[0] - along[1]) <= _NOTHING_LEFT:
                continue
            usable = True
            taken |= {first, second}
            places = vectors.key_to_index[first], vectors.key_to_index[second]
            forms[places] = 1.0 if along[0] > along[1] else -1.0
        if not usable:
            skipped.append(tuple(pair))
    return [(*places, sign) for places, sign in forms.items()], skipped


def _equalised(first, second, direction, sign):
    mean = (first.astype(np.float64) + second) / 2
    shared = mean - (mean @ direction) * direction
    height = sign * math.sqrt(max(0.0, 1 - shared @ shared))
    return _unit_rows(np.array([shared + height * direction, shared - height * direction]))


def _soft_transform(all_words, neutral, direction, weight):
    """Solve for the symmetric T from the d × d products of all and of the neutral vectors with themselves."""
    scale, axes = np.linalg.eigh(all_words)
    spread = scale > _NO_SPREAD * scale[-1]
    # Seen from here W Wᵀ is the identity: with Q = G½ TᵀT G½ the terms are ‖Q − G‖² and λ uᵀ Q H Q u.
    root = np.sqrt(scale[spread])
    axes = axes[:, spread]
    gram = np.diag(scale[spread])
    part = (axes / root).T @ neutral @ (axes / root)
    along = (axes / root).T @ direction
    solution = _stationary(gram, part, along, weight)
    values, turned = np.linalg.eigh(solution)
    if values[0] < -_NO_SPREAD * values[-1]:
        solution = _descended((turned * np.sqrt(np.maximum(values, 0))) @ turned.T, gram, part, along, weight)
    inner = solution / np.outer(root, root)
    values, turned = np.linalg.eigh((inner + inner.T) / 2)
    turned = axes @ turned
    # Directions that no vector has are left as they are.
    beyond = np.eye(len(all_words)) - axes @ axes.T
    return (turned * np.sqrt(np.maximum(values, 0))) @ turned.T + beyond


def _stationary(gram, part, along, weight):
    """Find the symmetric Q where the gradient 2(Q − G) + λ(H Q u uᵀ + u uᵀ Q H) is zero."""
    # q = Q u solves a linear system; then Q = G − λ/2 (H q uᵀ + u qᵀ H).
    system = np.eye(len(along)) + weight / 2 * ((along @ along) * part + np.outer(along, along @ part))
    pulled = part @ np.linalg.solve(system, gram @ along)
    return gram - weight / 2 * (np.outer(pulled, along) + np.outer(along, pulled))


def _descended(start, gram, part, along, weight):
    from scipy import optimize

    found = optimize.minimize(
        _soft_objective,
        start.ravel(),
        args=(gram, part, along, weight),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10 * float(np.abs(gram).max())},
    )
    factor = found.x.reshape(gram.shape)
    return factor @ factor.T


def _soft_objective(factor, gram, part, along, weight):
    """Give the two terms' sum and its gradient at Q = L Lᵀ."""
    factor = factor.reshape(gram.shape)
    solution = factor @ factor.T
    change, pulled = solution - gram, part @ (solution @ along)
    value = (change**2).sum() + weight * (solution @ along) @ pulled
    slope = 2 * change + weight * (np.outer(pulled, along) + np.outer(along, pulled))
    return value, (2 * slope @ factor).ravel()


def _candidates(before, after, excluded, among):
    plain = [word for word in before.index_to_key[:among] if word.isalpha() and word.islower() and word not in excluded]
    return [word for word in plain if all(vector_of(vectors, word) is not None for vectors in (before, after))]


def _mean_unit(vectors, words, what):
    found = [vector_of(vectors, word) for word in check_words(what, words)]
    found = [vector / np.linalg.norm(vector) for vector in found if vector is not None]
    if not found:
        raise ValueError(f"no word of {what} has a vector")
    return np.mean(found, axis=0)


def _cluster_accuracy(rows, sides, seed):
    from sklearn.cluster import KMeans

    right = float((KMeans(2, n_init=10, random_state=seed).fit_predict(rows) == sides).mean())
    return max(right, 1 - right)


def _classifier_accuracy(rows, sides, seed):
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import SVC

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    return float(cross_val_score(SVC(kernel="rbf"), rows, sides, cv=folds).mean())


def _neighbour_correlation(rows, chosen, bias, k):
    leaned = bias > 0
    shares = []
    step = max(1, _NEIGHBOURS_AT_ONCE // len(rows))
    for start in range(0, len(chosen), step):
        own = chosen[start : start + step]
        cosines = rows[own] @ rows.T
        cosines[np.arange(len(own)), own] = -np.inf
        shares.append(leaned[np.argpartition(-cosines, k - 1, axis=1)[:, :k]].mean(axis=1))
    shares = np.concatenate(shares)
    return float(np.corrcoef(bias[chosen], shares)[0, 1]) if np.ptp(shares) else math.nan


def _parts(n):
    return [slice(start, min(start + _ROWS_AT_ONCE, n)) for start in range(0, n, _ROWS_AT_ONCE)]


def _unit_rows(rows):
    rows = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=(lengths > 0) & np.isfinite(lengths))


def _mean(parts):
    values = np.concatenate(parts)
    return float(values.mean()) if values.size else math.nan


def _places(vectors, words):
    words = list(dict.fromkeys(words))
    found = [vectors.key_to_index[word] for word in words if word in vectors.key_to_index]
    return found, [word for word in words if word not in vectors.key_to_index]


def _like(vectors, rows, **debiasing):
    """Make KeyedVectors of the same words, in the same order and with their counts."""
    from gensim.models import KeyedVectors

    made = KeyedVectors(vectors.vector_size, dtype=rows.dtype)
    made.index_to_key, made.key_to_index = list(vectors.index_to_key), dict(vectors.key_to_index)
    made.vectors, made.next_index = rows, len(rows)
    made.expandos = {name: values.copy() for name, values in vectors.expandos.items()}
    made.debiasing = debiasing
    return made


def _check_keyed(vectors):
    from gensim.models import KeyedVectors

    if not isinstance(vectors, KeyedVectors):
        raise ValueError(f"vectors have to be gensim's KeyedVectors, not {type(vectors).__name__}")
