import pandas as pd

from biaslib import plots


def test_pairs_are_stacked_by_unit(texts):
    pairs = pd.DataFrame({"model": ["a", "a", "b"], "unit": ["verb", "adverb", "verb"], "n_pairs": [3, 2, 4]})
    figure = plots.pairs_by_unit(pairs, "Title")
    axes = figure.axes[0]
    bars = {bars.get_label(): [(bar.get_x(), bar.get_width()) for bar in bars] for bars in axes.containers}
    assert bars == {"verb": [(0, 3), (0, 4)], "adverb": [(3, 2), (4, 0)]}
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    # The parts, without the empty one, and the sums.
    assert {"3", "2", "4", " 5", " 4"} <= set(texts(figure)) and "0" not in [t.get_text() for t in axes.texts]


def test_no_pair_at_all_is_drawn(texts):
    figure = plots.pairs_by_unit(pd.DataFrame({"unit": ["verb"], "n_pairs": [0]}), "Title")
    assert " 0" in texts(figure)
