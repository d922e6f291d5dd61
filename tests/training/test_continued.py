"""Continued training: what is hidden, what is learnt, what survives a kill, and what is refused."""

import csv
import gzip
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslib import io, scoring, training
from biaslib.cli import main
from biaslib.io import read_documents
from biaslib.scoring import load_masked_lm
from biaslib.training import (
    _blocks,
    _masking,
    _recorder,
    _settings,
    continue_pretraining,
    continued,
    held_out_loss,
    read_training,
)

ROOT = Path(__file__).parents[2]
FAMILIES = (*tiny_models.TOKENIZER_FAMILIES, "albert")


def sentences(n, seed=0):
    """Make different short sentences of words that every tiny vocabulary has."""
    drawn = random.Random(seed)
    return [" ".join(drawn.choices(tiny_models.WORDS, k=8)) + f" {number}." for number in range(n)]


def quick(lm, out, texts=None, **options):
    texts = sentences(60) if texts is None else texts
    return continue_pretraining(
        lm, texts, out=out, **({"epochs": 1, "block_size": 32, "learning_rate": 1e-3} | options)
    )


def losses(folder, split="held_out"):
    frame = read_training(folder)
    return frame.loss[frame.split == split].tolist()


# -- the measure ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("whole_words", [False, True])
def test_held_out_loss_is_that_of_the_definition(tiny, family, whole_words):
    lm = tiny(family)
    texts = ["unable doers were seeing the nurse", *sentences(20)]
    options = {"block_size": 32, "mask_probability": 0.3, "held_out": 0.4, "whole_word_masking": whole_words}
    found = held_out_loss(lm, texts, **options)
    settings_used = _settings.check_data_settings(lm, 32, 0.3, 0.4, 0, whole_words)
    _, blocks, _ = _blocks.prepare_blocks(lm, texts, settings_used)
    masking, model, expected = _masking.make_masking(lm, settings_used), plain.double(lm), []
    for number in range(len(blocks)):
        seen, places = _masking.held_out_block(blocks, masking, number)
        original = blocks.ids[blocks.span(number)]
        expected += [-plain.log_probability(model, seen.tolist(), p, int(original[p])) for p in places]
    assert found.n_tokens == len(expected) > 10
    assert found.loss == pytest.approx(math.fsum(expected) / len(expected), abs=1e-5)
    assert found.perplexity == pytest.approx(math.exp(found.loss))
    assert found.ci_low < found.loss < found.ci_high
    by_document = found.by_document
    assert len(by_document) == found.n_documents and by_document.n_tokens.sum() == found.n_tokens
    assert (by_document.loss * by_document.n_tokens).sum() / found.n_tokens == pytest.approx(found.loss)
    assert found.to_frame().columns.tolist()[:4] == ["loss", "ci_low", "ci_high", "perplexity"]


def test_blocks_are_documents_with_their_special_tokens_cut_to_size(tiny):
    lm = tiny("bert_cased")
    cls, sep = lm.tokenizer.cls_token_id, lm.tokenizer.sep_token_id
    he, is_, good = lm.tokenizer.convert_tokens_to_ids(["he", "is", "good"])
    blocks, left_out = _blocks.cut_blocks(lm, ["he is good", "he", "good good good good"], 8, False)
    stream = [cls, he, is_, good, sep, cls, he, sep, cls, good, good, good, good, sep]
    # Six tokens are left for a second block: too few to learn from.
    assert (blocks.ids.tolist(), left_out, len(blocks)) == (stream[:8], 6, 1)
    assert blocks.documents.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    blocks, left_out = _blocks.cut_blocks(lm, ["he is good"] * 4, 11, False)
    assert (len(blocks.ids), len(blocks), left_out) == (20, 2, 0)
    blocks, left_out = _blocks.cut_blocks(lm, ["he is"], 32, False)
    assert (blocks.ids.tolist(), left_out) == ([cls, he, is_, sep], 0)


def test_fifteen_of_a_hundred_tokens_are_hidden_by_the_published_lots(tiny):
    lm = tiny("bert_cased")
    used = _settings.check_data_settings(lm, 64, 0.15, 1.0, 0, False)
    texts = sentences(3_000)
    _, blocks, _ = _blocks.prepare_blocks(lm, texts, used)
    masking = _masking.make_masking(lm, used)
    can_be = ~np.isin(blocks.ids, lm.tokenizer.all_special_ids)
    seen, chosen = blocks.ids.copy(), np.zeros(len(blocks.ids), dtype=bool)
    for number in range(len(blocks)):
        span = blocks.span(number)
        seen[span], places = _masking.held_out_block(blocks, masking, number)
        chosen[span.start + places] = True
    assert not chosen[~can_be].any() and (seen == blocks.ids)[~chosen].all()
    n = chosen.sum()
    assert n / can_be.sum() == pytest.approx(0.15, abs=0.01)
    assert (seen == lm.tokenizer.mask_token_id)[chosen].mean() == pytest.approx(0.8, abs=0.02)
    assert (seen == blocks.ids)[chosen].mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("family", FAMILIES)
def test_whole_words_are_hidden_with_all_their_pieces(tiny, family):
    lm = tiny(family)
    used = _settings.check_data_settings(lm, 64, 0.3, 1.0, 0, True)
    _, blocks, _ = _blocks.prepare_blocks(lm, ["the unable doers were seeing kindness"] * 40, used)
    masking = _masking.make_masking(lm, used)
    n_pieces, shares = [], []
    for number in range(len(blocks)):
        span = blocks.span(number)
        _, places = _masking.held_out_block(blocks, masking, number)
        hidden = np.isin(np.arange(len(blocks.words[span])), places)
        for word in set(blocks.words[span].tolist()) - {-1}:
            pieces = hidden[blocks.words[span] == word]
            assert pieces.all() or not pieces.any()
            n_pieces.append(len(pieces))
        shares.append(hidden[blocks.words[span] >= 0].mean())
    assert max(n_pieces) > 1
    assert np.mean(shares) == pytest.approx(0.3, abs=0.06)
    words = lm.tokenizer("the unable doers were seeing kindness").word_ids()
    assert len(set(blocks.words[: len(words)].tolist())) == len(set(words))


@settings(max_examples=8, deadline=None)
@given(batch_tokens=st.integers(1, 400), repeats=st.integers(1, 3))
def test_neither_batches_nor_a_second_call_change_the_loss(tiny, batch_tokens, repeats):
    lm, options = tiny("roberta"), {"block_size": 16, "held_out": 0.5}
    expected = held_out_loss(lm, sentences(12), **options)
    for _ in range(repeats):
        found = held_out_loss(lm, sentences(12), batch_tokens=batch_tokens, **options)
        assert found.loss == pytest.approx(expected.loss, abs=1e-5) and found.n_tokens == expected.n_tokens


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=30), st.floats(0.01, 0.99), st.integers(0, 9))
def test_no_document_is_on_both_sides_of_the_split_and_none_is_lost(documents, held_out, seed):
    if len(set(documents)) < 2:
        documents = [*documents, "y", "z"]
    train, test = _blocks.split_documents(documents, held_out, seed)
    assert not set(train) & set(test) and train and test
    assert sorted(train + test) == sorted(documents)
    assert _blocks.split_documents(documents, held_out, seed) == (train, test)


def test_the_seed_decides_what_is_held_out(tiny):
    found = {held_out_loss(tiny("bert_cased"), sentences(60), block_size=32, seed=seed).loss for seed in range(3)}
    assert len(found) == 3


# -- the training -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_every_tokenizer_family_trains_and_loads(tiny, tmp_path, family):
    lm = tiny(family)
    before = lm.fingerprint
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    folder = quick(lm, tmp_path / "out", batch_size=12, whole_word_masking=True)
    assert torch.equal(torch.rand(2), expected), "the caller's random numbers are left alone"
    assert load_masked_lm((lm.model, lm.tokenizer)).fingerprint == before and not lm.model.training
    trained = load_masked_lm(folder)
    assert trained.fingerprint != before and (trained.dtype, trained.head) == ("float32", "kept")
    frame = read_training(folder)
    assert frame.columns.tolist() == list(_recorder.TRAINING_COLUMNS)
    assert frame[["step", "epoch", "split"]].values.tolist() == [
        [0, 0, "held_out"],
        [2, 1, "train"],
        [2, 1, "held_out"],
    ]
    for model, loss in zip((lm, trained), losses(folder), strict=True):
        found = held_out_loss(model, sentences(60), block_size=32, whole_word_masking=True)
        assert loss == pytest.approx(found.loss, abs=1e-6)
    assert set(frame.n_tokens[frame.split == "held_out"]) == {found.n_tokens}


def test_training_lowers_the_loss_of_the_demo_model(demo, tmp_path):
    folder = quick(demo, tmp_path / "out", "queer_news_sample", block_size=64, learning_rate=2e-4, held_out=0.2)
    first, last = losses(folder)
    assert last < first - 0.05
    assert load_masked_lm(folder).describe()["for_trying_out"], "trained on, it supports no finding either"


def test_the_same_seed_gives_the_same_weights(tiny, tmp_path):
    lm, options = tiny("bert_cased"), {"batch_size": 12, "epochs": 2}
    folders = [quick(lm, tmp_path / f"{n}", seed=seed, **options) for n, seed in enumerate((1, 1, 2))]
    one, same, other = (load_masked_lm(folder).fingerprint for folder in folders)
    assert one == same != other
    pd.testing.assert_frame_equal(read_training(folders[0]), read_training(folders[1]))


def test_steps_in_which_nothing_is_hidden_do_no_harm(tiny, tmp_path):
    folder = quick(tiny("albert"), tmp_path / "out", block_size=8, batch_size=1, mask_probability=0.03, held_out=0.5)
    assert np.isfinite(read_training(folder).loss).all()
    assert all(bool(p.isfinite().all()) for p in load_masked_lm(folder).model.parameters())


def test_a_rate_that_breaks_the_model_is_said(tiny, tmp_path):
    with pytest.raises(ValueError, match="no longer a finite number; train with a smaller learning_rate"):
        quick(tiny("bert_cased"), tmp_path / "out", learning_rate=1e30, batch_size=2)
    assert not (tmp_path / "out").exists()


def test_a_model_in_half_precision_is_trained_and_saved_in_float32(tmp_path):
    model, tokenizer = tiny_models.build("bert_cased")
    with pytest.warns(UserWarning, match="bfloat16"):
        lm = load_masked_lm((model.bfloat16(), tokenizer))
    folder = quick(lm, tmp_path / "out", batch_size=12)
    assert lm.dtype == "bfloat16" and next(lm.model.parameters()).dtype == torch.bfloat16
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float32"
    trained = load_masked_lm((load_masked_lm(folder).model, tokenizer))
    assert trained.dtype == "float32"


def test_a_new_head_is_trained_and_marked(tmp_path):
    from transformers import BertModel

    base = BertModel.from_pretrained(tiny_models.save("bert_cased", tmp_path / "whole"))
    base.save_pretrained(tmp_path / "base")
    tiny_models.build("bert_cased")[1].save_pretrained(tmp_path / "base")
    lm = load_masked_lm(tmp_path / "base", head="new")
    folder = quick(lm, tmp_path / "out", batch_size=12)
    assert json.loads((folder / "training.json").read_text())["base"]["head"] == "new"
    assert load_masked_lm(folder).head == "kept"
    assert losses(folder)[1] < losses(folder)[0]


def test_nothing_is_left_but_the_result_and_nothing_of_the_texts_in_it(tiny, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    texts = [*sentences(30), "the sesquipedalian cat", "", sentences(1)[0]]
    folder = quick(tiny("bert_cased"), "results/mine", texts, batch_size=4, save_every=2)
    assert folder == tmp_path / "results/mine"
    assert [path.name for path in tmp_path.rglob("*") if path.is_dir()] == ["results", "mine"]
    assert {path.name for path in folder.iterdir()} == {
        *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.csv"),
        "training.json",
    }
    for written in ("training.csv", "training.json", "config.json"):
        content = (folder / written).read_text()
        assert "sesquipedalian" not in content and not any(text in content for text in texts if text)
    manifest = json.loads((folder / "training.json").read_text())
    counts = manifest["texts"]
    assert (counts["n_documents"], counts["n_empty"], counts["n_duplicates"]) == (32, 1, 1)
    assert counts["train"]["n_documents"] + counts["held_out"]["n_documents"] == 32
    assert len(counts["fingerprint"]) == 16 and manifest["base"]["fingerprint"] == tiny("bert_cased").fingerprint
    assert manifest["settings"]["block_size"] == 32 and manifest["versions"]["transformers"]
    assert (manifest["device"], manifest["processes"], manifest["restarts"]) == ("cpu", 1, 0)
    assert manifest["seconds"] > 0
    assert capfd.readouterr() == ("", "")


def test_progress_is_one_text_bar(tiny, tmp_path, capfd):
    quick(tiny("bert_cased"), tmp_path / "out", batch_size=12, progress=True)
    output, errors = capfd.readouterr()
    assert output == "" and "2/2" in errors and "held_out=" in errors


# -- killed and started again -----------------------------------------------------------------------------------------

# Two epochs of 11 steps, with dropout; checkpoints after 5, 10, 15, 20 and 22.
LONG = {"epochs": 2, "batch_size": 2, "save_every": 5, "block_size": 32, "learning_rate": 1e-3}
KILLED = """
import json, os, signal, sys
import torch
from biaslib.scoring import load_masked_lm
from biaslib.training import continue_pretraining

moment, model, texts, out, options = sys.argv[1:]
save, rename = torch.save, os.rename

def save_half(content, path, *given, **more):
    if str(path).endswith("checkpoint-15/optimizer.pt"):
        save(content, path, *given, **more)
        with open(path, "r+b") as file:
            file.truncate(100)
        os.kill(os.getpid(), signal.SIGKILL)
    save(content, path, *given, **more)

def never_rename(source, target):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "saving":
    torch.save = save_half
else:
    os.rename = never_rename
continue_pretraining(load_masked_lm(model, device="cpu"), texts, out=out, **json.loads(options))
"""


@pytest.fixture(scope="module")
def undisturbed(tiny_folder, tmp_path_factory):
    """Train without being disturbed; give the model's folder, the text and the losses."""
    folder = tmp_path_factory.mktemp("undisturbed")
    texts = folder / "texts.txt"
    texts.write_text("\n".join(sentences(60)))
    model = tiny_folder("bert_cased")
    return model, texts, read_training(continue_pretraining(load_masked_lm(model), texts, out=folder / "out", **LONG))


def environment(**more):
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1", **more}


def check_goes_on(undisturbed, out, steps_left, monkeypatch):
    """Start the same training again: it does the steps that are left, and ends with the same losses."""
    model, texts, expected = undisturbed
    assert not out.exists()
    steps, add = [], _recorder.Recorder.add
    monkeypatch.setattr(_recorder.Recorder, "add", lambda self, *given: (steps.append(given), add(self, *given))[1])
    continue_pretraining(load_masked_lm(model), texts, out=out, **LONG)
    pd.testing.assert_frame_equal(read_training(out), expected, rtol=1e-4)
    assert abs(losses(out)[-1] - expected.loss.iloc[-1]) < 0.01
    assert len(steps) == steps_left
    assert json.loads((out / "training.json").read_text())["restarts"] == 1
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize(("moment", "steps_left"), [("saving", 12), ("moving", 0)])
def test_killed_while_a_file_is_written_it_goes_on(undisturbed, tmp_path, monkeypatch, moment, steps_left):
    model, texts, _ = undisturbed
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, moment, model, texts, out, json.dumps(LONG)]
    done = subprocess.run(list(map(str, command)), env=environment(), capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    if moment == "saving":
        half = tmp_path / ".out.training" / "checkpoint-15"
        assert (half / "model.safetensors").is_file() and (half / "optimizer.pt").stat().st_size == 100
        assert read_training(out).step.max() == 11, "the losses so far can be read"
    check_goes_on(undisturbed, out, steps_left, monkeypatch)


def test_killed_between_two_steps_from_outside_it_goes_on(undisturbed, tmp_path, capsys):
    """By the command line; whenever the kill falls, the end is the same."""
    model, texts, expected = undisturbed
    out = tmp_path / "out"
    arguments = ["train", model, texts, "--out", out, "--epochs", 2, "--batch-size", 2, "--save-every", 5]
    arguments = [*map(str, arguments), "--block-size", "32", "--learning-rate", "1e-3", "--device", "cpu"]
    command = [sys.executable, "-m", "biaslib", *arguments]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        while started.poll() is None and not list(tmp_path.glob(".out.training/checkpoint-*/complete.json")):
            time.sleep(0.005)
        started.send_signal(signal.SIGKILL)
        _, errors = started.communicate()
    assert started.returncode in (-signal.SIGKILL, 0), errors.decode()
    assert main(arguments) == 0
    assert f"Model: {out}\n" in capsys.readouterr().out
    pd.testing.assert_frame_equal(read_training(out), expected, rtol=1e-4)


def test_a_checkpoint_that_lost_a_byte_is_not_used(undisturbed, tmp_path, monkeypatch):
    model, texts, _ = undisturbed
    out = tmp_path / "out"
    monkeypatch.setattr(continued, "finish", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as stop:
        continue_pretraining(load_masked_lm(model), texts, out=out, **LONG)
    assert "resume from the last checkpoint in" in stop.value.__notes__[0]
    monkeypatch.undo()
    weights = tmp_path / ".out.training" / "checkpoint-22" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    check_goes_on(undisturbed, out, 22, monkeypatch)


def test_another_setting_is_refused_by_name_or_starts_anew(tiny, tmp_path, monkeypatch):
    lm, out = tiny("bert_cased"), tmp_path / "out"
    folder = quick(lm, out, batch_size=12)
    written = (folder / "model.safetensors").stat().st_mtime_ns
    assert quick(lm, out, batch_size=12, save_every=7) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written, "what is done is not done again"
    for name, changed in [("epochs", 2), ("learning_rate", 2e-3), ("seed", 1), ("whole_word_masking", True)]:
        with pytest.raises(ValueError, match=rf"^{name} was .* and is {changed!r} now; .*resume=False"):
            quick(lm, out, **{"batch_size": 12, name: changed})
    with pytest.raises(ValueError, match=r"^texts was"):
        quick(lm, out, sentences(61), batch_size=12)
    with pytest.raises(ValueError, match=r"^model was"):
        quick(tiny("bert_uncased"), out, batch_size=12)
    quick(lm, out, batch_size=12, epochs=2, resume=False)
    assert read_training(out).epoch.max() == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_another_setting_is_refused_after_a_kill_too(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(continued, "finish", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        quick(tiny("bert_cased"), tmp_path / "out", batch_size=12)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"^batch_size was 12 "):
        quick(tiny("bert_cased"), tmp_path / "out", batch_size=4)
    quick(tiny("bert_cased"), tmp_path / "out", batch_size=4, resume=False)
    assert read_training(tmp_path / "out").step.max() == 6


def test_two_processes_train_as_one_with_the_whole_batch(undisturbed, tmp_path):
    """`accelerate launch`, on CPUs: each process takes half of a step's blocks, one writes."""
    model, texts, _ = undisturbed
    launch = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--main_process_port", "0"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    train = ["-m", "biaslib", "train", str(model), str(texts), "--out", str(tmp_path / "two"), "--epochs", "1"]
    train += ["--block-size", "32", "--batch-size", "1", "--learning-rate", "1e-3", "--save-every", "5"]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *launch, *train],
        env=environment(ACCELERATE_USE_CPU="true"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("Model: ") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["two"]
    assert json.loads((tmp_path / "two/training.json").read_text())["processes"] == 2
    one = continue_pretraining(load_masked_lm(model), texts, out=tmp_path / "one", **{**LONG, "epochs": 1})
    assert losses(tmp_path / "two")[0] == pytest.approx(losses(one)[0], abs=1e-6)
    # Their dropout differs.
    assert losses(tmp_path / "two")[1] == pytest.approx(losses(one)[1], abs=0.05)


# -- what is given ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"block_size": 65}, "block_size is 65, over the limit of .*64 tokens"),
        ({"block_size": 7}, "block_size must be a whole number of at least 8, not 7"),
        ({"block_size": 16.0}, "block_size must be a whole number of at least 8, not 16.0"),
        ({"mask_probability": 0}, "mask_probability must be a finite number above 0 and at most 1, not 0"),
        ({"mask_probability": 1.01}, "mask_probability must be .* at most 1, not 1.01"),
        ({"mask_probability": float("nan")}, "mask_probability must be .* not nan"),
        ({"held_out": 1}, "held_out must be below 1"),
        ({"held_out": 0}, "held_out must be .* above 0 and at most 1, not 0"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"epochs": True}, "epochs must be .* not True"),
        ({"batch_size": 0}, "batch_size must be .* at least 1, not 0"),
        ({"save_every": 0}, "save_every must be .* at least 1, not 0"),
        ({"learning_rate": 0}, "learning_rate must be a finite number above 0, not 0"),
        ({"learning_rate": "fast"}, "learning_rate must be .* not 'fast'"),
        ({"weight_decay": -1}, "weight_decay must be a finite number at least 0, not -1"),
        ({"seed": -1}, "seed must be a whole number from 0 to 4294967295, not -1"),
        ({"whole_word_masking": "no"}, "whole_word_masking must be True or False, not 'no'"),
        ({"texts": []}, "the texts hold no text"),
        ({"texts": ["", " \n"]}, "the texts hold no text"),
        ({"texts": ["he is here"] * 9}, "1 distinct documents; give at least 2"),
        ({"texts": ["he", "she"]}, "too little text: no token is masked"),
        (
            {"texts": ["犬犬"] * 5 + ["猫猫猫猫", "馬 馬 馬"], "held_out": 0.5, "mask_probability": 1.0},
            "too little text",
        ),
        ({"texts": ["he is", 3]}, "entry 1 of texts must be a string, not 3"),
        ({"texts": "no/such.txt"}, "no file 'no/such.txt': give a file"),
        ({"texts": "He is a nurse."}, "give texts as a list"),
        ({"texts": ["a.txt", "b.txt"]}, "no file 'a.txt'"),
        ({"texts": pd.DataFrame({"text": ["he"]})}, "one column of a frame"),
    ],
)
def test_what_cannot_be_used_is_named_before_anything_is_written(tiny, tmp_path, monkeypatch, options, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=says) as error:
        quick(tiny("bert_cased"), "out", **options)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_loaded_is_refused(tmp_path):
    with pytest.raises(TypeError, match="give load_masked_lm"):
        continue_pretraining("demo", sentences(9), out=tmp_path / "out")


def test_a_tokenizer_that_knows_no_words_masks_tokens_only(tiny):
    lm = tiny("bert_cased")
    whole = json.loads(lm.tokenizer.backend_tokenizer.to_str()) | {"pre_tokenizer": None}
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    special = {f"{name}_token": getattr(lm.tokenizer, f"{name}_token") for name in ("mask", "unk", "cls", "sep", "pad")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(whole)), **special)
    with pytest.raises(ValueError, match="does not report which tokens form a word; use whole_word_masking=False"):
        held_out_loss(load_masked_lm((lm.model, tokenizer)), sentences(9), whole_word_masking=True)


@pytest.mark.parametrize("taken", ["file", "folder"])
def test_what_is_in_the_way_stays(tiny, tmp_path, taken):
    place = tmp_path / "out"
    if taken == "folder":
        place.mkdir()
    kept = place / "thesis.txt" if taken == "folder" else place
    kept.write_text("mine")
    for resume in (True, False):
        with pytest.raises(FileExistsError, match="is not the result of a continued training; choose another out"):
            quick(tiny("bert_cased"), place, resume=resume)
    assert kept.read_text() == "mine"


def test_an_empty_folder_is_no_obstacle(tiny, tmp_path):
    (tmp_path / "out").mkdir()
    assert (quick(tiny("bert_cased"), tmp_path / "out", batch_size=12) / "config.json").is_file()


def test_there_must_be_a_training_to_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no training\.csv"):
        read_training(tmp_path)


def write(path, content):
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix.lower() == ".gz" else data)
    return path


TWO = ["He said “no”, twice.", "NA"]
WRITTEN = {
    "a.txt": "\ufeffHe said “no”, twice. \r\nNA\r\n",
    "a.txt.gz": "He said “no”, twice.\nNA",
    "a.jsonl": '{"text": "He said \\u201cno\\u201d, twice."}\n{"n": 1, "text": "NA"}\n',
    "a.ndjson.gz": '{"text": "He said “no”, twice."}\n{"text": "NA"}',
    "a.csv": '\ufeffid,text\n1,"He said “no”, twice."\n2,NA\n',
    "a.CSV.GZ": 'text\n"He said “no”, twice."\nNA\n',
    "a.tsv": "text\tid\nHe said “no”, twice.\t1\nNA\t\n",
    "a.json": '[{"text": "He said “no”, twice."}, {"text": "NA"}]',
}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_kind_of_file_is_read(tmp_path, name):
    write(tmp_path / name, WRITTEN[name])
    assert read_documents(tmp_path / name) == TWO
    assert read_documents([str(tmp_path / name), "queer_news_sample"])[:2] == TWO
    with pytest.raises(ValueError, match="twice: keep one"):
        read_documents([str(tmp_path / name)] * 2)


def test_what_is_empty_is_kept_to_be_counted(tmp_path):
    assert read_documents(write(tmp_path / "a.txt", "one\n\n two\n\n")) == ["one", "", "two", ""]
    assert read_documents(write(tmp_path / "b.txt", "")) == []
    assert read_documents(write(tmp_path / "a.jsonl", '{"text": null}\n\n{"text": "x"}\n')) == ["", "x"]
    assert read_documents(write(tmp_path / "a.csv", "text,n\n,1\n\none,2\n")) == ["", "one"]


def test_a_long_cell_and_a_quoted_line_break_are_read_whole(tmp_path):
    long = "word " * 40_000
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "body"], [1, long], [2, "two\nlines"]])
    assert read_documents(tmp_path / "a.csv", text_column="body") == [long.strip(), "two\nlines"]
    with pytest.raises(csv.Error):
        next(csv.reader([long]))


def test_the_files_of_a_folder_are_read_by_name(tmp_path):
    write(tmp_path / "b.txt", "two"), write(tmp_path / "a.jsonl", '{"text": "one"}'), write(tmp_path / ".hidden", "x")
    assert read_documents(tmp_path) == ["one", "two"]
    write(tmp_path / "c.docx", "x")
    with pytest.raises(ValueError, match=r"c\.docx' does not end as that of text \(\.txt\)"):
        read_documents(tmp_path)


def test_a_sequence_of_texts_is_taken_as_it_is():
    frame = pd.DataFrame({"text": ["one", "notes.txt"]}, index=[7, 9])
    assert (
        read_documents(frame.text)
        == read_documents(("one", "notes.txt"))
        == read_documents(iter(frame.text))
        == list(frame.text)
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", b"caf\xe9", "line 1 of .* is not UTF-8 text"),
        ("a.pdf", "x", "does not end as that of"),
        ("a.jsonl", '{"text": "x"}\n{"text"', "line 2 of .* is not readable JSON"),
        ("a.jsonl", '{"body": "x"}', "expected the field 'text', found 'body'"),
        ("a.jsonl", "[1]", "line 1 of .* is not a JSON object"),
        ("a.jsonl", '{"text": 3}', "line 1 of .*: text is 3, not text"),
        ("a.csv", "body,id\nx,1", "has the columns 'body', 'id' but needs 'text'"),
        ("a.csv", "", "is empty"),
        ("a.csv", "text\nShe came, saw, won", "line 2 of .*: expected 1 fields, found 3; put quotation marks"),
        ("a.csv", 'text\n"open', "begins in line 2 of .* a quotation mark too many or too few"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_in_one_line(tmp_path, name, content, says):
    with pytest.raises(ValueError, match=says) as error:
        read_documents(write(tmp_path / name, content))
    assert name in str(error.value) and "\n" not in str(error.value)


def test_damaged_gzip_and_an_empty_folder_are_named(tmp_path):
    whole = gzip.compress(b"he is here\n" * 99)
    for number, damaged in enumerate((whole[:-9], b"\x1f\x8bno gzip", whole[:20] + b"\0\0\0" + whole[23:])):
        (tmp_path / f"{number}.txt.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{number}\.txt\.gz' is damaged gzip"):
            read_documents(tmp_path / f"{number}.txt.gz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no file in the folder"):
        read_documents(tmp_path / "empty")


@pytest.mark.parametrize("sample", [name for name in io.SAMPLES if name.startswith("queer")])
def test_samples_are_many_different_sentences_about_many_identities(sample):
    texts = read_documents(sample)
    assert len(set(texts)) == len(texts) > 90
    assert 150 <= sum(text.count(end) for text in texts for end in (". ", "? ", "! ")) + len(texts) <= 220
    words = " ".join(texts).lower().replace(".", " ").replace(",", " ").split()
    identities = ["lesbian", "gay", "bisexual", "transgender", "nonbinary", "queer", "asexual", "pansexual", "lgbtq"]
    assert {*identities, "she", "he", "they"} <= set(words)


def test_mistakes_on_the_command_line_are_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments, says in [
        ("train demo", "required: TEXT, --out"),
        ("train demo queer_news_sample", "required: --out"),
        ("train demo none.txt --out x --device cpu", "no file 'none.txt'"),
        ("train demo queer_news_sample --out x --device cpu --epochs two", "invalid int value"),
        ("train demo queer_news_sample --out x --device cpu --block-size 600", "over the limit of 'demo', 512 tokens"),
        ("train demo queer_news_sample --out x --device cpu --head old", "unknown head 'old'; use one of keep, new"),
        ("train ./nowhere queer_news_sample --out x", "no folder './nowhere'"),
    ]:
        assert main(arguments.split()) == 2
        output, errors = capsys.readouterr()
        assert output == "" and errors.startswith("biaslib: ") and errors.count("\n") == 1 and says in errors
    assert not list(tmp_path.iterdir())
    assert main(["train", "--help"]) == 0
    assert "accelerate launch --num_processes 4 -m biaslib train" in " ".join(capsys.readouterr().out.split())


def test_each_process_has_its_own_device(monkeypatch):
    monkeypatch.setattr(scoring, "resolve_device", lambda: "cuda")
    assert (training.own_device(), training.own_device("cpu")) == ("cuda", "cpu")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert training.own_device() == "cuda:1"
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert training.own_device() == "cpu"


def test_a_result_whose_weights_were_changed_is_not_taken_for_the_trained_one(tiny, tmp_path):
    lm = tiny("bert_cased")
    out = quick(lm, tmp_path / "out")
    weights = out / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    with pytest.raises(ValueError, match="not those trained there; remove that folder"):
        quick(lm, out)
