import math
import warnings

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biaslib import compute, scoring
from biaslib.metrics import (
    PARSER,
    PRONOUNS,
    corpus_relatives,
    correlate_with_frequency,
    count_pronouns,
    count_relatives,
    find_in_corpus,
    find_relatives,
    object_bias,
    relative_probabilities,
    relatives,
    sample_perplexity,
    score_corpus,
)
from biaslib.scoring import load_parser, parser_fingerprint
from biaslib.studies import published_table

# In the vocabulary of the tiny models; each with its pronoun's place.
SENTENCES = [
    "the dog that is good",
    "a cat which was seen with the nurse",
    "the horse who is not in the city",
    "we is who",
]


def located(sentences, **columns):
    """Make a frame as find_relatives does, of the first relative pronoun of each sentence."""
    rows = []
    for sentence in sentences:
        pronoun = next(word for word in sentence.split() if word.strip(".,") in PRONOUNS)
        start = sentence.index(pronoun)
        rows.append((sentence, pronoun.strip(".,"), start, start + len(pronoun.strip(".,"))))
    frame = pd.DataFrame(rows, columns=["sentence", "pronoun", "start", "end"])
    return frame.assign(**{"name": "dog", **columns})


def rows_of(*rows, name="pig"):
    return pd.DataFrame(rows, columns=["pronoun", *PRONOUNS]).assign(name=name)


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
def test_probabilities_are_those_of_the_plain_computation(tiny, family):
    lm = tiny(family)
    frame = relative_probabilities(lm, located(SENTENCES))
    model = plain.double(lm)
    assert (frame["reason"] == "").all()
    for row in frame.itertuples():
        masked = f"{row.sentence[: row.start]}[MASK]{row.sentence[row.end :]}"
        expected = [plain.group_probability(lm, model, masked, [word]) for word in PRONOUNS]
        assert [getattr(row, word) for word in PRONOUNS] == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_what_cannot_be_scored_has_its_reason_and_ends_no_run(tiny):
    lm = tiny("bert_cased")
    long = f"the dog that is {'good and ' * 60}old"
    frame = located(["the dog that is good", long, "the [MASK] is a dog who is old", "the dog who is good"])
    scored = relative_probabilities(lm, frame.set_index(pd.Index([5, 3, 9, 1])))
    assert scored.index.tolist() == [5, 3, 9, 1]
    assert scored.loc[[5, 1], "reason"].tolist() == ["", ""]
    assert scored.loc[3, "reason"] == "too long"
    assert scored.loc[9, "reason"] == "not exactly one [MASK]"
    assert scored.loc[[3, 9], list(PRONOUNS)].isna().all(axis=None)
    bias = object_bias(scored.assign(name="dog"))
    assert bias[["n_human", "n_object", "n_left_out"]].values.tolist() == [[1, 1, 2]]


def test_a_pronoun_without_an_entry_leaves_the_sentence_out(tiny, monkeypatch):
    monkeypatch.setattr(relatives, "PRONOUNS", (*PRONOUNS[:4], "whomsoever"))
    frame = relative_probabilities(tiny("bert_cased"), located(SENTENCES[:1]))
    assert frame.loc[0, "reason"] == "whomsoever: not one token"
    assert math.isnan(frame.loc[0, "that"])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(range(len(SENTENCES))), min_size=1, max_size=7), st.sampled_from([1, 2, 4_096]))
def test_order_duplicates_and_portions_change_no_probability(tiny, order, portion):
    lm = tiny("roberta")
    alone = relative_probabilities(lm, located(SENTENCES))[list(PRONOUNS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relatives, "_SENTENCES_AT_ONCE", portion)
        frame = relative_probabilities(lm, located([SENTENCES[n] for n in order]), batch_tokens=64)
    np.testing.assert_allclose(frame[list(PRONOUNS)], alone.iloc[order], rtol=1e-5, atol=1e-9)


def test_bad_frames_are_refused(tiny):
    lm, frame = tiny("bert_cased"), located(SENTENCES)
    with pytest.raises(ValueError, match="must have the column end"):
        relative_probabilities(lm, frame.drop(columns="end"))
    with pytest.raises(ValueError, match="already has the columns who"):
        relative_probabilities(lm, frame.assign(who=0.1))
    with pytest.raises(ValueError, match="lie outside the sentence"):
        relative_probabilities(lm, frame.assign(end=99))


def test_nothing_to_score_gives_an_empty_frame(tiny):
    frame = relative_probabilities(tiny("bert_cased"), located(SENTENCES).iloc[:0])
    assert frame.empty and list(frame.columns[-6:]) == [*PRONOUNS, "reason"]


HUMAN = [("who", 0.2, 0.2, 0.3, 0.01, 0.02), ("whose", 0.5, 0.1, 0.3, 0.01, 0.02), ("whom", 0.3, 0.1, 0.3, 0, 0)]
OBJECT = [("that", 0.1, 0.1, 0.05, 0.05, 0.09), ("which", 0.1, 0.2, 0.6, 0, 0)]


def test_bias_by_hand():
    # H: the thing is likelier in one of three, equal in another. O: the person is likelier in one of two. That is by
    # the largest of each kind; sums of each kind would give +.5.
    table = object_bias(rows_of(*HUMAN, *OBJECT))
    assert table["bias"].round(6).tolist() == [-0.166667]
    assert table[["n_human", "n_object", "n_left_out"]].values.tolist() == [[3, 2, 0]]
    assert -1 <= table.loc[0, "ci_low"] < table.loc[0, "bias"] < table.loc[0, "ci_high"] <= 1


def test_bias_keeps_names_apart_and_knows_those_without_sentences():
    frame = pd.concat([rows_of(*HUMAN, *OBJECT), rows_of(*HUMAN, name="cow"), rows_of(*OBJECT, name="hen")])
    frame["name"] = pd.Categorical(frame["name"], categories=["hen", "pig", "ox", "cow"])
    table = object_bias(frame).set_index("name")
    assert table.index.tolist() == ["hen", "pig", "ox", "cow"]
    assert table["reason"].tolist() == [
        "no sentence with who, whose or whom",
        "",
        "no sentence with who, whose or whom; no sentence with that or which",
        "no sentence with that or which",
    ]
    assert table["bias"].isna().tolist() == [True, False, True, True]
    assert table[["n_human", "n_object"]].values.tolist() == [[0, 2], [3, 2], [0, 0], [3, 0]]
    assert object_bias(frame, names=["pig"])["name"].tolist() == ["pig"]


def test_one_sentence_of_a_kind_gives_a_bias_without_interval():
    table = object_bias(rows_of(HUMAN[1], *OBJECT))
    assert table.loc[0, "bias"] == 0.5 and table[["ci_low", "ci_high"]].isna().all(axis=None)


def test_interval_is_of_two_binomial_shares():
    crossed, kept = ("who", 0.5, 0, 0.1, 0, 0), ("who", 0.1, 0, 0.5, 0, 0)
    rows = [crossed] * 30 + [kept] * 70 + [("that", 0.5, 0, 0.1, 0, 0)] * 80 + [("that", 0.1, 0, 0.5, 0, 0)] * 20
    table = object_bias(rows_of(*rows), n_resamples=4_000)
    error = math.sqrt(0.3 * 0.7 / 100 + 0.2 * 0.8 / 100)
    low, high = (0.1 + side * stats.norm.ppf(0.975) * error for side in (-1, 1))
    assert table.loc[0, ["ci_low", "ci_high"]].tolist() == pytest.approx([low, high], abs=0.02)
    assert table.equals(object_bias(rows_of(*rows), n_resamples=4_000))


@given(
    st.lists(st.sampled_from(HUMAN), min_size=1, max_size=6), st.lists(st.sampled_from(OBJECT), min_size=1), st.data()
)
def test_bias_does_not_depend_on_the_order_of_sentences(human, object_, data):
    rows = human + object_
    table = object_bias(rows_of(*rows), n_resamples=10)
    shuffled = object_bias(rows_of(*data.draw(st.permutations(rows))), n_resamples=10)
    expected = np.mean([h is HUMAN[1] for h in human]) - np.mean([o is OBJECT[1] for o in object_])
    assert table.loc[0, "bias"] == pytest.approx(expected) == shuffled.loc[0, "bias"]
    assert -1 <= expected <= 1


def test_unknown_pronouns_are_refused():
    with pytest.raises(ValueError, match="unknown relative pronoun 'what'; use one of that, which"):
        object_bias(rows_of(("what", 0, 0, 0, 0, 0)))
    with pytest.raises(ValueError, match="unknown relative pronoun 'what'"):
        count_relatives(rows_of(("what", 0, 0, 0, 0, 0)))


def test_rows_of_several_models_are_not_mixed():
    frame = pd.concat([rows_of(*HUMAN, *OBJECT).assign(model=model) for model in ("a", "b")])
    for measure in (object_bias, count_relatives):
        with pytest.raises(ValueError, match=r"rows of 2 models \(a, b\)"):
            measure(frame)
        assert len(measure(frame[frame["model"] == "a"])) == 1


@pytest.mark.parametrize(
    ("measure", "error", "says"),
    [
        (lambda frame: object_bias(frame.astype({"who": "str"})), TypeError, "not strings: who"),
        (lambda frame: object_bias(frame.astype(object).replace({"who": {0.3: "0.3"}})), TypeError, "not strings: who"),
        (lambda frame: object_bias(frame, names="pig"), ValueError, "names must be a list of strings, not 'pig'"),
        (lambda frame: count_relatives(frame, names="pig"), ValueError, "names must be a list of strings, not 'pig'"),
        (lambda frame: count_relatives(frame.assign(corpus=None)), ValueError, "corpus has no value in 5 of 5 rows"),
        (lambda frame: count_pronouns(frame.assign(corpus=None)), ValueError, "corpus has no value in 5 of 5 rows"),
        (
            lambda frame: correlate_with_frequency(frame.assign(bias=0, model=None), frame),
            ValueError,
            "model has no value in 5 of 5 rows",
        ),
        (
            lambda frame: count_relatives(frame.assign(pronoun=[None, "what", "who", "who", "who"])),
            ValueError,
            "unknown relative pronoun 'what', nan",
        ),
        (lambda frame: find_relatives(["A dog."], frame), ValueError, r"give a column, such as frame\['name'\]"),
        (lambda frame: find_in_corpus("", "pig", out="o"), ValueError, "names must be a list of strings, not 'pig'"),
        (lambda frame: score_corpus("", [], frame, out="o"), ValueError, "not a DataFrame"),
        (
            lambda frame: sample_perplexity(None, "abc"),
            TypeError,
            "sentences must be a list of strings, not one string",
        ),
    ],
)
def test_odd_input_is_named(measure, error, says):
    with pytest.raises(error, match=says):
        measure(rows_of(*HUMAN, *OBJECT))


def test_no_rows_of_any_corpus_give_empty_frames():
    counts = count_relatives(rows_of().assign(corpus=pd.Series(dtype="str")), names=["pig"])
    assert counts.columns.tolist() == ["corpus", "name", *PRONOUNS, "n", "share_object"] and counts.empty
    totals = count_pronouns(counts)
    assert totals.columns.tolist() == ["corpus", "pronoun", "count", "count_without_human"] and totals.empty


def test_counts_by_hand():
    frame = pd.DataFrame({"name": ["pig", "pig", "human", "pig"], "pronoun": ["that", "which", "who", "whom"]})
    counts = count_relatives(frame, names=["human", "pig", "cow"])
    assert counts.columns.tolist() == ["name", *PRONOUNS, "n", "share_object"]
    assert counts.iloc[:, :7].values.tolist() == [
        ["human", 0, 0, 1, 0, 0, 1],
        ["pig", 1, 1, 0, 0, 1, 3],
        ["cow", 0, 0, 0, 0, 0, 0],
    ]
    assert counts["share_object"].tolist()[:2] == [0, pytest.approx(2 / 3)] and math.isnan(counts["share_object"][2])
    totals = count_pronouns(counts)
    assert totals["count"].tolist() == [1, 1, 1, 0, 1] and totals["count_without_human"].tolist() == [1, 1, 0, 0, 1]


def test_counts_by_corpus_have_the_shape_of_the_published_table():
    frame = pd.DataFrame(
        {"corpus": ["b", "a", "b"], "name": ["pig", "pig", "human"], "pronoun": ["that", "who", "who"]}
    )
    totals = count_pronouns(count_relatives(frame))
    published = published_table("speciesism_table4_relative_pronouns")
    assert totals.columns.tolist() == published.columns.tolist()
    assert totals["corpus"].tolist() == ["b"] * 5 + ["a"] * 5
    assert totals["pronoun"].tolist()[:5] == published["pronoun"].tolist()[:5]
    assert totals["count"].tolist() == [1, 0, 1, 0, 0, 0, 0, 1, 0, 0]


def counted(shares, n=20):
    """Make counts whose shares of that are these."""
    rows = [{"name": name, "that": round(share * n), "who": n - round(share * n)} for name, share in shares.items()]
    counts = pd.DataFrame(rows).reindex(columns=["name", *PRONOUNS], fill_value=0)
    return counts.fillna(0).assign(n=n)


def test_correlation_is_scipys_with_and_without_human():
    shares = {"human": 0.1, "pig": 0.9, "cow": 0.7, "dog": 0.4, "cat": 0.45, "ox": 0.8}
    bias = pd.DataFrame({"name": [*shares, "hen", "emu"], "bias": [-0.5, 0.6, 0.1, 0.2, -0.1, 0.3, math.nan, 0.4]})
    table = correlate_with_frequency(bias, counted(shares))
    assert table[["names", "method"]].values.tolist() == [
        ["all", "pearson"],
        ["all", "spearman"],
        ["without human", "pearson"],
        ["without human", "spearman"],
    ]
    x, y = list(shares.values()), bias["bias"].tolist()[:6]
    for rows, start in ((table.iloc[:2], 0), (table.iloc[2:], 1)):
        pearson, spearman = stats.pearsonr(x[start:], y[start:]), stats.spearmanr(x[start:], y[start:])
        assert rows["correlation"].tolist() == pytest.approx([pearson.statistic, spearman.statistic])
        assert rows["p_value"].tolist() == pytest.approx([pearson.pvalue, spearman.pvalue])
        interval = pearson.confidence_interval()
        assert rows[["ci_low", "ci_high"]].values[0].tolist() == pytest.approx([interval.low, interval.high])
    assert table["n"].tolist() == [6, 6, 5, 5] and table["n_left_out"].tolist() == [2] * 4


def test_counts_of_corpora_are_summed_before_shares_are_taken():
    bias = pd.DataFrame({"name": list("abcd"), "bias": [0.1, 0.2, 0.3, 0.5]})
    small, large = (
        counted(dict.fromkeys("abcd", 0.0), n=2),
        counted(dict(zip("abcd", (0.1, 0.3, 0.2, 0.9), strict=True))),
    )
    both = pd.concat([small.assign(corpus="s"), large.assign(corpus="l")])
    weights = [share * 20 / 22 for share in (0.1, 0.3, 0.2, 0.9)]
    expected = stats.pearsonr(weights, bias["bias"]).statistic
    assert correlate_with_frequency(bias, both).loc[0, "correlation"] == pytest.approx(expected)


def test_models_are_correlated_apart_and_too_few_names_say_so():
    bias = pd.DataFrame({"model": ["x"] * 4 + ["y"] * 2, "name": list("abcdab"), "bias": [0.1, 0.2, 0.3, 0.5, 0, 1]})
    counts = counted(dict(zip("abcd", (0.1, 0.3, 0.2, 0.9), strict=True)))
    table = correlate_with_frequency(bias, counts)
    assert table["model"].tolist() == ["x"] * 4 + ["y"] * 4
    assert table["reason"].tolist() == [""] * 4 + ["fewer than three pairs"] * 4
    assert table["correlation"].isna().tolist() == [False] * 4 + [True] * 4
    with pytest.raises(ValueError, match="a name occurs twice"):
        correlate_with_frequency(bias.drop(columns="model"), counts)


def test_perplexity_by_hand(monkeypatch):
    def scores(lm, sentences, **options):
        known = {"short": (-2.0, 2, ""), "long": (-16.0, 8, ""), "bad": (math.nan, 3, "too long")}
        rows = [known[sentence] for sentence in sentences]
        return pd.DataFrame(rows, columns=["pll", "n_tokens", "reason"])

    monkeypatch.setattr(scoring, "pseudo_log_likelihood", scores)
    result = sample_perplexity(None, ["short", "bad", "long", "short"])
    # exp(18 / 10), not a mean of exp(1) and exp(2).
    assert result.pppl == pytest.approx(6.049647, abs=1e-6)
    assert (result.n, result.n_tokens, result.n_left_out, result.reasons) == (2, 10, 1, "1 too long")
    assert math.exp(1) <= result.ci_low <= result.pppl <= result.ci_high <= math.exp(2)
    assert result.to_frame().loc[0, "n"] == 2
    nothing = sample_perplexity(None, ["bad"])
    assert math.isnan(nothing.pppl) and math.isnan(nothing.ci_low)
    assert (nothing.n, nothing.n_left_out, nothing.reasons) == (0, 1, "1 too long")


def test_perplexity_of_a_sample_is_that_of_its_sentences(demo):
    sentences = [f"The dog that ate {number} bones slept." for number in ("three", "four", "five", "six", "seven")]
    drawn = sample_perplexity(demo, sentences, n=3, seed=2)
    assert drawn.n == 3 and drawn == sample_perplexity(demo, sentences, n=3, seed=2)
    assert sample_perplexity(demo, sentences).pppl == pytest.approx(
        scoring.pseudo_perplexity(demo, sentences), rel=1e-6
    )
    with pytest.raises(ValueError, match="n must be a whole number"):
        sample_perplexity(demo, sentences, n=0)
    assert sample_perplexity(demo, []).reasons == "no sentence was given"


def test_from_text_to_bias(demo, parser):
    text = "The pig that slept ate. A pig who slept ate. The cow, which slept, ate. The man who slept ate."
    found = find_relatives([text], ["pig", "cow", "hen"], parser=parser)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scored = relative_probabilities(demo, found)
        table = object_bias(scored)
    assert table["name"].tolist() == ["pig", "cow", "hen"]
    assert table[["n_human", "n_object"]].values.tolist() == [[1, 1], [0, 1], [0, 0]]
    masked = scored["sentence"].str.slice(0, 8) + "[MASK] slept ate."
    expected = scoring.mask_probabilities(demo, [masked[0]], PRONOUNS)["probability"]
    assert scored.loc[0, list(PRONOUNS)].tolist() == pytest.approx(expected.tolist(), rel=1e-5)


@pytest.fixture
def corpus(tmp_path):
    """Two files of text and JSON lines."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("The dog that barked slept. It is late.\n\nA cat who is old slept.\n")
    (folder / "b.jsonl").write_text('{"text": "The dogs, which slept, were old."}\n')
    return folder


@pytest.mark.parametrize("family", ["bert_cased", "roberta"])
def test_a_corpus_is_scored_as_its_sentences_are(tiny, tiny_folder, parser, corpus, tmp_path, family):
    models = [str(tiny_folder(family)), "demo"]
    frame = score_corpus(corpus, models, ["dog", "cat"], out=tmp_path / "shards")
    assert frame["model"].unique().tolist() == models
    own = frame[frame["model"] == models[0]]
    assert own[["name", "pronoun"]].values.tolist() == [["dog", "that"], ["cat", "who"], ["dog", "which"]]
    direct = relative_probabilities(tiny(family), own[["sentence", "start", "end"]])
    for pronoun in PRONOUNS:
        assert own[pronoun].tolist() == pytest.approx(direct[pronoun].tolist(), rel=1e-5)
    assert frame.attrs["n_texts"] == 2 and frame.attrs["n_parsed"] == 3
    found = find_in_corpus(corpus, ["dog", "cat"], out=tmp_path / "shards")
    pd.testing.assert_frame_equal(own[found.columns].reset_index(drop=True), found)


def test_a_second_call_computes_nothing_and_other_names_start_anew(parser, corpus, tmp_path, monkeypatch):
    out = tmp_path / "shards"
    first = score_corpus(corpus, ["demo"], ["dog", "cat"], out=out)
    with monkeypatch.context() as patch:
        patch.setattr(corpus_relatives, "find_relatives", None)
        pd.testing.assert_frame_equal(score_corpus(corpus, ["demo"], ["dog", "cat"], out=out), first)
    with pytest.warns(UserWarning, match="names was .* starting anew"):
        dogs = score_corpus(corpus, ["demo"], ["dog"], out=out)
    assert set(dogs["name"]) == {"dog"} and len(dogs) == 2
    (corpus / "a.txt").write_text("A dog whose owner left slept.\n")
    with pytest.warns(UserWarning, match="corpus was .* starting anew"):
        changed = score_corpus(corpus, ["demo"], ["dog"], out=out)
    assert changed["pronoun"].tolist() == ["whose", "which"]


def test_a_pipeline_that_was_trained_again_starts_anew(parser, corpus, tmp_path):
    path, out = tmp_path / "pipeline", tmp_path / "shards"
    parser.to_disk(path)
    assert len(find_in_corpus(corpus, ["dog", "cat"], out=out, parser=str(path))) == 3
    again = load_parser(path)
    # It finds nothing any more.
    for node in again.get_pipe("parser").model.walk():
        for name in filter(node.has_param, node.param_names):
            node.set_param(name, node.get_param(name) * 0)
    again.to_disk(path)
    with pytest.warns(UserWarning, match="parser was .* starting anew"):
        assert find_in_corpus(corpus, ["dog", "cat"], out=out, parser=str(path)).empty


def test_a_pipeline_that_changes_during_a_run_is_refused(parser):
    fingerprint = parser_fingerprint()
    assert corpus_relatives._load_checked(PARSER, fingerprint).meta == parser.meta
    with pytest.raises(ValueError, match=r"pipeline .* has the fingerprint"):
        corpus_relatives._load_checked(PARSER, "0" * 16)
    assert parser_fingerprint(parser) == parser_fingerprint(parser)
    for absent in ("absent", "", "/"):
        with pytest.raises(ModuleNotFoundError, match="no spaCy pipeline"):
            parser_fingerprint(absent)


def test_rows_of_another_corpus_are_never_given(parser, corpus, tmp_path, monkeypatch):
    files, out, real = sorted(corpus.iterdir()), tmp_path / "shards", compute.read_shards

    def read_late(run):
        monkeypatch.setattr(compute, "read_shards", real)
        files[0].write_text("A cat which sat slept.\n")
        find_in_corpus(corpus, ["dog", "cat"], out=out)
        return real(run)

    monkeypatch.setattr(compute, "read_shards", read_late)
    with (
        pytest.warns(UserWarning, match="starting anew"),
        pytest.raises(ValueError, match="another call has replaced the shards"),
    ):
        find_in_corpus(corpus, ["dog", "cat"], out=out)


def test_a_dask_worker_gives_the_same(parser, corpus, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
    here = score_corpus(corpus, ["demo"], ["dog", "cat"], out=tmp_path / "here")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
    ):
        there = score_corpus(corpus, ["demo"], ["dog", "cat"], out=tmp_path / "there", client=client)
    pd.testing.assert_frame_equal(there, here)


def test_no_corpus_is_an_empty_frame_with_all_columns(parser, corpus, tmp_path):
    full = score_corpus(corpus, ["demo"], ["dog"], out=tmp_path / "shards")
    for empty, like in (
        (score_corpus("", ["no such model"], ["dog"], out=tmp_path / "none"), full),
        (find_in_corpus("", ["dog"], out=tmp_path / "none"), find_in_corpus(corpus, ["dog"], out=tmp_path / "shards")),
    ):
        assert empty.empty and empty.dtypes.astype(str).to_dict() == like.dtypes.astype(str).to_dict()
        assert list(empty) == list(like)
    assert not (tmp_path / "none").exists()
    with pytest.raises(FileNotFoundError, match="no file"):
        score_corpus(tmp_path / "absent", ["demo"], ["dog"], out=tmp_path / "none")
