import math

import numpy as np
import pandas as pd
import plain
import pytest
from example_sentences import FAMILIES, SENTENCES

from biaslib import scoring


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variant", scoring.PLL_VARIANTS)
def test_pseudo_log_likelihood_is_the_plain_sum(case, family, variant):
    lm, model = case(family)
    frame = scoring.pseudo_log_likelihood(lm, SENTENCES, variant=variant)
    expected = [plain.pll(lm, model, sentence, variant) for sentence in SENTENCES]
    assert frame.reason.eq("").all()
    np.testing.assert_allclose(frame.pll, expected, rtol=1e-5, atol=0)
    assert (np.abs(frame.pll - expected) / frame.n_tokens < 1e-5).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_all_unmasked_likelihood_is_the_plain_mean(case, family):
    lm, model = case(family)
    frame = scoring.all_unmasked_likelihood(lm, SENTENCES)
    expected = np.array([plain.aul_aula(lm, model, sentence) for sentence in SENTENCES])
    np.testing.assert_allclose(frame[["aul", "aula"]], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variant", scoring.PLL_VARIANTS)
def test_shared_tokens_are_those_of_difflib(case, family, variant):
    lm, model = case(family)
    first = ["She is a doctor who is kind.", "He is a nurse.", "The dog is old.", "Unbelievable, he was good."]
    second = ["He is a doctor who is kind.", "They have been nurses.", "The dog is old.", "Unbelievably, he was bad."]
    frame = scoring.shared_pseudo_log_likelihood(lm, first, second, variant=variant)
    expected = [plain.shared_pll(lm, model, a, b, variant) for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(frame[["pll_first", "pll_second", "n_shared"]], expected, rtol=1e-5)


@pytest.mark.parametrize("family", ["bert_cased", "roberta", "xlm_roberta"])
def test_what_is_put_between_shifts_the_shared_tokens(tiny, family):
    lm = tiny(family)
    less, more = "is the dog old", "is not the dog old"
    frame = scoring.shared_pseudo_log_likelihood(lm, [less], [more])
    assert frame.n_shared.item() == 4
    # All four of the shorter sentence are shared: 0, 1, 2, 3 and 0, 2, 3, 4.
    assert frame.pll_first.item() == pytest.approx(scoring.pseudo_log_likelihood(lm, [less]).pll.item(), rel=1e-5)
    assert frame.pll_second.item() < 0


def test_words_that_a_long_sentence_repeats_are_shared_all_the_same(demo):
    short = "the dog the dog the dog the dog"
    frame = scoring.shared_pseudo_log_likelihood(demo, [short], [f"{short} {'cat ' * 200}"])
    assert frame.n_shared.item() == 8


def test_the_pieces_of_a_word_are_hidden_in_pairs_too(tiny):
    lm = tiny("bert_cased")
    sentences = ["The unbelievableness of it.", "She is kindly."]
    both = {
        variant: scoring.shared_pseudo_log_likelihood(lm, sentences, sentences, variant=variant)
        for variant in scoring.PLL_VARIANTS
    }
    for variant, frame in both.items():
        expected = scoring.pseudo_log_likelihood(lm, sentences, variant=variant).pll
        np.testing.assert_allclose(frame.pll_first, expected, rtol=1e-5)
    assert (both["original"].pll_first != both["within_word_l2r"].pll_first).all()


# What stands in the blank, and a filler that shares neither its first nor its last piece.


BLANKS = [
    ("He was {}, the nurse.", "kindness"),
    ("{} is old.", "He"),
    ("It is ({}).", "goodly"),
    ("It is {}", "old dog"),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variant", scoring.SPAN_VARIANTS)
def test_parts_of_sentences_are_the_plain_means(case, family, variant):
    lm, model = case(family)
    sentences = [sentence.format(word) for sentence, word in BLANKS]
    spans = [[(sentence.index("{"), sentence.index("{") + len(word))] for sentence, word in BLANKS]
    frame = scoring.masked_span_likelihood(lm, sentences, spans, variant=variant)
    assert frame.reason.eq("").all()
    for row, (sentence, _) in zip(frame.itertuples(), BLANKS, strict=True):
        ids, other = (lm.tokenizer(text)["input_ids"] for text in (row.sentence, sentence.format("zq")))
        start = next(k for k, (a, b) in enumerate(zip(ids, other, strict=False)) if a != b)
        stop = len(ids) - next(k for k, (a, b) in enumerate(zip(ids[::-1], other[::-1], strict=False)) if a != b)
        words = lm.tokenizer(row.sentence).word_ids()
        expected = plain.span(lm, model, ids, range(start, stop), variant, words)
        assert row.n_span_tokens == stop - start
        assert row.log_probability == pytest.approx(np.mean(expected), rel=1e-5)
        assert row.probability == pytest.approx(np.exp(expected).mean(), rel=1e-4)


def test_several_parts_of_a_sentence_are_hidden_together(tiny):
    lm = tiny("bert_cased")
    model = plain.double(lm)
    sentence, spans = "kindness is kindness", [(0, 8), (12, 20)]
    (cls, kind, ness, is_, *_, sep), mask = lm.tokenizer(sentence)["input_ids"], lm.tokenizer.mask_token_id
    frame = scoring.masked_span_likelihood(lm, [sentence], [spans])
    hidden = [cls, mask, mask, is_, mask, mask, sep]
    places = {1: kind, 2: ness, 4: kind, 5: ness}
    expected = np.mean([plain.log_probability(model, hidden, place, entry) for place, entry in places.items()])
    assert frame.log_probability.item() == pytest.approx(expected, rel=1e-5)
    frame = scoring.masked_span_likelihood(lm, [sentence], [spans], variant="left_to_right")
    steps = [
        ([cls, mask, is_, mask, sep], {1: kind, 3: kind}),
        ([cls, kind, mask, is_, kind, mask, sep], {2: ness, 5: ness}),
    ]
    values = [plain.log_probability(model, ids, place, entry) for ids, of in steps for place, entry in of.items()]
    assert frame.log_probability.item() == pytest.approx(np.mean(values), rel=1e-5)
    assert frame.n_span_tokens.item() == 4


def test_parts_without_a_score_have_a_reason(tiny):
    lm = tiny("bert_cased")
    sentences = ["He is ☃.", "He is old.", "He is old.", "He [MASK] old.", "dog " * 80, "He is old."]
    spans = [[(6, 7)], [(5, 6)], [], [(0, 2)], [(0, 3)], [(6, 9)]]
    frame = scoring.masked_span_likelihood(lm, pd.Series(sentences, index=range(10, 16)), spans)
    assert frame.reason.tolist() == [
        "unknown token in the part",
        "no token in the part",
        "no token in the part",
        "[MASK] in a sentence to be scored whole",
        "too long",
        "",
    ]
    assert frame.log_probability.notna().tolist() == [False] * 5 + [True]
    assert frame.index.tolist() == list(range(10, 16))
    assert all(len(scoring.masked_span_likelihood(lm, [], [], variant=v)) == 0 for v in scoring.SPAN_VARIANTS)
    with pytest.raises(ValueError, match="not 1 and 2"):
        scoring.masked_span_likelihood(lm, ["a", "b"], [[(0, 1)]])
    with pytest.raises(ValueError, match="all_masked, left_to_right"):
        scoring.masked_span_likelihood(lm, ["a"], [[(0, 1)]], variant="released")


@pytest.mark.parametrize("family", FAMILIES)
def test_sentence_vectors_are_the_mean_of_the_last_states(case, family):
    lm, model = case(family)
    vectors = scoring.sentence_vectors(lm, [*SENTENCES, ""])
    for row, sentence in zip(vectors, SENTENCES, strict=False):
        np.testing.assert_allclose(row, plain.vector(lm, model, sentence), rtol=1e-4, atol=1e-5)
    assert np.isnan(vectors[-1]).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_one_pass_gives_likelihoods_and_vectors(case, family):
    lm, model = case(family)
    sentences = pd.Series([*SENTENCES, "", SENTENCES[0]], index=[9, 8, 7, 6, 5, 4, 3])
    passes = []
    handle = lm.model.base_model.register_forward_hook(lambda module, inputs, output: passes.append(1))
    try:
        # One batch: one pass, beside those that find out once what a model allows.
        scoring.all_unmasked_likelihood(lm, SENTENCES, batch_tokens=10_000)
        passes.clear()
        frame, vectors = scoring.unmasked_likelihood_and_vectors(lm, sentences, batch_tokens=10_000)
    finally:
        handle.remove()
    assert len(passes) == 1
    pd.testing.assert_frame_equal(frame, scoring.all_unmasked_likelihood(lm, sentences, batch_tokens=10_000))
    for row, sentence in zip(vectors, SENTENCES, strict=False):
        np.testing.assert_allclose(row, plain.vector(lm, model, sentence), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[-1])
    assert vectors.dtype == np.float32 and np.isnan(vectors[-2]).all() and not lm.model.base_model._forward_hooks


def test_pseudo_perplexity_is_over_the_whole_set(demo):
    frame = scoring.pseudo_log_likelihood(demo, SENTENCES)
    expected = math.exp(-frame.pll.sum() / frame.n_tokens.sum())
    assert scoring.pseudo_perplexity(demo, SENTENCES) == pytest.approx(expected, rel=1e-6)
    with pytest.warns(UserWarning, match="2 of 7 sentences left out: 1 empty, 1 too long"):
        left_out = scoring.pseudo_perplexity(demo, [*SENTENCES, "", "dog " * 600])
    assert left_out == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="1 empty"):
        scoring.pseudo_perplexity(demo, [""])


def test_scores_go_back_to_the_rows_they_came_from(demo):
    rows = pd.DataFrame({"text": ["She is a nurse.", "He is.", "It was late."]}, index=[7, 3, 5]).sort_index()
    rows["pll"] = scoring.pseudo_log_likelihood(demo, rows.text).pll
    rows["aul"] = scoring.all_unmasked_likelihood(demo, rows.text).aul
    for text, pll, aul in rows.itertuples(index=False):
        assert pll == pytest.approx(scoring.pseudo_log_likelihood(demo, [text]).pll.item(), rel=1e-5, abs=1e-5)
        assert aul == pytest.approx(scoring.all_unmasked_likelihood(demo, [text]).aul.item(), rel=1e-5, abs=1e-5)
