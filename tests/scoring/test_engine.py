import copy
import math

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
import torch
from example_sentences import SENTENCES
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import scoring
from biaslib.scoring import load_masked_lm


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
        with pytest.warns(UserWarning, match="no attention weights, so aula is missing"):
            frame = scoring.all_unmasked_likelihood(lm, sentences)
        assert frame.aul.notna().all() and frame.aula.isna().all() and frame.reason.eq("").all()
    else:
        frame = scoring.all_unmasked_likelihood(lm, sentences)
        model.set_attn_implementation("eager")
        expected = [plain.aul_aula(lm, model, sentence) for sentence in sentences]
        np.testing.assert_allclose(frame[["aul", "aula"]], expected, rtol=2e-5, atol=1e-5)


def test_a_score_that_is_not_a_number_has_a_reason(tiny_folder):
    lm = load_masked_lm(tiny_folder("bert_cased"))
    with torch.no_grad():
        lm.model.cls.predictions.bias[7] = math.nan
    assert scoring.pseudo_log_likelihood(lm, ["He is."]).reason.item() == scoring.NOT_FINITE
    assert scoring.mask_probabilities(lm, ["[MASK] is."], ["he"]).reason.item() == scoring.NOT_FINITE
    assert scoring.shared_pseudo_log_likelihood(lm, ["He is."], ["It is."]).reason.item() == scoring.NOT_FINITE


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
