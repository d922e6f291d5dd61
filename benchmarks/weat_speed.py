"""Time association tests: exact and sampled permutations, and all contrasts on four sets of vectors.

Run ``python benchmarks/weat_speed.py``. The exact test is set beside a Python loop that sums the associations of each
partition anew, as published scripts do.
"""

import itertools
import time

import numpy as np

from biaslib.embeddings import associations, run_contrasts, weat
from biaslib.io import load_vectors, read_contrasts


def seconds(call, rounds: int = 3) -> float:
    """Return the least time of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def loop_over_partitions(vectors, x, y, a, b) -> float:
    """Compute the exact p value partition by partition."""
    found = associations(vectors, [*x, *y], a, b).set_index("word").association.to_dict()
    words = [*x, *y]
    observed = sum(found[word] for word in x) - sum(found[word] for word in y)
    larger = count = 0
    for chosen in itertools.combinations(words, len(x)):
        rest = [word for word in words if word not in chosen]
        value = sum(found[word] for word in chosen) - sum(found[word] for word in rest)
        larger += value >= observed - 1e-12 * abs(observed)
        count += 1
    return larger / count


def main() -> None:
    """Print the times."""
    glove = load_vectors("demo")
    contrasts = read_contrasts("categorical")
    career = contrasts[contrasts.contrast == "career-family-man-woman"].groupby("set")["word"].agg(list)
    sets = (career.X, career.Y, career.A, career.B)
    ours, loop = seconds(lambda: weat(glove, *sets)), seconds(lambda: loop_over_partitions(glove, *sets), 1)
    print(f"8 + 8 words, 12,870 partitions, exact: {ours:.3f} s, {loop / ours:.0f} x faster than a loop over them")
    rng = np.random.default_rng(0)
    words = [str(word) for word in rng.choice(glove.index_to_key[1000:20_000], 100, replace=False)]
    quarter = [words[n : n + 25] for n in range(0, 100, 25)]
    print(f"25 + 25 words, 100,000 samples: {seconds(lambda: weat(glove, *quarter)):.3f} s")
    time_of_all = seconds(lambda: [run_contrasts(glove, contrasts) for _ in range(4)], 1)
    print(f"{contrasts.contrast.nunique()} contrasts on four sets of vectors, with intervals: {time_of_all:.1f} s")


if __name__ == "__main__":
    main()
