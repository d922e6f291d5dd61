import math

import numpy as np
import plain
import pytest
import tiny_models
import torch
from example_sentences import SENTENCES

from biaslib import scoring
from biaslib.scoring import load_masked_lm


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


def test_layers_with_equal_attention_each_count(tiny_folder):
    lm = load_masked_lm(tiny_folder("bert_cased"))
    with torch.no_grad():
        for layer in lm.model.bert.encoder.layer[:2]:
            layer.attention.self.query.weight.zero_()
            layer.attention.self.query.bias.zero_()
    expected = [plain.aul_aula(lm, plain.double(lm), sentence) for sentence in SENTENCES]
    np.testing.assert_allclose(scoring.all_unmasked_likelihood(lm, SENTENCES)[["aul", "aula"]], expected, rtol=1e-5)
