import json
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tiny_models
import torch
from safetensors.torch import load_file, save_file

from biaslib import scoring
from biaslib.scoring import ModelError, load_masked_lm, models, open_models
from biaslib.scoring.models import DEMO_FOLDER


def one_line(call, *parts):
    with pytest.raises(ModelError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


@pytest.fixture
def bert(tmp_path):
    return tiny_models.save("bert_cased", tmp_path / "bert")


def rewrite(folder, change):
    """Change the weights that a folder holds."""
    path = folder / "model.safetensors"
    weights = {key: tensor.clone() for key, tensor in load_file(path).items()}
    save_file(change(weights), path, metadata={"format": "pt"})


def test_demo_is_the_shipped_model_in_float32(demo):
    assert (demo.name, demo.dtype, demo.device, demo.max_tokens) == ("demo", "float32", "cpu", 512)
    assert demo.vocabulary_size == 30522 and demo.describe()["for_trying_out"]
    assert demo.describe()["fingerprint"] == demo.fingerprint and len(demo.fingerprint) == 16
    json.dumps(demo.describe())


def test_demo_needs_no_network_and_makes_no_noise():
    code = "from biaslib.scoring import load_masked_lm; load_masked_lm('demo')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr and "%|" not in done.stderr


def test_import_loads_nothing_heavy():
    heavy = ["pandas", "scipy", "torch", "transformers", "gensim", "spacy", "matplotlib", "sklearn"]
    code = f"import sys, biaslib; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_every_family_loads_from_a_folder(tiny, family):
    lm = tiny(family)
    assert lm.dtype == "float32" and lm.max_tokens == 64
    assert not lm.model.training


def test_a_half_precision_checkpoint_loads_as_float32(bert):
    rewrite(bert, lambda weights: {key: tensor.half() for key, tensor in weights.items()})
    config = json.loads((bert / "config.json").read_text())
    (bert / "config.json").write_text(json.dumps({**config, "dtype": "float16"}))
    assert load_masked_lm(bert).dtype == "float32"


def test_an_encoder_without_head_is_refused_by_its_missing_weights(bert):
    rewrite(bert, lambda weights: {k: t for k, t in weights.items() if not k.startswith("cls.")})
    one_line(lambda: load_masked_lm(bert), "cls.predictions.transform.dense.weight", "AutoModelForMaskedLM")


HEADS = {
    "bert_cased": "cls.",
    "distilbert": "vocab_",
    "electra": "generator_",
    "roberta": "lm_head.",
    "modernbert": ("head.", "decoder."),
    "albert": "predictions.",
}


@pytest.mark.parametrize("family", HEADS)
def test_a_new_head_has_to_be_asked_for_and_is_the_same_each_time(tmp_path, family):
    folder = tiny_models.save(family, tmp_path / family)
    whole = load_masked_lm(folder, head="new")
    assert (whole.head, whole.describe()["head"]) == ("kept", "kept"), "a head that is there is kept"
    rewrite(folder, lambda weights: {k: t for k, t in weights.items() if not k.startswith(HEADS[family])})
    one_line(lambda: load_masked_lm(folder), "lacks the weights", "head='new' and train it")
    state = torch.random.get_rng_state()
    lm = load_masked_lm(folder, head="new")
    assert torch.equal(torch.random.get_rng_state(), state), "the caller's random numbers are left alone"
    assert (lm.head, lm.describe()["head"]) == ("new", "new")
    torch.manual_seed(5)
    assert load_masked_lm(folder, head="new").fingerprint == lm.fingerprint != whole.fingerprint
    for name, weight in whole.model.base_model.state_dict().items():
        assert torch.equal(lm.model.base_model.state_dict()[name], weight)
    assert np.isfinite(scoring.pseudo_log_likelihood(lm, ["He is."]).pll).all()
    assert open_models([folder], head="new").describe()[0]["head"] == "new"


def test_an_unknown_head_is_refused(bert):
    one_line(lambda: load_masked_lm(bert, head="none"), "unknown head 'none'; use one of keep, new")


@pytest.mark.parametrize("head", ["keep", "new"])
def test_a_missing_encoder_weight_is_refused_too(bert, head):
    rewrite(
        bert,
        lambda weights: {k: t for k, t in weights.items() if "layer.1.attention.self.query.weight" not in k},
    )
    message = one_line(lambda: load_masked_lm(bert, head=head), "bert.encoder.layer.1.attention.self.query.weight")
    assert "head='new'" not in message


@pytest.mark.parametrize("family", ["bert_cased", "roberta", "albert", "distilbert", "xlm_roberta"])
def test_tied_weights_alone_raise_no_alarm(tmp_path, family):
    folder = tiny_models.save(family, tmp_path / family)
    reference = scoring.pseudo_log_likelihood(load_masked_lm(folder), ["He is."]).pll
    tied = ("decoder.weight", "decoder.bias", "vocab_projector.weight")
    rewrite(folder, lambda weights: {k: t for k, t in weights.items() if not k.endswith(tied)})
    np.testing.assert_array_equal(scoring.pseudo_log_likelihood(load_masked_lm(folder), ["He is."]).pll, reference)


def test_a_mistyped_folder_is_reported_as_a_folder(bert):
    message = one_line(lambda: load_masked_lm(bert.parent / "brt"), "no folder", "did you mean")
    assert str(bert) in message
    one_line(lambda: load_masked_lm("./nowhere/model"), "no folder './nowhere/model'", "check the path")
    one_line(lambda: load_masked_lm(bert.parent), "has no config.json")
    one_line(lambda: load_masked_lm(bert / "config.json"), "is a file")
    one_line(lambda: load_masked_lm("bert base"), "neither a folder here nor a Hugging Face id")


def test_a_model_that_the_hub_does_not_give_is_one_line():
    code = (
        "from biaslib.scoring import load_masked_lm\n"
        "try: load_masked_lm('nobody/nothing')\n"
        "except Exception as e: print(type(e).__name__, e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("ModelError cannot get 'nobody/nothing' from the Hugging Face hub")


def test_what_is_no_masked_language_model_is_refused(tmp_path):
    import transformers as t

    t.GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=9).save_pretrained(tmp_path / "gpt")
    one_line(lambda: load_masked_lm(tmp_path / "gpt"), "type 'gpt2'")
    t.BartConfig().save_pretrained(tmp_path / "bart")
    one_line(lambda: load_masked_lm(tmp_path / "bart"), "type 'bart'")


def test_code_in_a_repository_is_never_run(bert):
    config = json.loads((bert / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.C", "AutoModelForMaskedLM": "mine.M"}}
    (bert / "config.json").write_text(json.dumps(config))
    marker = bert / "ran"
    (bert / "mine.py").write_text(f"open({str(marker)!r}, 'w')")
    one_line(lambda: load_masked_lm(bert), "cannot load the model")
    assert not marker.exists()


class Harmful:
    def __reduce__(self):
        return (os.system, ("touch harmed",))


def test_pickled_code_among_weights_is_never_run(bert, monkeypatch):
    monkeypatch.chdir(bert)
    (bert / "model.safetensors").unlink()
    with (bert / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Harmful(), file, protocol=2)
    one_line(lambda: load_masked_lm(bert))
    assert not (bert / "harmed").exists()
    weights = tiny_models.build("bert_cased")[0].state_dict()
    torch.save({**weights, "x": Harmful()}, bert / "pytorch_model.bin")
    one_line(lambda: load_masked_lm(bert))
    assert not (bert / "harmed").exists()
    torch.save(weights, bert / "pytorch_model.bin")
    assert load_masked_lm(bert).name == str(bert)


def test_loaded_objects_are_used_as_they_are():
    model, tokenizer = tiny_models.build("bert_cased")
    lm = load_masked_lm((model, tokenizer))
    assert lm.model is model and lm.tokenizer is tokenizer
    assert load_masked_lm(lm) is lm
    with pytest.warns(UserWarning, match="bfloat16"):
        assert load_masked_lm((model.bfloat16(), tokenizer)).dtype == "bfloat16"


def test_objects_that_do_not_fit_are_refused(tiny):
    model, tokenizer = tiny_models.build("bert_cased")
    other = tiny_models.build("roberta")[1]
    one_line(lambda: load_masked_lm((tokenizer, model)), "(model, tokenizer)")
    one_line(lambda: load_masked_lm((model.bert, tokenizer)), "no language-model head")
    one_line(lambda: load_masked_lm((model, other)), f"ids up to {len(other) - 1}", f"{len(tokenizer)} entries")
    tokenizer.mask_token = None
    one_line(lambda: load_masked_lm((model, tokenizer)), "no mask token")


def test_precision_and_device_are_checked(bert):
    one_line(lambda: load_masked_lm(bert, dtype="half"), "unknown dtype", "float16")
    one_line(lambda: load_masked_lm(bert, device="cpu", dtype="float16"), "cpu device has no float16")
    one_line(lambda: load_masked_lm(bert, device="gpu"), "unknown device 'gpu'")
    if not torch.cuda.is_available():
        one_line(lambda: load_masked_lm(bert, device="cuda"), "no cuda device", "device='auto'")
    assert load_masked_lm(bert, dtype="float64").dtype == "float64"


def test_fingerprint_tells_models_apart(tmp_path):
    one = load_masked_lm(tiny_models.save("bert_cased", tmp_path / "one"))
    same = load_masked_lm(shutil.copytree(tmp_path / "one", tmp_path / "two"))
    assert one.fingerprint == same.fingerprint
    rewrite(
        tmp_path / "two",
        lambda weights: {**weights, "cls.predictions.bias": weights["cls.predictions.bias"] + 1e-6},
    )
    assert load_masked_lm(tmp_path / "two").fingerprint != one.fingerprint


def test_fingerprint_covers_what_is_not_a_weight(bert):
    plain = load_masked_lm(bert).fingerprint
    config = json.loads((bert / "config.json").read_text())
    (bert / "config.json").write_text(json.dumps({**config, "num_attention_heads": 2}))
    heads = load_masked_lm(bert).fingerprint
    model, tokenizer = tiny_models.build("bert_cased")
    lowered = tiny_models.build("bert_uncased")[1].__class__(vocab=tokenizer.get_vocab(), do_lower_case=True)
    before = load_masked_lm((model, lowered)).fingerprint
    with torch.no_grad():
        model.cls.predictions.bias += 1e-3
    assert len({plain, heads, before, load_masked_lm((model, lowered)).fingerprint}) == 4


def test_fingerprint_does_not_depend_on_use(bert):
    lm = load_masked_lm(bert)
    before = lm.fingerprint
    lm.tokenizer(["he", "he is here"], padding=True, truncation=True, max_length=3)
    scoring.all_unmasked_likelihood(lm, ["He is."])
    assert load_masked_lm((lm.model, lm.tokenizer)).fingerprint == before


def test_a_copy_of_the_embedded_model_still_says_what_it_is(tmp_path):

    copied = load_masked_lm(shutil.copytree(DEMO_FOLDER, tmp_path / "mine"))
    assert (
        copied.describe()["for_trying_out"]
        and not load_masked_lm(tiny_models.save("bert_cased", tmp_path / "other")).describe()["for_trying_out"]
    )


def test_a_batch_over_the_position_limit_would_fail(tiny):
    """The limits are the models' own: one more token is out of range for RoBERTa's 66 positions."""
    lm = tiny("roberta")
    ids = torch.full((1, models._max_tokens(lm.model, lm.tokenizer) + 1), 20)
    with pytest.raises((IndexError, RuntimeError)), torch.no_grad():
        lm.model(input_ids=ids)
