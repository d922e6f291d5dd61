import numpy as np
from matplotlib.lines import Line2D

from biaslib import plots
from biaslib.plots import style


def relative_luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_a_group_keeps_its_style_whatever_the_others():
    alone = plots.group_styles(["human"])
    assert alone["human"] == plots.group_styles(["zebra", "human", "farm"])["human"]
    own = plots.group_styles(["b", "a", "farm"])
    assert own == plots.group_styles(["a", "farm", "b"])
    assert len({*own.values()}) == 3
    many = plots.group_styles([f"g{i:02}" for i in range(12)])
    assert len(set(many.values())) == 12


def test_group_colours_are_readable_on_white():
    colours = {own.colour for own in plots.GROUP_STYLES.values()}
    for colour in colours:
        assert 1.05 / (relative_luminance(colour) + 0.05) >= 3
    assert len({own.marker for own in plots.GROUP_STYLES.values()}) == len(plots.GROUP_STYLES)
    assert not colours & {own.colour for own in plots.SENTIMENT_STYLES.values()}


def test_gender_colours_are_readable_on_white():
    for own in plots.GENDER_STYLES.values():
        assert 1.05 / (relative_luminance(own.colour) + 0.05) >= 3
    assert len({own.marker for own in plots.GENDER_STYLES.values()}) == 2
    assert len({own.hatch for own in plots.GENDER_STYLES.values()}) == 2


def test_many_lines_are_told_apart():
    assert len({(look.colour, look.marker) for look in map(style.look, range(36))}) == 36


def test_a_legend_takes_as_many_columns_as_fit():
    figure = style.new_figure(6.4, 3)
    style.legend_below(figure, [Line2D([], []) for _ in range(4)], ["_a", "b", "c" * 60, "d"])
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [text.replace("\n", "") for text in shown] == ["_a", "b", "c" * 60, "d"]
    assert style._fitting_columns(["a"] * 9, 6.4) == 5
    assert style._fitting_columns(["a" * 44] * 9, 6.4) == 1
