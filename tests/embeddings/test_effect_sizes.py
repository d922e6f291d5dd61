import math

import numpy as np
import pandas as pd
import pytest
from tiny_vectors import HAND, HAND_SETS, random_vectors

from biaslib.embeddings import run_contrasts, weat
from biaslib.io import SETS


def interval(vectors, sets, **options):
    """Give the interval of one contrast."""
    rows = [("c", "", "", name, name, word) for name, words in zip(SETS, sets, strict=True) for word in words]
    contrasts = pd.DataFrame(rows, columns=["contrast", "category", "subcategory", "set", "set_name", "word"])
    return tuple(run_contrasts(vectors, contrasts, case="as_is", **options).loc[0, ["ci_low", "ci_high"]])


def slow_interval(vectors, sets, association, n=4000):
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(n):
        x, y, a, b = (np.array([vectors[w] for w in rng.choice(words, len(words))], dtype=float) for words in sets)
        targets = np.concatenate([x, y])
        targets /= np.linalg.norm(targets, axis=1, keepdims=True)
        if association == "centroid":
            toward = [targets @ c.mean(axis=0) / np.linalg.norm(c.mean(axis=0)) for c in (a, b)]
        else:
            toward = [(targets @ (c / np.linalg.norm(c, axis=1, keepdims=True)).T).mean(axis=1) for c in (a, b)]
        s = toward[0] - toward[1]
        drawn.append((s[: len(x)].mean() - s[len(x) :].mean()) / s.std(ddof=1))
    return np.quantile(drawn, [0.025, 0.975])


@pytest.mark.parametrize("association", ["mean_cosine", "centroid"])
def test_interval_agrees_with_a_slow_bootstrap(association):
    vectors, sets = random_vectors((6, 5, 4, 3), seed=8)
    low, high = interval(vectors, sets, association=association)
    assert (low, high) == pytest.approx(slow_interval(vectors, sets, association), abs=0.08)
    assert -2 <= low < weat(vectors, *sets, association=association).effect_size < high <= 2


def test_interval_repeats_with_its_seed():
    vectors, sets = random_vectors((6, 5, 4, 3), seed=8)
    first, again, other = (interval(vectors, sets, n_resamples=500, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.filterwarnings("ignore:X and Y have one word each")
def test_intervals_that_say_nothing():
    assert all(map(math.isnan, interval(HAND, (["x1"], ["y1"], ["a1"], ["b1"]))))
    assert all(map(math.isnan, interval(HAND, (["p", "q"], *HAND_SETS[1:]))))
    with pytest.raises(ValueError, match="confidence must be a finite number above 0 and below 1, not 95"):
        interval(HAND, HAND_SETS, confidence=95)
    with pytest.raises(ValueError, match="n_resamples must be a whole number of at least 1, not 0"):
        interval(HAND, HAND_SETS, n_resamples=0)
