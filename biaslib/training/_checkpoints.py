"""The folder that a training works in: its checkpoints, and the result that is moved into place when complete."""

import copy
import hashlib
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from biaslib._files import read_json, write_json

_BEGUN, _COMPLETE = "begun.json", "complete.json"


class Checkpoint(NamedTuple):
    """A complete checkpoint of the Trainer, and what was recorded with it."""

    folder: Path
    record: dict


def work_folder(out):
    return out.with_name(f".{out.name}.training")


def is_done(out, work, begun, resume):
    """Whether `out` holds the result of the same training; refuse anything else that is there."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    if not (out / "training.json").is_file():
        raise FileExistsError(f"{str(out)!r} exists and is not the result of a continued training; choose another out")
    if not resume or (work / _BEGUN).is_file():
        return False
    manifest = read_json(out / "training.json")
    was = {
        **manifest["settings"],
        "model": manifest["base"]["fingerprint"],
        "texts": manifest["texts"]["fingerprint"],
        "processes": manifest["processes"],
    }
    _refuse_changes(was, begun, out)
    if manifest["weights"] != _weight_hashes(out):
        raise ValueError(f"the weights in {str(out)!r} are not those trained there; remove that folder to retrain")
    return True


def begin(work, begun, arguments, resume):
    """Prepare the work folder; return the checkpoint to resume from, if any, and when and how often it was started."""
    place = work / _BEGUN
    known = read_json(place) if resume and place.is_file() else None
    if known:
        _refuse_changes(known["begun"], begun, work)
    start = known["start"] if known else {"started": datetime.now(UTC).isoformat(), "restarts": -1}
    start["restarts"] += 1
    wait_for_all()
    if arguments.process_index == 0:
        if not known:
            shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        write_json(place, {"begun": begun, "start": start}, default=str)
        for folder in _checkpoint_folders(work):
            if _complete(folder) is None:
                shutil.rmtree(folder)
    wait_for_all()
    found = [checkpoint for folder in _checkpoint_folders(work) if (checkpoint := _complete(folder))]
    return max(found, key=lambda checkpoint: checkpoint.record["step"], default=None), start


def mark_complete(work, step, record):
    """Mark the checkpoint of a step as complete, then delete earlier ones."""
    folder = work / f"checkpoint-{step}"
    files = {file.name: file.stat().st_size for file in folder.iterdir()}
    write_json(folder / _COMPLETE, {"step": step, **record, "files": files})
    for other in _checkpoint_folders(work):
        if other != folder:
            shutil.rmtree(other)


def finish(model, lm, work, out, manifest):
    """Write the result inside the work folder, then move it into place."""
    fresh = work / "result"
    shutil.rmtree(fresh, ignore_errors=True)
    # The Trainer changes settings of the model that have nothing to do with its weights.
    model.config = copy.deepcopy(lm.model.config)
    model.eval().save_pretrained(fresh)
    lm.tokenizer.save_pretrained(fresh)
    shutil.copyfile(work / "training.csv", fresh / "training.csv")
    write_json(fresh / "training.json", {**manifest, "weights": _weight_hashes(fresh)}, default=str)
    if out.exists():
        os.rename(out, work / f"replaced-{time.time_ns()}")
    os.rename(fresh, out)
    shutil.rmtree(work)


def wait_for_all():
    from accelerate import PartialState

    PartialState().wait_for_everyone()


def _refuse_changes(was, now, place):
    for name, value in now.items():
        if was.get(name) != value:
            raise ValueError(
                f"{name} was {was.get(name)!r} when the training in {str(place)!r} was started, and is {value!r} now; "
                "keep it, choose another out, or start over (resume=False)"
            )


def _weight_hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.safetensors"))}


def _checkpoint_folders(work):
    return sorted(work.glob("checkpoint-*"))


def _complete(folder):
    """Return a checkpoint if all its files have their full size: a process may be killed while it writes one."""
    mark = folder / _COMPLETE
    if not mark.is_file():
        return None
    record = read_json(mark)
    sizes = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
    return Checkpoint(folder, record) if record["files"].items() <= sizes.items() else None
