import numpy as np
import pandas as pd
import pytest

from biaslib.metrics import top_contrast
from biaslib.studies import (
    agreement_with_published_top_words,
    different_top_words,
    published_table,
    published_top_words_found,
    speciesism,
)

TOP = published_table("speciesism_tables8_11_top_words")
ALL_FOUR = ("bert-large-cased", "roberta-large", "distilbert-base-cased", "albert-large-v2")
BOTH = ALL_FOUR[:2]
VADER = pd.DataFrame(
    {"word": ["killed", "slaughtered"], "compound": [-0.67, 0.0], "sentiment": ["negative", "neutral"]}
)


def of_models(frame, models):
    return pd.concat([frame.assign(model=model) for model in models], ignore_index=True)


def results(models=("demo",), *, kind=None, **changes):
    """Results of a run as the study tells them, but for `changes`; with a corpus if `kind` is "corpus"."""
    words = pd.DataFrame({"name": "pig", "word": ["ripe", "clumsy", "blue"], "log_ratio": [1.0, -1.0, -2.0]})
    top = pd.DataFrame({"name": ["pig", "pig"], "sentences": ["object", "human"], "word": ["ripe", "clumsy"]})
    sentiment = pd.DataFrame({"sentiment": ["negative", "neutral"], "object": [0.1, 0.8], "human": [0.2, 0.7]})
    by_name = pd.DataFrame({"name": ["human", "pig", "dog"], "sentiment": "negative", "n": [1, 2, 4]})
    given = {
        "words": dict.fromkeys(models, words),
        "top": of_models(top, models),
        "cohesion": farm_cohesion(dict(zip(models, (0.4, 0.3, 0.2, 0.1), strict=False))),
        "sentiment": of_models(sentiment, models),
        "sentiment_by_name": of_models(by_name, models),
        "vader": VADER,
    }
    bias = {"human": -0.2, "chicken": 0.1, "turkey": 0.2, "dog": 0.1, "cat": 0.3, "newfoundland": -0.1, "persian": -0.2}
    counts = {"corpus": ["my/wikipedia"], "that": [3], "which": [1], "who": [2], "whose": [0], "whom": [0]}
    correlation = pd.DataFrame({"names": ["all", "all"], "method": ["pearson", "spearman"], "correlation": [0.75, 0.1]})
    if kind == "corpus":
        given |= {
            "bias": of_models(pd.DataFrame({"name": list(bias), "bias": list(bias.values())}), models),
            "counts": pd.DataFrame(counts),
            "correlation": of_models(correlation, models),
            "has_frequency_corpora": True,
        }
    return given | changes


def farm_cohesion(differences):
    rows = [(model, group, d) for model, d in differences.items() for group in ("farm", "other")]
    frame = pd.DataFrame(rows, columns=["model", "group", "difference"])
    return frame.assign(difference=frame["difference"].where(frame["group"] == "farm", 9.0))


def status(claim, given):
    return speciesism.judge(**given)["status"][claim - 1]


def test_a_run_as_the_study_tells_it():
    marked = speciesism.judge(**results(ALL_FOUR, kind="corpus"))
    assert marked["status"].tolist() == ["seen"] * 12 + ["not testable here"]
    assert marked["evidence"][6] == "compound scores, killed: -0.67; slaughtered: 0"


def test_a_model_that_the_study_did_not_use():
    marked = speciesism.judge(**results())
    untested = set(marked.index[marked["status"] == "not testable here"] + 1)
    assert untested == {1, 2, *range(8, 14)}
    marked = speciesism.judge(**results(kind="corpus"))
    untested = set(marked.index[marked["status"] == "not testable here"] + 1)
    assert untested == {1, 2, 9, 12, 13}


def test_other_names_or_sentences_than_the_study():
    marked = speciesism.judge(**results(ALL_FOUR, kind="corpus", is_of_study=False))
    assert set(marked["status"]) == {"not testable here"}


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (ALL_FOUR, "seen"),
        (("roberta-large", "bert-large-cased", "demo", *ALL_FOUR[2:]), "seen"),
        (ALL_FOUR[::-1], "not seen"),
        (ALL_FOUR[:3], "not testable here"),
    ],
)
def test_farm_animals_cluster_most_in_bert_and_roberta(models, expected):
    cohesion = farm_cohesion({model: 0.5 - 0.1 * place for place, model in enumerate(models)})
    assert status(1, results(models, cohesion=cohesion)) == expected


@pytest.mark.parametrize(
    ("name", "sentences", "word", "expected"),
    [
        ("pig", "object", "dried", "seen"),
        ("pig", "human", "dried", "not seen"),
        ("dog", "object", "dried", "not seen"),
        ("pig", "object", "blue", "not seen"),
    ],
)
def test_slaughter_words(name, sentences, word, expected):
    top = pd.DataFrame({"model": ["roberta-large"], "name": name, "sentences": sentences, "word": word})
    assert status(2, results(["roberta-large"], top=top)) == expected
    # The claim is about BERT and RoBERTa alone.
    assert status(2, results(["albert-large-v2"], top=top.assign(model="albert-large-v2"))) == "not testable here"


def test_personality_words_are_among_those_of_human_sentences():
    of_object = pd.DataFrame({"name": "pig", "word": ["clumsy"], "log_ratio": [1.0]})
    words = results()["words"]
    assert status(3, results(words=words | {"other": of_object})) == "not seen"
    assert status(3, results(words=words | {"other": of_object.assign(log_ratio=-1.0)})) == "seen"


@pytest.mark.parametrize(
    ("n_human", "expected"), [(2, "seen"), (3, "not seen"), (9, "not seen"), (None, "not testable here")]
)
def test_human_has_fewer_negative_words_than_the_median_name(n_human, expected):
    by_name = pd.DataFrame({"model": "demo", "name": ["pig", "pig", "dog"], "sentiment": "negative", "n": [1, 1, 4]})
    human = pd.DataFrame({"model": "demo", "name": "human", "sentiment": ["negative", "neutral"], "n": [n_human, 50]})
    shares = by_name if n_human is None else pd.concat([by_name, human])
    assert status(4, results(sentiment_by_name=shares)) == expected


@pytest.mark.parametrize(
    ("n_object", "n_human", "expected"), [(0.8, 0.6, "seen"), (0.6, 0.8, "not seen"), (0.8, 0.5, "not seen")]
)
def test_most_words_are_neutral_and_more_so_for_things(n_object, n_human, expected):
    sentiment = pd.DataFrame({"model": "demo", "sentiment": ["neutral"], "object": n_object, "human": n_human})
    assert status(5, results(sentiment=sentiment)) == expected


def test_more_negative_words_for_persons_in_all_but_bert():
    sentiment = results(BOTH)["sentiment"]
    turned = sentiment.rename(columns={"object": "human", "human": "object"})
    bert = sentiment["model"] == "bert-large-cased"
    assert status(6, results(BOTH, sentiment=pd.concat([turned[bert], sentiment[~bert]]))) == "seen"
    assert status(6, results(BOTH, sentiment=pd.concat([sentiment[bert], turned[~bert]]))) == "not seen"
    assert status(6, results(["bert-large-cased"])) == "not testable here"


def test_what_vader_knows():
    assert status(7, results(vader=VADER.assign(sentiment="negative"))) == "not seen"


@pytest.mark.parametrize(("claim", "name"), [(8, "chicken"), (9, "cat"), (10, "persian")])
def test_bias_of_named_animals(claim, name):
    bias = results(BOTH, kind="corpus")["bias"]
    here = (bias["name"] == name) & (bias["model"] == "roberta-large")
    turned = bias.assign(bias=bias["bias"].where(~here, -bias["bias"]))
    assert status(claim, results(BOTH, kind="corpus", bias=turned)) == "not seen"
    without = bias.assign(bias=bias["bias"].where(~here))
    assert status(claim, results(BOTH, kind="corpus", bias=without)) == "not testable here"
    assert status(claim, results(BOTH)) == "not testable here"


@pytest.mark.parametrize(
    ("corpus", "n_who", "expected"),
    [
        ("data/BookCorpus", 20, "seen"),
        ("data/BookCorpus", 4, "not seen"),
        ("data/BookCorpus", 100, "not seen"),
        ("novels", 20, "not testable here"),
    ],
)
def test_object_pronouns_are_twice_as_frequent(corpus, n_who, expected):
    counts = pd.DataFrame({"corpus": corpus, "that": [20, 9], "which": [10, 1], "who": n_who // 2})
    counts = counts.assign(whose=0, whom=0)
    assert status(11, results(kind="corpus", counts=counts)) == expected


@pytest.mark.parametrize(
    ("model", "r", "expected"),
    [
        ("roberta-large", 0.6, "seen"),
        ("roberta-large", 0.5, "not seen"),
        ("albert-large-v2", 0.6, "not seen"),
        ("albert-large-v2", np.nan, "not testable here"),
        ("demo", 0.9, "not testable here"),
    ],
)
def test_bias_goes_with_frequency(model, r, expected):
    given = results([model], kind="corpus")
    given["correlation"].loc[0, "correlation"] = r
    assert status(12, given) == expected
    assert status(12, given | {"has_frequency_corpora": False}) == "not testable here"


def test_in_short():
    row = {
        "model": "demo",
        "object": 0.6041,
        "human": 0.55,
        "difference": 0.0541,
        "ci_low": -0.01,
        "ci_high": 0.1,
        "n": 46,
    }
    sentiment = pd.DataFrame([row | {"sentiment": "negative"}, row | {"sentiment": "neutral"}])
    pooled = pd.DataFrame([row | {"bias": -0.125, "n_left_out": 3}])
    lines = speciesism.in_short(sentiment, pooled)
    assert speciesism.in_short(sentiment) == lines[:1]
    assert lines == [
        "- `demo`: VADER rates 60.4% of a name's words as neutral when it is a thing and 55.0% when it is a person "
        "(+5.4%, interval -1.0% to +10.0%, n = 46 names).",
        "- `demo`: in real sentences the bias over all names but *human* is -0.12 (interval -0.01 to +0.10, n = 46 "
        "pronouns, 3 left out). Above 0 the model leans towards the thing, below 0 towards the person.",
    ]


def test_bias_of_all_names_but_human():
    rows = [("human", "who", 0.9, 0.1), ("pig", "who", 0.1, 0.9), ("dog", "who", 0.9, 0.1), ("dog", "that", 0.9, 0.1)]
    scored = pd.DataFrame(rows, columns=["name", "pronoun", "that", "who"]).assign(which=0.0, whose=0.0, whom=0.0)
    found = speciesism.bias_of_all_but_human(scored)
    assert found[["name", "n_human", "n_object", "bias"]].values.tolist() == [["all but human", 2, 1, 0.5]]


def test_top_words_found_of_the_models_that_the_study_used():
    top = pd.DataFrame({"model": ["demo"], "name": "pig", "sentences": "object", "word": "dried"})
    assert published_top_words_found(top, ["demo"]).columns.tolist() == ["model"]
    top = pd.concat([top, top.assign(model="x/roberta-large")])
    found = published_top_words_found(top, ["demo", "x/roberta-large"])
    assert found["model"].tolist() == ["x/roberta-large"] * 2
    assert found["n_published"].tolist() == [5, 5]


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("bert-large-cased", [85, 45]),
        ("roberta-large", [107, 96]),
        ("distilbert-base-cased", [69, 58]),
        ("albert-large-v2", [95, 69]),
    ],
)
def test_different_words_of_the_tables(model, counts):
    frame = different_top_words(TOP[TOP["model"] == model])
    assert frame["sentences"].tolist() == ["object", "human"]
    assert frame["n_different"].tolist() == counts


def test_different_words_of_nothing():
    assert different_top_words(TOP.iloc[:0])["n_different"].tolist() == [0, 0]
    with pytest.raises(ValueError, match="must have the column sentences"):
        different_top_words(TOP[["word"]])


@pytest.mark.parametrize("model", sorted(set(TOP["model"])))
def test_the_tables_agree_with_themselves(model):
    top = TOP[TOP["model"] == model].rename(columns={"animal": "name"})
    top["word"] = top["word"].str.replace("f**k", "fuck", regex=False)
    frame = agreement_with_published_top_words(top, model)
    assert list(frame.columns) == ["name", "sentences", "n_published", "n_found", "share", "found", "missing"]
    assert len(frame) == 92
    assert (frame["share"] == 1).all() and (frame["missing"] == "").all()
    assert frame.attrs == {"not_measured": [], "not_published": []}


def top_of(name, words, sentences="object"):
    return pd.DataFrame({"name": name, "sentences": sentences, "word": words})


def test_agreement_compares_case_and_stars_letter_by_letter():
    top = pd.concat([top_of("bat", ["ninja"], "human"), top_of("cat", ["fucked", "f12king", "fuucking"])])
    frame = agreement_with_published_top_words(top, "google-bert/bert-large-cased")
    found = frame.set_index(["name", "sentences"])
    assert found.loc[("bat", "human"), "n_found"] == 0  # published: Ninja
    assert found.loc[("bat", "object"), ["n_found", "n_published"]].tolist() == [0, 5]
    assert found.loc[("cat", "object"), ["n_found", "share", "found"]].tolist() == [1, 0.2, "f**ked"]
    assert "f**king" in found.loc[("cat", "object"), "missing"]
    assert "pig" in frame.attrs["not_measured"]


def test_agreement_reads_no_pattern_but_the_star():
    frame = agreement_with_published_top_words(top_of("rat", ["1a"]), "albert-large-v2")
    assert frame.loc[0, "n_found"] == 0  # published: "1:"


def test_a_piece_counts_where_the_tables_do_not_mark_pieces():
    for words, model, n_found in (
        (["##dried"], "roberta-large", 1),
        (["##ripe"], "bert-large-cased", 0),
    ):
        assert agreement_with_published_top_words(top_of("chicken", words), model)["n_found"].max() == n_found


def test_names_measured_but_without_a_word_count_as_not_found():
    rows = pd.DataFrame({"name": pd.Categorical([], ["pig"]), "word": [], "log_ratio": [], "kept": []})
    top = top_contrast(rows.astype({"kept": bool, "log_ratio": float}))
    frame = agreement_with_published_top_words(top, "roberta-large")
    assert frame[["name", "n_found"]].values.tolist() == [["pig", 0], ["pig", 0]]


def test_names_the_tables_lack_are_listed():
    frame = agreement_with_published_top_words(top_of("axolotl", ["ripe"]), "roberta-large")
    assert frame.empty and frame.attrs["not_published"] == ["axolotl"]


def test_agreement_needs_a_published_model():
    with pytest.raises(ValueError, match="model of the study 'demo'; use one of bert-large-cased, roberta-large"):
        agreement_with_published_top_words(top_of("pig", ["ripe"]), "demo")
