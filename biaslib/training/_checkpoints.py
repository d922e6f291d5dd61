"""Checkpoints that a training continues from, and its losses as they are written down."""

import copy
import hashlib
import json
import math
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biaslib.training.held_out import losses_of_blocks, perplexity, read_training

TRAINING_COLUMNS = ("step", "epoch", "split", "loss", "perplexity", "n_tokens")
_BEGUN, _COMPLETE = "begun.json", "complete.json"


class Checkpoint(NamedTuple):
    """A complete checkpoint of the Trainer, and what was recorded with it."""

    folder: Path
    record: dict


class Recorder:
    """Writes losses down, vouches for checkpoints and tells which epoch it is, as the Trainer goes along."""

    def __init__(self, lm, test, epochs, arguments, checkpoint, progress):
        known = checkpoint.record if checkpoint else {"step": -1, "seconds": 0.0, "loss_sum": 0.0, "n_tokens": 0}
        self.lm, self.test, self.epochs, self.arguments, self.progress = lm, test, epochs, arguments, progress
        self.work, self.is_first = Path(arguments.output_dir), arguments.process_index == 0
        self.rows = _rows_until(self.work, known["step"])
        self.seconds_before, self.started = known["seconds"], time.monotonic()
        # A checkpoint knows the sums over all processes: the first one goes on from them.
        self.loss_sum, self.n_tokens = (known[key] * self.is_first for key in ("loss_sum", "n_tokens"))

    def seconds(self):
        """Time spent on what counts: not on steps that were lost when the process was ended."""
        return self.seconds_before + time.monotonic() - self.started

    def add(self, loss_sum, n_tokens):
        """Take down a step of this process; give the number of tokens hidden in the step over all."""
        if not math.isfinite(loss_sum):
            raise ValueError("the loss is not a finite number any more: train with a smaller learning_rate")
        self.loss_sum += loss_sum
        self.n_tokens += n_tokens
        return self._over_all(n_tokens)[0]

    def on_train_begin(self, args, state, control, **kwargs):
        from tqdm import tqdm

        shown = self.progress and self.is_first
        self.bar = tqdm(
            total=state.max_steps, initial=state.global_step, desc=self.lm.name, unit="step", disable=not shown
        )
        if not self.rows:
            self._ask_held_out(0, 0)

    def on_epoch_begin(self, args, state, control, train_dataloader, **kwargs):
        self.epochs.epoch = state.global_step // len(train_dataloader)

    def on_step_end(self, args, state, control, train_dataloader, **kwargs):
        self.bar.update()
        epoch, rest = divmod(state.global_step, len(train_dataloader))
        if rest == 0:
            loss_sum, n_tokens = self._over_all(self.loss_sum, self.n_tokens)
            self._write_down(state.global_step, epoch, "train", loss_sum, n_tokens)
            self.loss_sum, self.n_tokens = 0.0, 0
            self._ask_held_out(state.global_step, epoch)

    def on_save(self, args, state, control, **kwargs):
        """Mark the checkpoint as complete, then delete the one before it."""
        loss_sum, n_tokens = self._over_all(self.loss_sum, self.n_tokens)
        wait_for_all()
        if not self.is_first:
            return
        folder = self.work / f"checkpoint-{state.global_step}"
        files = {file.name: file.stat().st_size for file in folder.iterdir()}
        record = {"step": state.global_step, "seconds": self.seconds(), "loss_sum": loss_sum, "n_tokens": n_tokens}
        _write(folder / _COMPLETE, _json({**record, "files": files}))
        for other in _checkpoint_folders(self.work):
            if other != folder:
                shutil.rmtree(other)

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()

    def _ask_held_out(self, step, epoch):
        share = range(self.arguments.process_index, len(self.test), self.arguments.world_size)
        losses, _ = losses_of_blocks(self.lm, self.test, self.epochs.masking, share)
        loss_sum, n_tokens = self._over_all(losses.sum(), len(losses))
        self._write_down(step, epoch, "held_out", loss_sum, n_tokens)

    def _write_down(self, step, epoch, split, loss_sum, n_tokens):
        loss = loss_sum / n_tokens if n_tokens else math.nan
        self.rows.append((step, epoch, split, loss, perplexity(loss), int(n_tokens)))
        self.bar.set_postfix({split: f"{loss:.3f}"})
        if self.is_first:
            frame = pd.DataFrame(self.rows, columns=TRAINING_COLUMNS)
            _write(self.work / "training.csv", frame.to_csv(index=False, lineterminator="\n"))

    def _over_all(self, *values):
        """Add up what each process has."""
        import torch

        if self.arguments.world_size == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64, device=self.arguments.device)
        torch.distributed.all_reduce(summed)
        return summed.tolist()


def _rows_until(work, step):
    """Read the losses written down up to a step: later ones will come again."""
    if step < 0:
        return []
    frame = read_training(work)
    return list(frame[frame.step <= step].itertuples(index=False, name=None))


def is_done(out, work, begun, resume):
    """Whether `out` holds the result of the same training; refuse what is in the way."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    if not (out / "training.json").is_file():
        raise FileExistsError(f"{str(out)!r} exists and is no result of a continued training: choose another out")
    if not resume or (work / _BEGUN).is_file():
        return False
    manifest = json.loads((out / "training.json").read_text(encoding="utf-8"))
    was = {
        **manifest["settings"],
        "model": manifest["base"]["fingerprint"],
        "texts": manifest["texts"]["fingerprint"],
        "processes": manifest["processes"],
    }
    _refuse_changes(was, begun, out)
    if manifest["weights"] != _weights_of(out):
        raise ValueError(f"the weights in {str(out)!r} are not those trained there: remove that folder to train anew")
    return True


def _weights_of(folder):
    """Give the SHA-256 of each file of weights."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.safetensors"))}


def _refuse_changes(was, now, place):
    for name, value in now.items():
        if was.get(name) != value:
            raise ValueError(
                f"{name} was {was.get(name)!r} when the training in {str(place)!r} was begun, and is {value!r} now: "
                "give the same, choose another out, or start anew (resume=False)"
            )


def begin(work, begun, arguments, resume):
    """Make the folder to work in ready; give the checkpoint to go on from, if any, and when and how often begun."""
    place = work / _BEGUN
    known = json.loads(place.read_text(encoding="utf-8")) if resume and place.is_file() else None
    if known:
        _refuse_changes(known["begun"], begun, work)
    start = known["start"] if known else {"started": datetime.now(UTC).isoformat(), "restarts": -1}
    start["restarts"] += 1
    wait_for_all()
    if arguments.process_index == 0:
        if not known:
            shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        _write(place, _json({"begun": begun, "start": start}))
        for folder in _checkpoint_folders(work):
            if _complete(folder) is None:
                shutil.rmtree(folder)
    wait_for_all()
    found = [checkpoint for folder in _checkpoint_folders(work) if (checkpoint := _complete(folder))]
    return max(found, key=lambda checkpoint: checkpoint.record["step"], default=None), start


def _checkpoint_folders(work):
    return sorted(work.glob("checkpoint-*"))


def _complete(folder):
    """Give a checkpoint whose files are all there in full size, else None: a process may end while it writes one."""
    mark = folder / _COMPLETE
    if not mark.is_file():
        return None
    record = json.loads(mark.read_text(encoding="utf-8"))
    whole = all(
        (folder / name).is_file() and (folder / name).stat().st_size == size for name, size in record["files"].items()
    )
    return Checkpoint(folder, record) if whole else None


def finish(model, lm, work, out, manifest):
    """Write the result within the folder of work, then move it into place at once."""
    fresh = work / "result"
    shutil.rmtree(fresh, ignore_errors=True)
    # The Trainer changes settings of the model that have nothing to do with its weights.
    model.config = copy.deepcopy(lm.model.config)
    model.eval().save_pretrained(fresh)
    lm.tokenizer.save_pretrained(fresh)
    shutil.copyfile(work / "training.csv", fresh / "training.csv")
    _write(fresh / "training.json", _json({**manifest, "weights": _weights_of(fresh)}))
    if out.exists():
        os.rename(out, work / f"replaced-{time.time_ns()}")
    os.rename(fresh, out)
    shutil.rmtree(work)


def _json(content):
    return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"


def _write(path, text):
    """Write beside, then move: a process that ends leaves no half file."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8", newline="")
    os.replace(beside, path)


def wait_for_all():
    from accelerate import PartialState

    PartialState().wait_for_everyone()
