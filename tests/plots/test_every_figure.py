"""What every figure does: it refuses odd frames, and draws on a user's own axes where one pair is enough."""

import inspect

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from biaslib import plots

NUMBERS = {"ci_low": [0.1, np.nan], "ci_high": [0.9, np.nan], "model": "$a_1$"}
FIGURES = {
    plots.effect_sizes: {"x": ["$x$", "b"], "y": "y", "a": "a", "b": "b", "effect_size": [0.5, np.nan]},
    plots.trends: {"decade": [1900, 1910], "words": "common", "effect_size": [0.5, np.nan]},
    plots.decade_lines: {"vectors": "$v$", "decade": [1900, 1910], "value": [0.5, np.nan]},
    plots.cluster_agreement_by_min_z: {"min_z": [1.0, 2.0], "statistic": [0.5, 0.4]},
    plots.confidence_effects: {"category": ["stem", "art"], "a": [0.5, np.nan], "a_low": np.nan, "a_high": np.nan},
    plots.pairs_by_unit: {"unit": ["verb", "adverb"], "n_pairs": [3, 2]},
    plots.preference_scores: {"kind": ["$a$", "b"], "score": [52.0, np.nan]},
    plots.retention_bars: {"language": "de", "gender": ["male", "female"], "n": 9, "share": [0.5, np.nan]},
    plots.contrast_bars: {"word": ["$w$", "x"], "log_ratio": [2.0, -1.0], "sentiment": ["negative", ""]},
    plots.token_strips: {"sentence": "first", "text": ["$w$", "x"], "shared": [True, False], "pll": [-1.0, -2.0]},
    plots.sentiment_shares_plot: {
        "name": "pig",
        "sentences": "object",
        "sentiment": ["negative", "neutral"],
        "n": 1,
        "share": 0.5,
        "n_left_out": 0,
    },
    plots.confidences_by_category: {"category": "stem", "male": [0.2, 0.4], "female": [0.1, 0.3]},
    plots.object_bias_bars: {"name": ["pig", "cow"], "n_human": 1, "n_object": 2, "bias": [0.5, np.nan]},
    plots.pronoun_shares: {
        "name": ["pig", "cow"],
        **dict.fromkeys(("that", "which", "who", "whose", "whom"), 1),
        "n": 5,
        "share_object": 0.4,
    },
    plots.similarity_curves: {"min_similarity": [np.nan, 0.5], "score": [52.0, 53.0], "share_of_pairs": [1.0, 0.5]},
    plots.top_word_bars: {"word": ["$w$", "x"], "p_first": [0.5, 0.1], "p_second": 0.1, "log_ratio": [1.6, np.nan]},
    plots.forest: {"panel": "F1", "group": "all", "label": ["$a$", "_b"], "value": [0.5, np.nan], "n": 9},
}
MORE = {
    plots.decade_lines: ("title", "label"),
    plots.top_word_bars: ("first",),
    plots.token_strips: ({"pll": "PLL"}, {"first": "$x$"}),
    plots.object_bias_bars: ({"pig": "farm", "cow": "farm"},),
}
OPTIONS = {plots.preference_scores: {"by": "kind", "label": "score"}}
EVERY_FIGURE = pytest.mark.parametrize("function", FIGURES, ids=lambda function: function.__name__)


def frame_for(function):
    return pd.DataFrame(FIGURES[function] | NUMBERS)


def draw(function, frame, **more):
    return function(frame, *MORE.get(function, ()), **OPTIONS.get(function, {}), **more)


def test_every_figure_of_the_layer_is_here():
    drawn = {getattr(plots, name) for name in plots.__all__ if inspect.isfunction(getattr(plots, name))}
    others = {plots.figure_style, plots.group_styles, plots.missing_fonts, plots.text_font}
    assert drawn - others == set(FIGURES) | {plots.tmr_heatmap_with_dendrogram}


@EVERY_FIGURE
def test_frames_without_their_columns_or_rows_are_refused(function):
    with pytest.raises(ValueError, match="must have the column"):
        draw(function, pd.DataFrame({"gender": ["male"], "x_1": [1]}))
    with pytest.raises(ValueError, match="no rows"):
        draw(function, frame_for(function).iloc[:0])


@EVERY_FIGURE
def test_names_are_drawn_as_they_are_typed(function):
    figure = draw(function, frame_for(function))
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    shown = figure.findobj(lambda artist: hasattr(artist, "get_parse_math") and "$" in artist.get_text())
    assert not any(text.get_parse_math() for text in shown)


@pytest.mark.parametrize("function", [f for f in FIGURES if "ax" in inspect.signature(f).parameters])
def test_one_pair_of_axes_may_be_the_user_s_own(function):
    with matplotlib.rc_context({"font.size": 30}):
        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert draw(function, frame_for(function), ax=right) is figure
        assert matplotlib.rcParams["font.size"] == 30
    assert right.has_data() or right.texts
    assert not left.has_data() and not left.texts and not figure.legends
    figure.draw_without_rendering()


def test_figures_of_one_panel_take_axes():
    alone = {f for f in FIGURES if len(draw(f, frame_for(f)).axes) == 1 and "ax" not in inspect.signature(f).parameters}
    one_per_model = {plots.sentiment_shares_plot, plots.confidences_by_category, plots.object_bias_bars}
    assert alone == one_per_model | {plots.pronoun_shares, plots.top_word_bars, plots.forest}
