"""Work on shards for tests, in a module that other processes can import."""

import os
import signal
import sys
from pathlib import Path

import pandas as pd

from biaslib import compute

MANY = [("square", number) for number in range(30)]
ITEMS = MANY[:6]


def squares(item, *, power=2):
    """A frame with text, whole numbers, floats and categories, of as many rows."""
    _, number = item
    rows = range(number)
    names = pd.Categorical([("pig", "hen")[row % 2] for row in rows], categories=["pig", "hen", "cow"])
    frame = pd.DataFrame({"text": [f"{number}·{row}" for row in rows], "name": names})
    frame["power"] = [(number / 3) ** power + row for row in rows]
    frame["n"] = list(rows)
    frame.attrs["n_seen"] = number + 1
    return frame


def squares_that_kill_once(item, *, folder):
    """Kill the worker that is the first to compute shard 3."""
    mark = Path(folder, "killed")
    if item[1] == 3 and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(item)


def kill_at(boundary):
    """Kill this process at a write boundary: with a file half written, whole but not in place, or just moved."""
    passed = 0
    fsync, replace = os.fsync, os.replace

    def reached():
        nonlocal passed
        passed += 1
        return passed == boundary

    def half_written(descriptor):
        if reached():
            os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)
        if reached():
            os.kill(os.getpid(), signal.SIGKILL)

    def just_moved(*paths):
        replace(*paths)
        if reached():
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync, os.replace = half_written, just_moved


def run_and_be_killed(out, boundary, n_items):
    """Compute shards in a process of its own that is killed at a write boundary; give its state at the end."""
    process = os.fork()
    if not process:
        kill_at(boundary)
        compute.run_shards(MANY[:n_items], squares, out=out, identity={"power": 2})
        os._exit(0)
    return os.waitpid(process, 0)[1]


if __name__ == "__main__":
    # Forks are cheap, and safe in a process that has done nothing else: FOLDER BOUNDARY N_ITEMS, and so on.
    given = sys.argv[1:]
    for out, boundary, n_items in zip(given[::3], given[1::3], given[2::3], strict=True):
        print(run_and_be_killed(out, int(boundary), int(n_items)))
