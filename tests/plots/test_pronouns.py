import numpy as np
import pandas as pd
import pytest

from biaslib import plots, report

EFFECTS = pd.DataFrame(
    {
        "category": ["stem", "art_design"] * 2,
        "model": ["a", "a", "b", "b"],
        "a": [0.9, 0.3, 0.5, np.nan],
        "a_low": [0.8, 0.2, np.nan, np.nan],
        "a_high": [0.95, 0.4, np.nan, np.nan],
    }
)


def test_confidence_effects_have_their_place_interval_and_bands():
    axes = plots.confidence_effects(EFFECTS, "Title").axes[0]
    lines = [(line.get_xdata(), line.get_ydata(), line.get_marker()) for line in axes.lines]
    points = [(x, y) for xs, ys, marker in lines if marker in "os" for x, y in zip(xs, ys, strict=True)]
    dots = sorted((float(x), float(y)) for x, y in points if not np.isnan(x))
    # Model a stands above model b in each category.
    assert dots == [(0.3, pytest.approx(0.8)), (0.5, pytest.approx(0.2)), (0.9, pytest.approx(-0.2))]
    intervals = sorted(list(x) for x, y, marker in lines if marker == "None" and 0 < x[0] < x[1] < 1)
    assert intervals == [[0.2, 0.4], [0.8, 0.95]]
    upright = {round(float(x[0]), 2) for x, _, _ in lines if len(x) == 2 and x[0] == x[1]}
    assert upright == {0.29, 0.36, 0.5, 0.64, 0.71}
    assert axes.patches[0].get_x() == pytest.approx(0.44) and axes.patches[0].get_width() == pytest.approx(0.12)
    assert [t.get_text() for t in axes.get_yticklabels()] == ["stem", "art design"]


def test_confidence_effects_say_what_has_no_value(texts):
    figure = plots.confidence_effects(EFFECTS, "Title")
    assert texts(figure).count("no value") == 1
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a", "b"]
    assert not plots.confidence_effects(EFFECTS.drop(columns="model"), "Title").legends


CONFIDENCES = pd.DataFrame(
    {"category": ["stem", "stem", "fashion"], "male": [0.2, 0.4, np.nan], "female": [0.1, 0.3, 0.5]}
)


def test_confidences_have_a_dot_a_prompt_on_either_side():
    figure = plots.confidences_by_category(CONFIDENCES, "Title")
    axes = figure.axes[0]
    for gender, values in (("male", [0.2, 0.4]), ("female", [0.1, 0.3])):
        look = plots.GENDER_STYLES[gender]
        dots = [line for line in axes.lines if (line.get_marker(), line.get_color()) == (look.marker, look.colour)]
        assert [y for line in dots for y in line.get_ydata()] == values
        assert all((x < 0) == (gender == "male") for line in dots for x in line.get_xdata())
    assert [t.get_text() for t in axes.get_xticklabels()] == ["stem\nn = 2", "fashion\nn = 0"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["male", "female"]


def test_confidences_by_model_have_a_panel_each():
    frame = pd.concat([CONFIDENCES.assign(model="a"), CONFIDENCES.assign(model="b")])
    figure = plots.confidences_by_category(frame, "Title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]
    assert report.show(figure, "x").data == report.show(plots.confidences_by_category(frame, "Title"), "x").data
