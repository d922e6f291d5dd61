import dataclasses

import numpy as np
import plain
import pytest
from example_sentences import FAMILIES, SENTENCES

from biaslib import scoring


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_of_tokens_are_those_of_the_plain_definition(case, family):
    lm, model = case(family)
    sentences = [SENTENCES[3], SENTENCES[1]]
    frame = scoring.token_likelihoods(lm, sentences)
    expected = np.array([row for sentence in sentences for row in plain.token_parts(lm, model, sentence)])
    np.testing.assert_allclose(frame[["pll_part", "aul_part", "aula_part"]], expected, rtol=1e-5, atol=1e-5)
    assert frame.position.tolist() == [n for _, rows in frame.groupby("sentence_id") for n in range(len(rows))]
    for number, sentence in enumerate(sentences):
        ids, places = plain.own_places(lm, sentence)
        tokens = lm.tokenizer.convert_ids_to_tokens([ids[place] for place in places])
        rows = frame[frame.sentence_id == number]
        assert rows.token.tolist() == tokens
        written = "".join(text.removeprefix("##") for text in rows.text if text.strip("Ġ▁"))
        assert written == sentence.replace(" ", "")


def test_parts_add_up_to_the_scores_and_a_sentence_without_has_its_reason(demo):
    sentences = [SENTENCES[0], "", SENTENCES[0], "a [MASK]", "dog " * 600, SENTENCES[2]]
    frame = scoring.token_likelihoods(demo, sentences, batch_tokens=40)
    sums = frame[frame.reason == ""].groupby("sentence_id")[["pll_part", "aul_part", "aula_part"]].sum()
    assert sums.index.tolist() == [0, 2, 5]
    np.testing.assert_allclose(sums.pll_part, scoring.pseudo_log_likelihood(demo, sentences).pll[sums.index], rtol=1e-5)
    whole = scoring.all_unmasked_likelihood(demo, sentences).loc[sums.index, ["aul", "aula"]]
    np.testing.assert_allclose(sums[["aul_part", "aula_part"]], whole, rtol=1e-4, atol=1e-6)
    without = frame[frame.reason != ""]
    assert without.sentence_id.tolist() == [1, 3, 4] and without.position.isna().all()
    assert without.reason.tolist() == [
        "empty",
        "[MASK] in a sentence to be scored whole",
        "too long",
    ]
    assert scoring.token_likelihoods(demo, []).empty


def test_texts_of_tokens_are_those_of_the_sentence(demo, tiny):
    assert scoring.token_likelihoods(demo, ["<b>Unkindly</b>"]).text.tolist() == [
        "<",
        "b",
        ">",
        "Un",
        "##kind",
        "##ly",
        "<",
        "/",
        "b",
        ">",
    ]
    odd = scoring.token_likelihoods(tiny("roberta"), ["é, (dog)"])
    assert odd.text.tolist()[-4:] == ["Ġ", "(", "dog", ")"] and odd.text.ne("").all()
    slow = dataclasses.replace(demo, tokenizer=SlowTokenizer(demo.tokenizer))
    assert scoring.token_likelihoods(slow, ["Unkindly"]).text.tolist() == ["un", "##kind", "##ly"]


class SlowTokenizer:
    """A tokenizer that tells no places."""

    is_fast = False

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def __call__(self, *given, **options):
        return self._tokenizer(*given, **options)

    def __len__(self):
        return len(self._tokenizer)


@pytest.mark.parametrize("family", FAMILIES)
def test_aligned_tokens_are_those_that_the_shared_score_adds_up(case, family):
    lm, _ = case(family)
    first, second = ["He is a nurse.", "good"], ["The old man is a nurse.", "bad"]
    shared = scoring.shared_tokens(lm, first, second)
    scored = scoring.shared_pseudo_log_likelihood(lm, first, second)
    assert shared.groupby("pair_id").size().reindex([0, 1], fill_value=0).tolist() == scored.n_shared.tolist()
    parts = scoring.token_likelihoods(lm, second[:1])
    chosen = parts.position.isin(shared.position_second[shared.pair_id == 0])
    assert parts.pll_part[chosen].sum() == pytest.approx(scored.pll_second[0], rel=1e-5)
    with pytest.raises(ValueError, match="first and second must have the same length"):
        scoring.shared_tokens(lm, first, second[:1])
