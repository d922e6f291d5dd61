import math

import numpy as np
import plain
import pytest
import tiny_models
import torch
from example_sentences import FAMILIES, MASKED

from biaslib import scoring
from biaslib.scoring import tokens


@pytest.mark.parametrize("family", FAMILIES)
def test_distributions_are_a_softmax_over_the_whole_vocabulary(case, family):
    lm, model = case(family)
    distributions = scoring.mask_distributions(lm, MASKED)
    assert distributions.shape == (3, lm.vocabulary_size) and distributions.dtype == np.float32
    np.testing.assert_allclose(distributions.sum(1), 1, rtol=1e-5)
    # The words themselves give the ids around the mask, in every family.
    for sentence, row, word in zip(MASKED, distributions, ("good", "she", "done"), strict=True):
        ids, masked = lm.tokenizer(sentence.replace("[MASK]", word))["input_ids"], None
        resolved = scoring.mask_probabilities(lm, [sentence], [word])
        if resolved.reason.item():
            continue
        places = [k for k, i in enumerate(ids) if lm.tokenizer.decode([i]).strip() == word]
        for place in places:
            masked = [*ids[:place], lm.tokenizer.mask_token_id, *ids[place + 1 :]]
            expected = math.exp(plain.log_probability(model, masked, place, ids[place]))
            if math.isclose(expected, resolved.probability.item(), rel_tol=1e-4):
                break
        else:
            pytest.fail(f"{family}: {sentence} {word}")
        assert row[ids[place]] == pytest.approx(expected, rel=1e-4)


def test_softmax_runs_over_the_whole_vocabulary(tiny):
    lm = tiny("bert_uncased")
    size = lm.vocabulary_size
    logits = torch.full((1, size), -1e9)
    logits[0, :4] = torch.tensor([2.0, 1.0, 0.0, -1.0])
    handle = lm.model.register_forward_hook(
        lambda module, inputs, output: output.__setitem__("logits", logits.expand((*output.logits.shape[:2], size)))
    )
    try:
        probabilities = scoring.mask_distributions(lm, ["He is [MASK]."])[0]
    finally:
        handle.remove()
    np.testing.assert_allclose(probabilities[:2], [0.643914, 0.236883], atol=1e-6)


@pytest.mark.parametrize("sentence", ["No mask.", "[MASK] and [MASK].", ""])
def test_anything_but_one_mask_is_an_error_that_names_the_sentence(demo, sentence):
    for call in (
        lambda: scoring.mask_distributions(demo, ["[MASK] is fine.", sentence]),
        lambda: scoring.mask_probabilities(demo, ["[MASK] is fine.", sentence], ["he"]),
        lambda: scoring.top_words(demo, sentence),
    ):
        with pytest.raises(ValueError, match="exactly one") as error:
            call()
        assert repr(sentence) in str(error.value)


def test_an_entry_counts_once_however_many_spellings_lead_to_it(demo, tiny):
    once = scoring.mask_probabilities(demo, ["[MASK] is here."], ["he"])
    thrice = scoring.mask_probabilities(demo, ["[MASK] is here."], ["he"], cases=("as_is", "lower", "title"))
    assert once.probability.item() == thrice.probability.item()
    cased = tiny("bert_cased")
    parts = scoring.mask_probabilities(cased, ["[MASK] is here."], ["he", "He"])
    both = scoring.mask_probabilities(cased, ["[MASK] is here."], ["he"], cases=("lower", "title"))
    assert both.probability.item() == pytest.approx(parts.probability.sum(), rel=1e-6)


def test_groups_count_each_entry_once_and_name_what_is_missing(tiny):
    lm = tiny("bert_cased")
    groups = {"both": ["he", "He", "whale"], "he": ["he"], "none": ["whale"], "empty": []}
    frame = scoring.group_probabilities(lm, ["[MASK] is here."], groups, cases=("lower", "title")).set_index("group")
    assert frame.n_entries.tolist() == [2, 2, 0, 0]
    assert frame.missing.tolist() == ["whale", "", "whale", ""]
    assert frame.reason.tolist() == ["", "", "not one token", "no word"]
    words = scoring.mask_probabilities(lm, ["[MASK] is here."], ["he", "He"])
    assert frame.probability["both"] == frame.probability["he"] == math.fsum(words.probability)
    assert frame.probability[["none", "empty"]].isna().all()


def test_groups_of_a_sentence_over_the_limit_have_its_reason(tiny):
    frame = scoring.group_probabilities(tiny("bert_cased"), ["dog " * 80 + "[MASK]"], {"a": ["he"], "b": ["whale"]})
    assert frame.reason.eq("too long").all() and frame.probability.isna().all()


def test_repeated_words_have_a_row_each(demo):
    frame = scoring.mask_probabilities(demo, ["[MASK] is.", "So [MASK] is."], ["he", "she", "he"])
    assert frame.word.tolist() == ["he", "she", "he"] * 2
    assert frame.sentence_id.tolist() == [0, 0, 0, 1, 1, 1]
    assert frame.probability[0] == frame.probability[2] != frame.probability[3]


def test_a_word_without_an_entry_is_reported(demo):
    frame = scoring.mask_probabilities(demo, ["[MASK] is here."], ["unbelievableness", "he"])
    assert frame.reason.tolist() == ["not one token", ""]
    assert math.isnan(frame.probability[0]) and frame.probability[1] > 0


def test_top_words_of_the_demo_model(demo):
    frame = scoring.top_words(demo, "I would like a cup of [MASK].", k=3)
    assert frame.columns.tolist() == ["rank", "word", "token", "probability"]
    assert frame.word.tolist() == ["tea", "wine", "coffee"]
    np.testing.assert_allclose(frame.probability, [0.54, 0.11, 0.07], atol=0.005)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_top_words_read_as_they_stand(tiny, family):
    lm = tiny(family)
    frame = scoring.top_words(lm, "[MASK] is a dog.", k=lm.vocabulary_size)
    assert frame.probability.sum() == pytest.approx(1, abs=1e-4)
    assert frame.token.nunique() == lm.vocabulary_size
    words = frame.set_index("token").word
    plain_token = {"roberta": "he", "modernbert": "he"}.get(family, "he" if "▁he" not in words.index else "▁he")
    assert words[plain_token] == "he"


def test_a_sentence_without_one_mask_has_a_reason_where_that_is_asked_for(tiny):
    lm = tiny("roberta")
    sentences = ["It is [MASK].", "No mask.", "[MASK] and [MASK].", "dog  [MASK] is.", "dog " * 80 + "[MASK]"]
    frame = scoring.mask_probabilities(lm, sentences, ["good"], errors="reason")
    assert frame.reason.tolist() == [
        "",
        "not exactly one [MASK]",
        "not exactly one [MASK]",
        "white space alone before the mask",
        "too long",
    ]
    assert set(frame.reason[1:]) < scoring.SENTENCE_REASONS <= set(scoring.REASONS)
    alone = scoring.mask_probabilities(lm, sentences[:1], ["good"])
    assert frame.probability[0] == pytest.approx(alone.probability[0], rel=1e-5)
    assert frame.probability[1:].isna().all()
    with pytest.raises(ValueError, match="unknown errors 'coerce'; use one of raise, reason"):
        scoring.mask_probabilities(lm, sentences, ["good"], errors="coerce")


def test_groups_encode_each_masked_sentence_once(demo, monkeypatch):
    encoded = []

    def encode(lm, sentences):
        encoded.extend(sentences)
        return real(lm, sentences)

    real = tokens.encode
    monkeypatch.setattr(tokens, "encode", encode)
    scoring.group_probabilities(demo, ["[MASK] is a nurse."], {"male": ["he", "him"], "female": ["she"]})
    assert encoded == ["[MASK] is a nurse.", "he is a nurse.", "him is a nurse.", "she is a nurse."]
