"""Time what an explorer takes to answer, computation, figure and table, on the embedded model and decades.

Run ``python benchmarks/explorer_speed.py``. Each time is from the change of a value to the new picture's being there to
be sent; a browser beside it needs some milliseconds more.
"""

import time

from biaslib.io import by_condition, read_names, read_templates
from biaslib.metrics import contrast
from biaslib.scoring import load_masked_lm
from biaslib.widgets import ContrastExplorer, PairExplorer, TopWordsExplorer, TrendExplorer


def milliseconds(explorer, name: str, values) -> str:
    """Set a control to each value in turn; give the median and the longest time, without the first."""
    times = []
    for value in values:
        start = time.perf_counter()
        explorer.controls[name].value = value
        times.append(1000 * (time.perf_counter() - start))
    times = sorted(times[1:])
    return f"{times[len(times) // 2]:.0f} ms, at most {times[-1]:.0f} ms"


def main() -> None:
    """Print the times."""
    lm = load_masked_lm("demo", device="cpu")
    names = read_names("animals")["name"].tolist()
    top_words = TopWordsExplorer(lm, slots={"name": "person"})
    print(f"a slot of two sentences: {milliseconds(top_words, '{name}', names)}")
    print(f"the same again, from memory: {milliseconds(top_words, '{name}', names)}")
    kinds = by_condition(read_templates("speciesism"), ["object", "human"])
    words = ContrastExplorer(contrast(lm, names, kinds["object"], kinds["human"], min_z=1.5))
    print(f"the name of a contrast: {milliseconds(words, 'name', names[1:])}")
    trends = TrendExplorer("novels")
    trends.controls["contrast"].value = "two words"
    pairs = ["man", "woman", "king", "house", "money", "church", "war"]
    print(f"a word over ten decades: {milliseconds(trends, 'x', pairs)}")
    pair = PairExplorer(lm, "He is a nurse.", "She is a nurse.")
    print(f"a sentence token by token: {milliseconds(pair, 'first', [f'The {n} is here.' for n in names[:10]])}")


if __name__ == "__main__":
    main()
