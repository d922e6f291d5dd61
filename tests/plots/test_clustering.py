import numpy as np
import pandas as pd
import pytest

from biaslib import plots
from biaslib.metrics import cluster, token_match_rate
from biaslib.plots import clustering

SETS = {"pig": set("abc"), "cow": set("abd"), "dog": set("xyz"), "human": set("pq")}
GROUPS = {"pig": "farm", "cow": "farm", "dog": "companion", "human": "human"}


def heat_map(groups=GROUPS):
    rates = token_match_rate(SETS)
    return plots.tmr_heatmap_with_dendrogram(rates, cluster(rates, n_clusters=2), groups, "Title")


def test_heat_map_shows_rates_in_tree_order():
    figure = heat_map()
    rates = token_match_rate(SETS)
    order = list(cluster(rates).order)
    heat = figure.axes[1]
    assert heat.images[0].get_array().tolist() == rates.loc[order, order].to_numpy().tolist()
    assert [t.get_text().split()[1] for t in heat.get_yticklabels()] == order
    assert [t.get_text() for t in heat.get_xticklabels()] == order


def test_tree_leaves_stand_beside_their_rows():
    tree = heat_map().axes[0]
    lowest = [y for line in tree.collections for path in line.get_segments() for x, y in path if x == 0]
    assert sorted(set(lowest)) == [5, 15, 25, 35]
    assert tree.get_ylim() == (40, 0)


def test_labels_have_the_colour_and_symbol_of_their_group():
    figure = heat_map()
    for tick in figure.axes[1].get_yticklabels():
        symbol, name = tick.get_text().split()
        assert tick.get_color() == plots.GROUP_STYLES[GROUPS[name]].colour
        assert symbol == {"farm": "■", "companion": "●", "human": "★"}[GROUPS[name]]
    legend = figure.legends[0]
    assert [t.get_text() for t in legend.get_texts()] == ["farm", "companion", "human"]
    assert legend.legend_handles[0].get_color() == plots.GROUP_STYLES["farm"].colour


def test_every_marker_has_a_symbol():
    styles = plots.group_styles(["farm", "companion", "other", "human", *(f"g{i}" for i in range(10))])
    assert len({clustering._SYMBOLS[style.marker] for style in styles.values()}) == 14


def test_heat_map_refuses():
    with pytest.raises(ValueError, match="no group for human"):
        heat_map({name: group for name, group in GROUPS.items() if name != "human"})
    rates = token_match_rate(SETS)
    with pytest.raises(ValueError, match="different names"):
        plots.tmr_heatmap_with_dendrogram(rates, cluster(rates.iloc[:3, :3], n_clusters=1), GROUPS, "x")


AGREEMENT = pd.DataFrame(
    {
        "model": ["a", "a", "b"],
        "min_z": [2.0, 1.0, 1.0],
        "statistic": [0.5, 0.1, 0.3],
        "p_value": [0.01, 0.2, np.nan],
    }
)


def test_agreement_fills_markers_below_alpha(texts):
    figure = plots.cluster_agreement_by_min_z(AGREEMENT)
    dots = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])): line.get_markerfacecolor()
        for line in figure.axes[0].lines
        if len(line.get_xdata()) == 1
    }
    assert dots == {(2.0, 0.5): "black", (1.0, 0.1): "white", (1.0, 0.3): "white"}
    assert {"a", "b", "p < 0.05"} <= set(texts(figure))


def test_agreement_of_one_unnamed_model():
    figure = plots.cluster_agreement_by_min_z(AGREEMENT.loc[:1, ["min_z", "statistic"]])
    line = figure.axes[0].lines[1]
    assert line.get_xdata().tolist() == [1, 2]
    assert not figure.legends
