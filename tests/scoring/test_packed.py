import plain
import pytest
import tiny_models
import torch

from biaslib import scoring
from biaslib.scoring import _packed, load_masked_lm, packed_linear_layers

SENTENCES = ["She is a nurse.", "The dog was seen before it.", "He is not done with the old city of London."]

needs_packing = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")),
    reason="this build of PyTorch cannot pack weights",
)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(_packed, "WORTH_PACKING", 0)


@needs_packing
@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_packed_weights_give_the_definition(tiny, family, always):
    lm = tiny(family)
    with packed_linear_layers(lm, 1, 64) as n_layers:
        assert n_layers > 0
    frame = scoring.pseudo_log_likelihood(lm, SENTENCES)
    model = plain.double(lm)
    for sentence, pll, n_tokens in zip(frame.sentence, frame.pll, frame.n_tokens, strict=True):
        expected = plain.pll(lm, model, sentence)
        assert pll == pytest.approx(expected, abs=1e-5 * n_tokens, rel=1e-5)


@needs_packing
def test_the_model_is_as_before_afterwards(tiny):
    lm = tiny("bert_cased")
    layers = [module for module in lm.model.modules() if type(module) is torch.nn.Linear]
    with pytest.raises(RuntimeError, match="inside"), packed_linear_layers(lm, 10**6, 64) as n_layers:
        assert n_layers == len(layers) - 1, "all but the layer that yields the logits"
        raise RuntimeError("inside")
    assert not any("forward" in vars(layer) for layer in layers)


@needs_packing
def test_weights_changed_between_runs_are_seen(tiny_folder, always):

    lm = load_masked_lm(tiny_folder("bert_cased"), device="cpu")
    before = scoring.pseudo_log_likelihood(lm, SENTENCES).pll
    with torch.no_grad():
        lm.model.bert.encoder.layer[0].intermediate.dense.weight.mul_(3)
    assert (scoring.pseudo_log_likelihood(lm, SENTENCES).pll != before).all()


@pytest.mark.parametrize("case", ["few tokens", "double precision", "a layer with a forward of its own"])
def test_nothing_is_packed_where_it_does_not_fit(tiny_folder, case):

    lm = load_masked_lm(
        tiny_folder("bert_cased"), device="cpu", dtype="float64" if case == "double precision" else "float32"
    )
    taken = next(module for module in lm.model.modules() if type(module) is torch.nn.Linear)
    if case == "a layer with a forward of its own":
        own = taken.forward
        taken.forward = lambda states: own(states)
    with packed_linear_layers(lm, 1 if case == "few tokens" else 10**6, 64) as n_layers:
        if case != "a layer with a forward of its own":
            assert n_layers == 0
    assert ("forward" in vars(taken)) == (case == "a layer with a forward of its own")
