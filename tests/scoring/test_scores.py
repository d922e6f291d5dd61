import copy
import dataclasses
import math

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import scoring
from biaslib.scoring import load_masked_lm

SENTENCES = [
    "She is a doctor who is kind.",
    "He is a nurse.",
    "They've done it before, and I've seen it done well in the city of London, didn't we?",
    "The unbelievableness of it (he said): yes!",
    "good",
]
MASKED = [
    "She is a dog which is [MASK].",
    "[MASK] is a nurse.",
    "I've [MASK] it before, and she was tired of the town.",
]
FAMILIES = [*tiny_models.FAMILIES, "demo"]


@pytest.fixture(scope="module")
def case(tiny, demo):
    """Give the model of a family and its plain float64 copy."""
    copies = {}

    def get(family):
        lm = demo if family == "demo" else tiny(family)
        if family not in copies:
            copies[family] = plain.double(lm)
        return lm, copies[family]

    return get


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
    with pytest.raises(ValueError, match="as many first as second"):
        scoring.shared_tokens(lm, first, second[:1])


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


def test_aula_weighs_by_the_attention_that_a_token_receives():
    """Rows are queries, columns keys: u receives .45, v .275; along the other axis AULA would be -.259930."""
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "u", "v", "other"]
    tokenizer = BertTokenizer(vocab={token: number for number, token in enumerate(tokens)})
    sizes = {"vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = BertForMaskedLM(BertConfig(**sizes, intermediate_size=8, max_position_embeddings=16)).eval()
    rows = [[0.4, 0.3, 0.2, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.5, 0.3, 0.1], [0.1, 0.4, 0.4, 0.1]]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        # Each token's state is a unit vector: what layer normalisation takes away, its bias gives back.
        embeddings, spread = model.bert.embeddings, math.sqrt(1 / 8 * 7 / 8)
        embeddings.word_embeddings.weight.copy_(1e6 * torch.eye(8))
        embeddings.LayerNorm.weight.fill_(spread)
        embeddings.LayerNorm.bias.fill_(1 / 8)
        attention = model.bert.encoder.layer[0].attention.self
        attention.key.weight.copy_(torch.eye(8))
        places = [tokens.index(token) for token in ("[CLS]", "u", "v", "[SEP]")]
        for place, row in zip(places, rows, strict=True):
            attention.query.weight[places, place] = math.sqrt(8) * torch.tensor(row).log()
        model.cls.predictions.bias.copy_(torch.tensor([0.25 / 6] * 5 + [0.5, 0.25, 0.25 / 6]).log())
    frame = scoring.all_unmasked_likelihood(load_masked_lm((model, tokenizer), device="cpu"), ["u v"])
    assert frame.aul.item() == pytest.approx((math.log(0.5) + math.log(0.25)) / 2, abs=1e-6)
    assert frame.aula.item() == pytest.approx(-0.346574, abs=2e-6)


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


@pytest.mark.parametrize("family", ["bert_cased", "roberta", "xlm_roberta"])
def test_a_score_does_not_depend_on_its_company(tiny, family):
    lm = tiny(family)
    long = "the dog " * 25
    together = scoring.pseudo_log_likelihood(lm, [*SENTENCES, long])
    aul = scoring.all_unmasked_likelihood(lm, [*SENTENCES, long])
    for n, sentence in enumerate(SENTENCES):
        alone = scoring.pseudo_log_likelihood(lm, [sentence], batch_tokens=1)
        assert alone.pll.item() == pytest.approx(together.pll[n], rel=1e-5)
        one = scoring.all_unmasked_likelihood(lm, [sentence])
        assert one.aula.item() == pytest.approx(aul.aula[n], rel=1e-5)


@settings(max_examples=15, deadline=None)
@given(
    order=st.lists(st.sampled_from(range(len(SENTENCES))), min_size=1, max_size=8),
    batch_tokens=st.sampled_from([1, 16, 64, 4096]),
)
def test_order_duplicates_and_batching_change_nothing(demo, order, batch_tokens):
    reference = scoring.pseudo_log_likelihood(demo, SENTENCES).pll.to_numpy()
    frame = scoring.pseudo_log_likelihood(demo, [SENTENCES[n] for n in order], batch_tokens=batch_tokens)
    assert frame.sentence.tolist() == [SENTENCES[n] for n in order]
    np.testing.assert_allclose(frame.pll, reference[order], rtol=1e-5)


def test_equal_work_is_done_once(demo):
    rows = []
    handle = demo.model.register_forward_hook(lambda module, inputs, output: rows.append(len(output.logits)))
    try:
        scoring.pseudo_log_likelihood(demo, ["He is a nurse."])
        once = sum(rows)
        rows.clear()
        # The masked subject gives one forward for both sentences, the full stop and the others give two.
        scoring.pseudo_log_likelihood(demo, ["He is a nurse.", "She is a nurse.", "He is a nurse."])
    finally:
        handle.remove()
    assert sum(rows) == 2 * once - 1


def test_unscorable_sentences_come_back_with_a_reason(tiny):
    lm = tiny("bert_cased")
    sentences = ["", "   ", "☃ ☃", "dog " * 80, "a [MASK] b", "a ☃ dog"]
    for frame in (
        scoring.pseudo_log_likelihood(lm, sentences),
        scoring.all_unmasked_likelihood(lm, sentences),
    ):
        assert frame.sentence.tolist() == sentences
        assert frame.reason.tolist() == [
            "empty",
            "empty",
            "only unknown tokens",
            "too long",
            "[MASK] in a sentence to be scored whole",
            "",
        ]
        assert frame.iloc[:5, 2].isna().all() and np.isfinite(frame.iloc[5, 2])
        assert frame.n_unknown.tolist()[-1] == 1
    pairs = scoring.shared_pseudo_log_likelihood(lm, ["", "good dog", "he"], ["he", "dog " * 80, "she"])
    assert pairs.reason.tolist() == [
        "first: empty",
        "second: too long",
        "no shared token",
    ]
    assert pairs.reason_first.tolist() == ["empty", "", ""] and pairs.reason_second.tolist() == ["", "too long", ""]
    assert pairs[["pll_first", "pll_second"]].isna().all(axis=None)
    distributions = scoring.mask_distributions(lm, ["dog " * 80 + "[MASK]", "a [MASK]", "☃ [MASK]"])
    assert np.isnan(distributions).all(1).tolist() == [True, False, True]
    again, reasons = scoring.mask_distributions(
        lm, ["dog " * 80 + "[MASK]", "a [MASK]", "☃ [MASK]"], return_reasons=True
    )
    np.testing.assert_array_equal(again, distributions)
    assert reasons == ["too long", "", "only unknown tokens"]
    probabilities = scoring.mask_probabilities(lm, ["dog " * 80 + "[MASK]"], ["he"])
    assert probabilities.reason.eq("too long").all() and probabilities.probability.isna().all()


@pytest.mark.parametrize("family", ["bert_cased", "roberta", "xlm_roberta", "camembert"])
def test_a_sentence_that_just_fits_is_scored(tiny, family):
    lm = tiny(family)
    assert lm.max_tokens == 64
    fits, over = "is " * 62, "is " * 63
    frame = scoring.pseudo_log_likelihood(lm, [fits.strip(), over.strip()])
    lengths = [len(lm.tokenizer(text.strip())["input_ids"]) for text in (fits, over)]
    if lengths == [64, 65]:
        assert frame.reason.tolist() == ["", "too long"]
    else:
        pytest.fail(f"the words are no longer one token each: {lengths}")


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


def test_no_sentences_give_empty_frames(demo):
    assert len(scoring.pseudo_log_likelihood(demo, [])) == 0
    assert len(scoring.all_unmasked_likelihood(demo, [])) == 0
    assert len(scoring.shared_pseudo_log_likelihood(demo, [], [])) == 0
    assert len(scoring.mask_probabilities(demo, [], ["he"])) == 0
    assert scoring.mask_distributions(demo, []).shape == (0, demo.vocabulary_size)
    assert scoring.sentence_vectors(demo, []).shape == (0, 128)


def test_bad_input_is_named(demo):
    with pytest.raises(TypeError, match="sentences must be a list of strings, not one string"):
        scoring.pseudo_log_likelihood(demo, "He is.")
    with pytest.raises(TypeError, match="entry 1 of sentences must be a string, not nan"):
        scoring.pseudo_log_likelihood(demo, ["He is.", float("nan")])
    with pytest.raises(ValueError, match="half a character"):
        scoring.pseudo_log_likelihood(demo, ["He is \ud83d."])
    with pytest.raises(ValueError, match="original, within_word_l2r"):
        scoring.pseudo_log_likelihood(demo, ["He is."], variant="salazar")
    with pytest.raises(ValueError, match="not 1 and 2"):
        scoring.shared_pseudo_log_likelihood(demo, ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="original, within_word_l2r"):
        scoring.shared_pseudo_log_likelihood(demo, ["a"], ["a"], variant="salazar")
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 30522, not 0"):
        scoring.top_words(demo, "[MASK] is.", 0)
    for wrong in (-1, 0):
        with pytest.raises(ValueError, match=f"batch_tokens must be a whole number of at least 1, not {wrong}"):
            scoring.pseudo_log_likelihood(demo, ["He is."], batch_tokens=wrong)
    with pytest.raises(ValueError, match=r"k must be a whole number from 1 to 30522, not 2\.5"):
        scoring.top_words(demo, "[MASK] is.", 2.5)
    with pytest.raises(TypeError, match="sentence must be a string, not "):
        scoring.top_words(demo, ["[MASK] is."])
    with pytest.raises(TypeError, match="must be a list of strings or one column of a frame, not DataFrame"):
        scoring.pseudo_log_likelihood(demo, pd.DataFrame({"text": ["He is."]}))
    with pytest.raises(TypeError, match=r"give load_masked_lm\('demo'\)"):
        scoring.pseudo_log_likelihood("demo", ["He is."])


def test_frames_of_pandas_are_taken_as_they_are(demo):
    texts = pd.Series(["He is.", "She is."], index=[7, 9])
    assert scoring.pseudo_log_likelihood(demo, texts).sentence.tolist() == texts.tolist()
    frame = scoring.mask_probabilities(demo, pd.Series(["[MASK] is."], index=[5]), pd.Series(["he"], index=[3]))
    assert frame.reason.tolist() == [""]


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


def test_pseudo_perplexity_is_over_the_whole_set(demo):
    frame = scoring.pseudo_log_likelihood(demo, SENTENCES)
    expected = math.exp(-frame.pll.sum() / frame.n_tokens.sum())
    assert scoring.pseudo_perplexity(demo, SENTENCES) == pytest.approx(expected, rel=1e-6)
    with pytest.warns(UserWarning, match="2 of 7 sentences left out: 1 empty, 1 too long"):
        left_out = scoring.pseudo_perplexity(demo, [*SENTENCES, "", "dog " * 600])
    assert left_out == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="1 empty"):
        scoring.pseudo_perplexity(demo, [""])


def test_mode_and_attention_of_the_model_are_restored(tiny):
    lm = tiny("distilbert")
    lm.model.train()
    lm.model.base_model.embeddings.eval()
    before = lm.model.config._attn_implementation
    try:
        first = scoring.all_unmasked_likelihood(lm, SENTENCES).aula
        scoring.pseudo_log_likelihood(lm, SENTENCES)
        assert lm.model.training and not lm.model.base_model.embeddings.training
        assert lm.model.config._attn_implementation == before
        lm.model.eval()
        # In training mode dropout would have moved the score.
        np.testing.assert_array_equal(first, scoring.all_unmasked_likelihood(lm, SENTENCES).aula)
        assert not lm.model._forward_hooks
    finally:
        lm.model.eval()


def test_the_first_aula_under_sdpa_is_not_empty(tiny, tmp_path):
    lm = load_masked_lm(tiny_models.save("bert_cased", tmp_path))
    assert lm.model.config._attn_implementation == "sdpa"
    assert scoring.all_unmasked_likelihood(lm, ["He is a nurse."]).aula.item() < 0


def test_a_family_whose_head_needs_the_whole_sentence_runs_in_full(tiny, tmp_path):
    lm = load_masked_lm(tiny_models.save("bert_cased", tmp_path))
    head = lm.model.cls.forward
    # A head that looks at its neighbours cannot be given single positions.
    lm.model.cls.forward = lambda states: head(states + 0.1 * states.mean(1, keepdim=True))
    model = plain.double(lm)
    double_head = type(model.cls).forward
    model.cls.forward = lambda states: double_head(model.cls, states + 0.1 * states.mean(1, keepdim=True))
    frame = scoring.pseudo_log_likelihood(lm, ["He is a nurse."])
    assert frame.pll.item() == pytest.approx(plain.pll(lm, model, "He is a nurse."), rel=1e-5)


def other_family(config, model):
    """Build a random model of a family that needs more care than most."""
    torch.manual_seed(0)
    tokenizer = tiny_models.build("bert_cased")[1]
    sizes = {**tiny_models.SIZES, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    sizes |= {"bos_token_id": 2, "eos_token_id": 3, "max_position_embeddings": 66}
    return load_masked_lm((model(config(**sizes)).eval(), tokenizer))


@pytest.mark.parametrize("family", ["FNet", "MPNet", "DebertaV2", "ConvBert", "RoFormer"])
def test_families_that_need_care_are_scored_as_alone(family):
    """Where padding takes part (FNet), or weights come only when asked for (MPNet), numbers are the plain ones."""
    import transformers

    lm = other_family(getattr(transformers, f"{family}Config"), getattr(transformers, f"{family}ForMaskedLM"))
    sentences = [*SENTENCES, "the dog is old and the cat is good"]
    model = copy.deepcopy(lm.model).double()
    frame = scoring.pseudo_log_likelihood(lm, sentences)
    np.testing.assert_allclose(frame.pll, [plain.pll(lm, model, sentence) for sentence in sentences], rtol=2e-5)
    vectors = scoring.sentence_vectors(lm, sentences)
    np.testing.assert_allclose(vectors, [plain.vector(lm, model, sentence) for sentence in sentences], atol=1e-4)
    if family == "FNet":
        with pytest.warns(UserWarning, match="no attention weights: aula is missing"):
            frame = scoring.all_unmasked_likelihood(lm, sentences)
        assert frame.aul.notna().all() and frame.aula.isna().all() and frame.reason.eq("").all()
    else:
        frame = scoring.all_unmasked_likelihood(lm, sentences)
        model.set_attn_implementation("eager")
        expected = [plain.aul_aula(lm, model, sentence) for sentence in sentences]
        np.testing.assert_allclose(frame[["aul", "aula"]], expected, rtol=2e-5, atol=1e-5)


def test_layers_with_equal_attention_each_count(tiny_folder):
    lm = load_masked_lm(tiny_folder("bert_cased"))
    with torch.no_grad():
        for layer in lm.model.bert.encoder.layer[:2]:
            layer.attention.self.query.weight.zero_()
            layer.attention.self.query.bias.zero_()
    expected = [plain.aul_aula(lm, plain.double(lm), sentence) for sentence in SENTENCES]
    np.testing.assert_allclose(scoring.all_unmasked_likelihood(lm, SENTENCES)[["aul", "aula"]], expected, rtol=1e-5)


def test_a_score_that_is_not_a_number_has_a_reason(tiny_folder):
    lm = load_masked_lm(tiny_folder("bert_cased"))
    with torch.no_grad():
        lm.model.cls.predictions.bias[7] = math.nan
    assert scoring.pseudo_log_likelihood(lm, ["He is."]).reason.item() == scoring.NOT_FINITE
    assert scoring.mask_probabilities(lm, ["[MASK] is."], ["he"]).reason.item() == scoring.NOT_FINITE
    assert scoring.shared_pseudo_log_likelihood(lm, ["He is."], ["It is."]).reason.item() == scoring.NOT_FINITE


def test_scores_go_back_to_the_rows_they_came_from(demo):
    rows = pd.DataFrame({"text": ["She is a nurse.", "He is.", "It was late."]}, index=[7, 3, 5]).sort_index()
    rows["pll"] = scoring.pseudo_log_likelihood(demo, rows.text).pll
    rows["aul"] = scoring.all_unmasked_likelihood(demo, rows.text).aul
    for text, pll, aul in rows.itertuples(index=False):
        assert pll == pytest.approx(scoring.pseudo_log_likelihood(demo, [text]).pll.item(), rel=1e-5, abs=1e-5)
        assert aul == pytest.approx(scoring.all_unmasked_likelihood(demo, [text]).aul.item(), rel=1e-5, abs=1e-5)


def test_generators_are_read_once_and_whole(demo):
    frame = scoring.mask_probabilities(demo, (s for s in ["[MASK] is."]), (w for w in ["he", "she"]))
    assert frame.word.tolist() == ["he", "she"] and frame.probability.gt(0).all()
    assert scoring.mask_distributions(demo, (s for s in ["[MASK] is."])).shape[0] == 1


def test_out_of_memory_halves_the_batch_and_goes_on(demo):
    expected = scoring.pseudo_log_likelihood(demo, SENTENCES).pll
    sizes = []

    def refuse_large(module, inputs, options):
        sizes.append(len(options["input_ids"]))
        if len(options["input_ids"]) > 5:
            raise torch.OutOfMemoryError("no memory")

    handle = demo.model.register_forward_pre_hook(refuse_large, with_kwargs=True)
    try:
        frame = scoring.pseudo_log_likelihood(demo, SENTENCES)
        aula = scoring.all_unmasked_likelihood(demo, SENTENCES).aula
    finally:
        handle.remove()
    assert max(sizes) > 5
    np.testing.assert_allclose(frame.pll, expected, rtol=1e-5)
    assert np.isfinite(aula).all()


def test_out_of_memory_for_one_sentence_is_said(demo):
    def refuse(module, inputs):
        raise torch.OutOfMemoryError("no memory")

    handle = demo.model.register_forward_pre_hook(refuse)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            scoring.mask_distributions(demo, ["[MASK] is."])
    finally:
        handle.remove()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
class TestOnGpu:
    def test_float32_agrees_with_float64(self, demo):
        model = plain.double(demo)
        frame = scoring.pseudo_log_likelihood(load_masked_lm("demo", device="cuda"), SENTENCES)
        np.testing.assert_allclose(frame.pll, [plain.pll(demo, model, s) for s in SENTENCES], rtol=1e-5)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision_is_off_by_hundredths(self, demo, dtype):
        exact = scoring.pseudo_log_likelihood(demo, SENTENCES)
        half = scoring.pseudo_log_likelihood(load_masked_lm("demo", device="cuda", dtype=dtype), SENTENCES)
        assert (np.abs(half.pll - exact.pll) / exact.n_tokens).max() < 0.05

    def test_out_of_memory_halves_the_batch(self, demo):
        lm = load_masked_lm("demo", device="cuda")
        sentences = [f"The dog number {n} is old and the cat is young." for n in range(3000)]
        expected = scoring.pseudo_log_likelihood(lm, sentences).pll
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info()
        torch.cuda.set_per_process_memory_fraction(min(1.0, (total - free + 300e6) / total))
        try:
            halved = scoring.pseudo_log_likelihood(lm, sentences, batch_tokens=2**22).pll
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        np.testing.assert_allclose(halved, expected, rtol=1e-5)
