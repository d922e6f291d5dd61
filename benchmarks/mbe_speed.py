"""Time the MBE score and what goes before it, and measure the memory that each needs beside its input.

Run ``python benchmarks/mbe_speed.py``. Sentences are random, 20,000 a gender in 768 dimensions; each case runs in a
process of its own. The score is set beside one that forms the matrix of all pairs at once, as published code does.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from biaslib.io import read_gender_words, read_parallel
from biaslib.metrics import label_gender, mbe_interval, mbe_score, mcnemar_random, similarity_curve

SENTENCES, DIMENSIONS = 20_000, 768


def random_sentences(n: int = SENTENCES) -> tuple:
    """Make scores and vectors of both genders, whose cosines lie around .5."""
    rng = np.random.default_rng(0)
    centre = rng.normal(size=DIMENSIONS).astype(np.float32)
    scores = [rng.normal(size=n) for _ in range(2)]
    return (*scores, *(rng.normal(size=(n, DIMENSIONS)).astype(np.float32) + centre for _ in range(2)))


def all_pairs_at_once(male_scores, female_scores, male_vectors, female_vectors):
    """Score as published code does: a matrix of weights, one of preferences, and their product."""
    weights = female_vectors @ male_vectors.T
    weights /= np.linalg.norm(female_vectors, axis=1)[:, None] * np.linalg.norm(male_vectors, axis=1)
    preferred = male_scores[None, :] > female_scores[:, None]
    return 100 * (preferred * weights).sum() / weights.sum()


def real_or_embedded_pairs():
    """Give 10,000 pairs: real ones where BIASLIB_DATA has them, else the embedded ones over and over."""
    folder = Path(os.environ.get("BIASLIB_DATA", "")) / "parallel_en_de"
    if os.environ.get("BIASLIB_DATA") and folder.is_dir():
        return read_parallel(folder)
    frame = read_parallel("parallel_en_de")
    return frame.iloc[np.arange(10_000) % len(frame)].reset_index(drop=True)


def label(frame):
    """Say which pairs are to be taken."""
    words = read_gender_words().groupby("gender")["word"].agg(list)
    return label_gender(frame["english"], frame["target"], male_words=words.male, female_words=words.female)


def read_million(folder):
    """Read two line-aligned files of a million lines."""
    return read_parallel(Path(folder.name) / "pairs.en", Path(folder.name) / "pairs.de")


def write_million():
    """Write two line-aligned files of a million lines, which go with the folder."""
    folder = tempfile.TemporaryDirectory()
    for language in ("en", "de"):
        lines = "".join(f"{n} and so on, in {language}, for as long as a sentence is.\n" for n in range(1_000_000))
        (Path(folder.name) / f"pairs.{language}").write_text(lines, encoding="utf-8")
    return (folder,)


CASES = {
    "10,000 pairs searched for gender": (lambda: (real_or_embedded_pairs(),), label),
    "1,000,000 pairs read": (write_million, read_million),
    "score": (random_sentences, mbe_score),
    "score, pairs of a cosine of .5 or more": (random_sentences, lambda *sides: mbe_score(*sides, min_similarity=0.5)),
    "score, all pairs at once": (random_sentences, all_pairs_at_once),
    "curve over 7 thresholds": (random_sentences, similarity_curve),
    "interval, 200 draws": (random_sentences, lambda *sides: mbe_interval(*sides, n_resamples=200)),
    "interval, 200 draws, cosines of .5 or more": (
        random_sentences,
        lambda *sides: mbe_interval(*sides, n_resamples=200, min_similarity=0.5),
    ),
    "McNemar's test over sentences": (random_sentences, lambda *sides: mcnemar_random(*sides, unit="sentence")),
}


def memory(field: str) -> float:
    """Return a figure of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1000
    raise KeyError(field)


def measure(name: str) -> tuple[float, float]:
    """Run a case; return its seconds and the memory that it took beyond its input."""
    prepare, call = CASES[name]
    given = prepare()
    mbe_score([0.0, 1.0], [0.0, 1.0], np.eye(2), np.eye(2))
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before = memory("VmRSS")
    start = time.perf_counter()
    call(*given)
    return time.perf_counter() - start, memory("VmHWM") - before


def main() -> None:
    """Print the table, or one case's figures when called with --case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES)
    chosen = parser.parse_args()
    if chosen.case:
        seconds, megabytes = measure(chosen.case)
        print(f"{seconds:.2f} {megabytes:.0f}")
        return
    print(f"{SENTENCES:,} + {SENTENCES:,} sentences, {DIMENSIONS} dimensions, {os.cpu_count()} cores")
    for name in CASES:
        done = subprocess.run([sys.executable, __file__, "--case", name], capture_output=True, text=True, check=True)
        seconds, megabytes = done.stdout.split()
        print(f"{name:46} {float(seconds):7.2f} s {int(megabytes):6,} MB above its input")


if __name__ == "__main__":
    main()
