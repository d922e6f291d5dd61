import numpy as np
import pandas as pd

from biaslib import plots

STRIP = pd.DataFrame(
    {
        "sentence": ["first"] * 10 + ["second"] * 2,
        "text": [f"w{n}" for n in range(10)] + ["$x$", "y"],
        "shared": [True] * 9 + [False] + [True] * 2,
        "pll_part": [-float(n) for n in range(12)],
        "aul_part": [-0.001 * n for n in range(12)],
        "aula_part": np.nan,
    }
)


def test_strips_have_a_cell_for_each_token_and_measure_with_its_number(texts):
    measures = {"pll_part": "PLL", "aul_part": "AUL", "aula_part": "AULA"}
    figure = plots.token_strips(STRIP, measures, {"first": "one", "second": "two"})
    axes = figure.axes[0]
    shown = texts(figure)
    cells = [p for p in axes.patches if p.get_fill()]
    assert len(cells) == 3 * 12
    assert [text for text in shown if text in ("one", "two")] == ["one", "two"]
    # A line of at most eight tokens each time; the AUL of the last token is −.011.
    assert shown.count("PLL") == shown.count("AUL ×10⁻²") == 3
    assert shown.count("−11.00") == shown.count("−1.10") == 1 and shown.count("–") == 12
    assert len([p for p in axes.patches if not p.get_fill()]) == 1
    assert [t.get_text() for t in axes.texts if t.get_weight() == "bold"] == ["w9"]


def test_the_darkest_cell_is_the_lowest_and_its_number_is_legible():
    figure = plots.token_strips(STRIP.head(5), {"pll_part": "PLL"}, {"first": "one"})
    cells = [p for p in figure.axes[0].patches if p.get_fill()]
    brightness = [sum(cell.get_facecolor()[:3]) for cell in cells]
    assert brightness == sorted(brightness, reverse=True) and brightness[-1] < 0.6
    numbers = [t for t in figure.axes[0].texts if t.get_text().startswith(("−", "0"))]
    assert (numbers[-1].get_color(), numbers[1].get_color()) == ("white", "black")
