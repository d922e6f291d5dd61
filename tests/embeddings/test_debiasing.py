import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("gensim.models")

from gensim.models import KeyedVectors
from tiny_vectors import keyed

from biaslib.embeddings import debiasing, gender_direction, hard_debias, soft_debias

TRAP = {
    "she": (1, 0.2, 0),
    "he": (-1, 0.1, 0),
    "woman": (1.1, -0.3, 0.1),
    "man": (-1, 0.1, 0.1),
    "her": (0.9, 0.1, -0.2),
    "his": (-1, -0.2, -0.2),
}


PAIRS = [("she", "he"), ("woman", "man"), ("her", "his")]


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
        ([("mother", "father")], "in each, a word has no vector"),
        ([("she", "she")], "the same vector"),
        ("she", "list of pairs"),
        (["she"], "each pair of pairs must be a list of strings, not one string"),
        ([("she", "he", "it")], "list of pairs of words, but it has"),
        ([("she", 3)], "each pair of pairs must be a list of strings, but it has 3"),
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
    with pytest.raises(ValueError, match="specific must be a list of strings, not one string"):
        function(keyed(TRAP), pairs=PAIRS, specific="she", **more)
    with pytest.raises(ValueError, match="specific must be a list of strings, but it has 3"):
        function(keyed(TRAP), pairs=PAIRS, specific=[3], **more)


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
        with pytest.raises(ValueError, match="lambda_ must be a finite number at least 0"):
            soft_debias(keyed(TRAP), pairs=PAIRS, specific=[], lambda_=lambda_)
    with pytest.raises(ValueError, match="unknown terms 'product'; use one of sum, mean"):
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


def test_of_two_pairs_with_a_word_in_common_the_first_counts():
    vectors = keyed(random_words())
    done = hard_debias(vectors, pairs=PAIRS, specific=[], equalize=[("she", "he"), ("she", "man")])
    direction = gender_direction(vectors, PAIRS)
    assert done["she"] @ direction == pytest.approx(-(done["he"] @ direction), abs=1e-6)
    assert ("she", "man") in [tuple(pair) for pair in done.debiasing["skipped"]["equalize"]]
