import re

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models

from biaslib import scoring
from biaslib.io import read_gap
from biaslib.io.gap import GAP_COLUMNS
from biaslib.metrics import gap_scores, resolve_by_likelihood
from biaslib.scoring import load_masked_lm


def gap_rows(*texts):
    """Make GAP rows of texts that mark the pronoun as <she>, the names as [A:…] and [B:…]."""
    made = []
    for number, text in enumerate(texts):
        row, out = {"ID": f"r{number}", "A-coref": False, "B-coref": False, "URL": ""}, ""
        for piece in re.split(r"(\[[AB]:[^\]]*\]|<[^>]*>)", text):
            column = {"[": piece[1:2], "<": "Pronoun"}.get(piece[:1])
            piece = (piece[1:-1] if piece[:1] == "<" else piece[3:-1]) if column else piece
            row |= {column: piece, f"{column}-offset": len(out)} if column else {}
            out += piece
        made.append(row | {"Text": out})
    return pd.DataFrame(made)[list(GAP_COLUMNS)]


TEXTS = [
    ("The [A:dog] saw the [B:old nurse], and <he> was kind.", "The dog saw the old nurse, and {} was kind."),
    ("[A:kindness] in London, [B:city] of <his> horse.", "kindness in London, city of {}'s horse."),
    ("<She> was not [A:doctor] or [B:goodly].", "{} was not doctor or goodly."),
    ("is it a [A:dog \n who] of the [B:old\tnurse] with <him>?", "is it a dog who of the old nurse with {}?"),
    ("it is [A:dog]'s,  it\tis [B:rabbit]; \n <hers>", "it is dog's, it is rabbit; {}'s"),
]


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
@pytest.mark.parametrize("variant", scoring.PLL_VARIANTS)
def test_scores_are_plain_means_over_the_names_tokens(tiny, family, variant):
    lm = tiny(family)
    model = plain.double(lm)
    gap = gap_rows(*(marked for marked, _ in TEXTS))
    answers = resolve_by_likelihood(lm, gap, variant=variant)
    assert answers["reason"].eq("").all() and not answers["shortened"].any()
    assert answers["possessive"].tolist() == [False, True, False, False, True]
    for row, (_, frame), names in zip(answers.itertuples(), TEXTS, gap[["A", "B"]].values, strict=True):
        for name, score, n_pieces in zip(names, row[4:6], row[6:8], strict=True):
            name = " ".join(name.split())
            text, start = frame.format(name), frame.index("{")
            encoded = lm.tokenizer(text, return_offsets_mapping=True)
            inside = [k for k, (a, b) in enumerate(encoded["offset_mapping"]) if a < start + len(name) and b > start]
            expected = plain.span(lm, model, encoded["input_ids"], inside, variant, encoded.word_ids())
            assert n_pieces == len(inside) and score == pytest.approx(np.mean(expected), rel=1e-5)
    assert answers.iloc[:, 1].tolist() == (answers["score_a"] > answers["score_b"]).tolist()
    assert answers.iloc[:, 2].tolist() == (answers["score_b"] > answers["score_a"]).tolist()


def test_her_is_what_the_model_takes_it_for(demo):
    gap = gap_rows(
        "[A:Anna] met [B:Clara] and gave <her> a book.",
        "[A:Anna] met [B:Clara], who had lost <her> money.",
        "[A:Anna] asked [B:Clara] about it. <Her> mother was dead.",
    )
    assert resolve_by_likelihood(demo, gap)["possessive"].tolist() == [False, True, True]


def test_her_before_a_word_is_possessive_for_a_model_without_the_pronouns():
    lm = tiny_without_his_and_him()
    gap = gap_rows("[A:dog] saw [B:cat] and <her> horse.", "[A:dog] saw [B:cat] and <her>.")
    assert resolve_by_likelihood(lm, gap)["possessive"].tolist() == [True, False]


def tiny_without_his_and_him():

    model, tokenizer = tiny_models.build("bert_uncased")
    vocabulary = {{"his": "zzx", "him": "zzy"}.get(word, word): i for word, i in tokenizer.get_vocab().items()}
    return load_masked_lm((model, type(tokenizer)(vocab=vocabulary, do_lower_case=True, model_max_length=64)))


def test_equal_scores_are_neither(tiny):
    answers = resolve_by_likelihood(tiny("roberta"), gap_rows("a [A:dog] and a [B:dog] said that <he> is old."))
    assert answers[["A-coref", "B-coref"]].values.tolist() == [[False, False]] and answers["reason"].item() == ""


def test_a_long_text_is_shortened_to_the_sentences_around(tiny):
    lm = tiny("bert_cased")
    core, other = "It is a [A:dog]. It is a [B:nurse]. <She> is kind. ", "It was old. "
    apart = core.replace("It is a [B", 12 * other + "It is a [B")
    answers = resolve_by_likelihood(lm, gap_rows(12 * other + core + 12 * other, apart + 12 * other))
    assert answers["shortened"].tolist() == [True, pd.NA]
    assert answers["reason"].tolist()[0] == "" and answers["reason"].tolist()[1].startswith("too long: ")
    assert answers["A-coref"].isna().tolist() == [False, True]
    # Of 64 tokens, 16 are the three sentences' ("nurse's" in place of "She"), 2 special; the others have 4, and are
    # taken in turn from before and after.
    shorter = resolve_by_likelihood(lm, gap_rows(6 * other + core + 5 * other))
    assert not shorter["shortened"].item()
    assert answers.loc[0, "score_a"] == pytest.approx(shorter.loc[0, "score_a"], rel=1e-5)


def test_rows_without_a_score_have_a_reason_and_no_answer(tiny):
    gap = gap_rows(
        "The [A:dog] saw [B:cat] and <they> ran.",
        "The [A:dog] [MASK] saw [B:cat] and <she> ran.",
        "The [A:dog] saw [B:☃] and <she> was kind.",
        "The [A:dog] saw [B:cat] and <she> was kind.",
    )
    answers = resolve_by_likelihood(tiny("bert_cased"), gap)
    assert answers["reason"].tolist() == [
        "unknown pronoun 'they'",
        "[MASK] in the text",
        "B: unknown token in the part",
        "",
    ]
    assert answers["A-coref"].isna().tolist() == [True, True, True, False]
    scores = gap_scores(gap.iloc[1:], answers.iloc[1:])
    assert scores.missing == ("r1", "r2") and scores.table.loc[0, "fn"] == 4


@pytest.mark.parametrize("family", ["bert_uncased", "xlm_roberta"])
def test_order_and_batches_change_no_score(tiny, family):
    gap = gap_rows(*(marked for marked, _ in TEXTS))
    answers = resolve_by_likelihood(tiny(family), gap)
    moved = resolve_by_likelihood(tiny(family), gap.iloc[::-1], batch_tokens=1).iloc[::-1].reset_index(drop=True)
    columns = ["score_a", "score_b"]
    np.testing.assert_allclose(moved[columns].astype(float), answers[columns].astype(float), rtol=1e-5)
    assert moved.drop(columns=columns).equals(answers.drop(columns=columns))


def test_no_row_is_no_error_and_wrong_arguments_are(tiny):
    lm, gap = tiny("bert_cased"), gap_rows("The [A:dog] saw [B:cat] and <she> ran.")
    assert resolve_by_likelihood(lm, gap.iloc[:0]).empty
    with pytest.raises(ValueError, match=r"unknown variant 'mean'; use one of .*original"):
        resolve_by_likelihood(lm, gap, variant="mean")
    with pytest.raises(ValueError, match=r"do not point at their strings: r0 \(A\)"):
        resolve_by_likelihood(lm, gap.assign(**{"A-offset": 3}))
    with pytest.raises(ValueError, match="must have the column Text"):
        resolve_by_likelihood(lm, gap.drop(columns="Text"))
    with pytest.raises(ValueError, match=r"no Text in row 0"):
        resolve_by_likelihood(lm, gap.assign(Text=None))
    # What has no answers yet can be resolved.
    assert len(resolve_by_likelihood(lm, gap.drop(columns=["A-coref", "B-coref"]))) == 1


def test_the_real_validation_rows_are_all_resolved(real_data, demo):
    gap = read_gap("gap-validation")
    answers = resolve_by_likelihood(demo, gap)
    assert answers["ID"].tolist() == gap["ID"].tolist() and answers["reason"].eq("").all()
    scores = gap_scores(gap, answers)
    assert scores.n == 454 and scores.missing == () and 35 < scores.table.loc[0, "f1"] < 60
