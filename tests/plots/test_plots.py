import json
import re
import struct
import zlib

import numpy as np
import pandas as pd
import pytest

from biaslib import plots, report
from biaslib.metrics import cluster, sentiment_shares, token_match_rate
from biaslib.plots import clusters

SETS = {"pig": set("abc"), "cow": set("abd"), "dog": set("xyz"), "human": set("pq")}
GROUPS = {"pig": "farm", "cow": "farm", "dog": "companion", "human": "human"}
WORDS = pd.DataFrame(
    {
        "name": ["pig", "pig", "dog"],
        "word": ["killed", "##x", "happy"],
        "log_ratio": [2.0, 1.0, -1.0],
        "kept": True,
    }
)


def heat_map(groups=GROUPS):
    rates = token_match_rate(SETS)
    return plots.tmr_heatmap_with_dendrogram(rates, cluster(rates, n_clusters=2), groups, "Title")


def texts(figure):
    figure.draw_without_rendering()
    return [t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text"))]


def relative_luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


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
        assert tick.get_color() == plots.GROUP_COLOURS[GROUPS[name]]
        assert symbol == {"farm": "■", "companion": "●", "human": "★"}[GROUPS[name]]
    legend = figure.legends[0]
    assert [t.get_text() for t in legend.get_texts()] == ["farm", "companion", "human"]
    assert legend.legend_handles[0].get_color() == plots.GROUP_COLOURS["farm"]


def test_a_group_keeps_its_style_whatever_the_others():
    alone = plots.group_styles(["human"])
    assert alone["human"] == plots.group_styles(["zebra", "human", "farm"])["human"]
    own = plots.group_styles(["b", "a", "farm"])
    assert own == plots.group_styles(["a", "farm", "b"])
    assert len({*own.values()}) == 3
    many = plots.group_styles([f"g{i:02}" for i in range(12)])
    assert len(set(many.values())) == 12


def test_every_marker_has_a_symbol():
    styles = plots.group_styles(["farm", "companion", "other", "human", *(f"g{i}" for i in range(10))])
    assert len({clusters._SYMBOLS[marker] for _, marker in styles.values()}) == 14


def test_group_colours_are_readable_on_white():
    for colour in plots.GROUP_COLOURS.values():
        assert 1.05 / (relative_luminance(colour) + 0.05) >= 3
    assert len(set(plots.GROUP_MARKERS.values())) == len(plots.GROUP_COLOURS)
    assert not set(plots.GROUP_COLOURS.values()) & set(plots.SENTIMENT_COLOURS.values())


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


def test_agreement_fills_markers_below_alpha():
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


def test_sentiment_bars_end_to_end_and_say_what_is_left_out():
    shares = sentiment_shares(WORDS, GROUPS)
    figure = plots.sentiment_shares_plot(shares)
    axes = figure.axes[0]
    bars = {(bar.get_label(), i): patch.get_width() for bar in axes.containers for i, patch in enumerate(bar)}
    assert bars[("negative", 0)] == 1 and bars[("positive", 3)] == 1
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "farm, as a thing",
        "farm, as a person",
        "companion, as a thing",
        "companion, as a person",
    ]
    assert " n = 1 (1 left out)" in texts(figure)
    assert {bar.patches[0].get_hatch() for bar in axes.containers} == {"//", "", ".."}


def test_sentiment_panels_by_model():
    shares = sentiment_shares(WORDS)
    figure = plots.sentiment_shares_plot(pd.concat([shares.assign(model="a"), shares.assign(model="b")]))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]


@pytest.mark.parametrize("function", [plots.cluster_agreement_by_min_z, plots.sentiment_shares_plot])
def test_frames_without_their_columns_are_refused(function):
    with pytest.raises(ValueError, match="lacks the column"):
        function(pd.DataFrame({"x": [1]}))


def test_empty_frames_are_refused():
    with pytest.raises(ValueError, match="no row"):
        plots.cluster_agreement_by_min_z(AGREEMENT.iloc[:0])


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
    dots = sorted((float(x[0]), float(y[0])) for x, y, marker in lines if marker in "os" and len(x) == 1)
    # Model a stands above model b in each category.
    assert dots == [(0.3, pytest.approx(0.8)), (0.5, pytest.approx(0.2)), (0.9, pytest.approx(-0.2))]
    intervals = sorted(list(x) for x, y, marker in lines if marker == "None" and 0 < x[0] < x[1] < 1)
    assert intervals == [[0.2, 0.4], [0.8, 0.95]]
    upright = {round(float(x[0]), 2) for x, _, _ in lines if len(x) == 2 and x[0] == x[1]}
    assert upright == {0.29, 0.36, 0.5, 0.64, 0.71}
    assert axes.patches[0].get_x() == pytest.approx(0.44) and axes.patches[0].get_width() == pytest.approx(0.12)
    assert [t.get_text() for t in axes.get_yticklabels()] == ["stem", "art design"]


def test_confidence_effects_say_what_has_no_value():
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
        colour, marker = plots.GENDER_STYLES[gender]
        dots = [line for line in axes.lines if line.get_marker() == marker and line.get_color() == colour]
        assert [y for line in dots for y in line.get_ydata()] == values
        assert all((x < 0) == (gender == "male") for line in dots for x in line.get_xdata())
    assert [t.get_text() for t in axes.get_xticklabels()] == ["stem\nn = 2", "fashion\nn = 0"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["male", "female"]


def test_confidences_by_model_have_a_panel_each():
    frame = pd.concat([CONFIDENCES.assign(model="a"), CONFIDENCES.assign(model="b")])
    figure = plots.confidences_by_category(frame, "Title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]
    assert report.show(figure, "x").data == report.show(plots.confidences_by_category(frame, "Title"), "x").data


def test_pairs_are_stacked_by_unit():
    pairs = pd.DataFrame({"model": ["a", "a", "b"], "unit": ["verb", "adverb", "verb"], "n_pairs": [3, 2, 4]})
    figure = plots.pairs_by_unit(pairs, "Title")
    axes = figure.axes[0]
    bars = {bars.get_label(): [(bar.get_x(), bar.get_width()) for bar in bars] for bars in axes.containers}
    assert bars == {"verb": [(0, 3), (0, 4)], "adverb": [(3, 2), (4, 0)]}
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    # The parts, without the empty one, and the sums.
    assert {"3", "2", "4", " 5", " 4"} <= set(texts(figure)) and "0" not in [t.get_text() for t in axes.texts]


def test_no_pair_at_all_is_drawn():
    figure = plots.pairs_by_unit(pd.DataFrame({"unit": ["verb"], "n_pairs": [0]}), "Title")
    assert " 0" in texts(figure)


def test_gender_colours_are_readable_on_white():
    for colour, _ in plots.GENDER_STYLES.values():
        assert 1.05 / (relative_luminance(colour) + 0.05) >= 3
    assert len({marker for _, marker in plots.GENDER_STYLES.values()}) == 2


@pytest.mark.parametrize(
    ("function", "frame"),
    [
        (plots.confidence_effects, EFFECTS),
        (plots.confidences_by_category, CONFIDENCES),
        (plots.pairs_by_unit, pd.DataFrame({"unit": ["verb"], "n_pairs": [1]})),
    ],
)
def test_titled_figures_refuse_odd_frames(function, frame):
    with pytest.raises(ValueError, match="lacks the column"):
        function(frame[frame.columns[:1]], "Title")
    with pytest.raises(ValueError, match="no row"):
        function(frame.iloc[:0], "Title")


def png_texts(data):
    place, found = 8, {}
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + size]
        if kind in (b"tEXt", b"iTXt"):
            key, _, text = body.partition(b"\0")
            found[key.decode()] = text.lstrip(b"\0").decode("utf-8", "replace")
        if kind == b"IDAT":
            assert zlib.crc32(kind + body) == struct.unpack(">I", data[place + 8 + size : place + 12 + size])[0]
        place += 12 + size
    return found


def test_show_gives_a_png_with_its_alt_text():
    image = report.show(heat_map(), "Two farm animals share words.")
    assert image.data.startswith(b"\x89PNG")
    assert png_texts(image.data)["Description"] == "Two farm animals share words."
    data, metadata = image._repr_png_()
    assert data and metadata["alt"] == "Two farm animals share words."
    assert report.show(heat_map(), "Two farm animals share words.").data == image.data


def test_show_closes_a_figure_of_pyplot():
    from matplotlib import pyplot

    figure = pyplot.figure()
    report.show(figure, "Nothing.")
    assert not pyplot.fignum_exists(figure.number)


@pytest.mark.parametrize("alt", ["", "  ", None])
def test_show_needs_alt(alt):
    with pytest.raises(ValueError, match="alt is empty"):
        report.show(heat_map(), alt)


def test_the_user_s_style_is_neither_changed_nor_used():
    import matplotlib

    expected = report.show(heat_map(), "x").data
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        assert report.show(heat_map(), "x").data == expected
        assert dict(matplotlib.rcParams) == before


def rows_in(html):
    """The rows that an itables table holds, from its data in the page."""
    start = html.index('"data_json": "') + len('"data_json": ')
    text, _ = json.JSONDecoder().raw_decode(html[start:])
    return json.loads(text)


def test_table_holds_every_row():
    frame = pd.DataFrame({"word": [f"a rather long word number {i}" for i in range(5000)], "n": range(5000)})
    html = report.table(frame, "Many words").data
    assert len(rows_in(html)) == 5000
    assert "Many words" in html
    assert "downsampl" not in html.lower()
    assert not re.search(r"(?:src|href)=\"https?:|from ['\"]https?:", html)


def test_table_shows_tokens_as_text():
    html = report.table(pd.DataFrame({"token": ["<script>alert(1)</script>", "[MASK]", "##x"]}), "Tokens").data
    assert "<script>alert(1)" not in html


def test_table_needs_a_caption():
    with pytest.raises(ValueError, match="caption is empty"):
        report.table(pd.DataFrame({"x": [1]}), " ")


def test_use_tables_brings_its_script_along(monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda html: shown.append(html.data))
    report.use_tables()
    page = "".join(shown)
    assert len(page) > 200_000 and "window._itables" in page
    assert not re.search(r"(?:src|href)=\"https?:|from ['\"]https?:", page)
    assert "itables" not in pd.DataFrame({"x": [1]})._repr_html_()


MBE = pd.DataFrame(
    {
        "model": ["a", "a", "b"],
        "language": ["de", "ja", "de"],
        "score": [52.0, np.nan, 48.0],
        "ci_low": [51.0, np.nan, 46.5],
        "ci_high": [53.0, np.nan, 49.0],
        "published": [54.69, 54.52, 54.69],
    }
)


def test_mbe_has_a_line_at_fifty_and_intervals():
    figure = plots.preference_scores(MBE, "MBE", by="language", label="MBE")
    lines = [line.get_xdata() for line in figure.axes[0].lines]
    assert [50, 50] in [list(x) for x in lines] and [51.0, 53.0] in [list(x) for x in lines]
    assert {"German", "Japanese", " no value", "a", "b", "published"} <= set(texts(figure))
    alone = plots.preference_scores(MBE[:1].drop(columns=["model", "published"]), "MBE", by="language", label="MBE")
    assert not alone.legends
    by_corpus = plots.preference_scores(MBE[:2].assign(corpus=["ted", "news"]), "MBE", by="corpus", label="MBE")
    assert {"ted", "news"} <= set(texts(by_corpus))
    with pytest.raises(ValueError, match="ci_low"):
        plots.preference_scores(MBE.drop(columns="ci_low"), "MBE", by="language", label="MBE")


def test_similarity_curve_begins_with_all_pairs():
    frame = pd.DataFrame(
        {"min_similarity": [np.nan, 0.0, 0.5], "score": [52.0, 53.0, np.nan], "share_of_pairs": [1.0, 0.8, 0.0]}
    )
    figure = plots.similarity_curves(frame, "Curve")
    score = figure.axes[0].lines[1]
    assert score.get_xdata().tolist() == [0, 1, 2] and score.get_ydata().tolist()[:2] == [52, 53]
    assert [t.get_text() for t in figure.axes[1].get_xticklabels()] == ["all", "0", "0.5"]
    two = plots.similarity_curves(pd.concat([frame.assign(model="a"), frame.assign(model="b")]), "Curve")
    assert {"a", "b"} <= set(texts(two))


RETENTION = pd.DataFrame(
    {
        "language": ["ru", "ru", "ja", "ja", "ar", "ar"],
        "gender": ["male", "female"] * 3,
        "n": [1000, 9, 8, 7, 6, 5],
        "share": [0.8, 0.7, 0.6, np.nan, 0.5, 0.4],
        "ci_low": [0.75, 0.3, 0.2, np.nan, 0.2, 0.1],
        "ci_high": [0.85, 0.9, 0.8, np.nan, 0.8, 0.7],
        "label": ["он / она"] * 2 + ["彼 / 彼女"] * 2 + ["هو / هي"] * 2,
    }
)


def test_retention_bars_have_one_bar_a_gender():
    figure = plots.retention_bars(pd.concat([RETENTION, RETENTION.assign(gender="all")]), "Kept")
    assert [bar.get_width() for bar in figure.axes[0].patches] == [0.8, 0.6, 0.5, 0.7, 0, 0.4]
    assert {"male sentences", "female sentences", " n = 1,000", "Russian (он / она)"} <= set(texts(figure))
    plain = plots.retention_bars(RETENTION.drop(columns="label"), "Kept")
    assert "Russian" in texts(plain)


def test_no_figure_has_a_box_for_a_letter(recwarn):
    """Whatever fonts are here, a text is drawn by one that has it, or left out."""
    figure = plots.retention_bars(RETENTION, "Kept")
    report.show(figure, "Shares")
    assert not [w for w in recwarn if "missing from" in str(w.message)]
    shown = next(text for text in texts(figure) if text.startswith("Japanese"))
    assert shown == ("Japanese (彼 / 彼女)" if plots.text_font("彼女", "ja") else "Japanese")


@pytest.fixture
def without_script_fonts(monkeypatch):
    from matplotlib import font_manager

    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])


def test_text_without_a_font_is_known_and_the_package_named(without_script_fonts, monkeypatch):
    from matplotlib import ft2font

    assert plots.text_font("彼女", "ja") == plots.text_font("她", "zh") == []
    assert plots.text_font("Größe\u200b, она", "de") == ["DejaVu Sans"]
    said = plots.missing_fonts({"ja": "彼女", "zh": "她", "ru": "она"}).data
    assert "Japanese, Chinese" in said and "apt-get install fonts-noto-cjk`" in said and "Russian" not in said
    assert plots.missing_fonts({"ru": "она"}).data == ""
    # Without a layout engine, Arabic letters would stand apart and run the wrong way.
    monkeypatch.setattr(ft2font, "__libraqm_version__", "0.10.5", raising=False)
    assert plots.text_font("هو", "ar") == ["DejaVu Sans"]
    monkeypatch.delattr(ft2font, "__libraqm_version__")
    assert plots.text_font("هو", "ar") == []
    assert "fonts-noto-core" in plots.missing_fonts({"ar": "هو"}).data


def test_table_cells_run_in_their_own_direction():
    html = report.table(pd.DataFrame({"text": ["هو طبيب."], "n": [1]}), "Texts").data
    assert "cell.dir = 'auto'" in html


WORD_PAIRS = pd.DataFrame(
    {"word": ["good", "##x", "sad"], "p_first": [0.5, 0.2, np.nan], "p_second": [0.1, 0.1, 0.3]}
).assign(log_ratio=[np.log(5), np.log(2), np.nan])


def test_top_words_have_a_bar_for_each_sentence_and_their_ratio():
    figure = plots.top_word_bars(WORD_PAIRS, "It is [MASK].", "She is [MASK] for $5 and $6.")
    axes = figure.axes[0]
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    assert widths == [[0.5, 0.2, 0.0], [0.1, 0.1, 0.3]]
    shown = [text.get_text() for text in axes.texts]
    assert [word for word in shown if word in ("good", "##x", "sad")] == ["good", "##x", "sad"]
    assert [ratio for ratio in shown if ratio.startswith("+")] == ["+1.61", "+0.69"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first word is on top"
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["It is [MASK].", "She is [MASK] for $5 and $6."]
    assert len({bar.get_hatch() for bar in legend.legend_handles}) == 2
    figure.draw_without_rendering()


def test_top_words_of_one_sentence_and_of_several_models():
    alone = plots.top_word_bars(WORD_PAIRS.assign(p_second=np.nan, log_ratio=np.nan), "It is [MASK].")
    assert len(alone.axes[0].containers) == 1 and "log ratio" not in texts(alone)
    both = pd.concat([WORD_PAIRS.assign(model="one"), WORD_PAIRS.assign(model="$two$")])
    figure = plots.top_word_bars(both, "It is [MASK].", "She is [MASK].")
    assert [axes.get_title("left") for axes in figure.axes] == ["one", "$two$"]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    figure.draw_without_rendering()


def test_a_long_list_of_words_is_cut_and_long_words_are_shortened():
    many = pd.DataFrame({"word": ["w" * 80] * 99, "p_first": 0.1, "p_second": 0.2, "log_ratio": 1.0})
    figure = plots.top_word_bars(many, "x" * 400, "y")
    assert len(figure.axes[0].containers[0]) == plots.MOST_BARS
    assert all(len(text.get_text()) <= 24 for text in figure.axes[0].texts)
    assert figure.get_size_inches()[0] < 6


def test_contrast_bars_go_both_ways_in_the_colour_of_their_sentiment():
    frame = pd.DataFrame({"word": ["sad", "##ip", "kind"], "log_ratio": [2.0, 1.0, -3.0]})
    figure = plots.contrast_bars(frame.assign(sentiment=["negative", "", "positive"]), "pig")
    axes = figure.axes[0]
    bars = {bar.get_y() + bar.get_height() / 2: bar for bars in axes.containers for bar in bars}
    assert [bars[place].get_width() for place in sorted(bars)] == [-3.0, 1.0, 2.0]
    assert [t.get_text().strip() for t in axes.texts] == ["kind", "##ip", "sad"]
    assert [t.get_ha() for t in axes.texts] == ["left", "right", "right"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["negative", "positive", "without sentiment"]
    assert bars[2].get_hatch() == plots.SENTIMENT_HATCHES["negative"]
    figure.draw_without_rendering()


def test_decades_have_lines_intervals_crosses_and_undated_vectors():
    frame = pd.DataFrame(
        {
            "vectors": ["novels"] * 3 + ["news"] * 3 + ["glove"],
            "decade": pd.array([1850, 1860, 1870, 1850, 1860, 1870, pd.NA], dtype="Int64"),
            "value": [0.1, np.nan, 0.3, 0.4, 0.5, 0.6, 0.7],
        }
    )
    frame = frame.assign(ci_low=frame["value"] - 0.1, ci_high=frame["value"] + 0.1)
    figure = plots.decade_lines(frame, "war by peace", "effect size d")
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1850s", "1860s", "1870s", "glove"]
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert labels == ["novels", "novels: no value", "news", "glove"]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[1]]
    assert len({line.get_marker() for line in axes.lines if line.get_label() in ("novels", "news", "glove")}) == 3
    assert axes.get_ylabel() == "effect size d" and axes.get_title("left") == "war by peace"
    figure.draw_without_rendering()
    nothing = frame.assign(value=np.nan, ci_low=np.nan, ci_high=np.nan)
    plots.decade_lines(nothing, "x", "y").draw_without_rendering()


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


def test_strips_have_a_cell_for_each_token_and_measure_with_its_number():
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


@pytest.mark.parametrize(
    "draw",
    [
        lambda frame: plots.top_word_bars(frame, "x"),
        lambda frame: plots.contrast_bars(frame, "x"),
        lambda frame: plots.decade_lines(frame, "x", "y"),
        lambda frame: plots.token_strips(frame, {"pll_part": "PLL"}, {}),
    ],
)
def test_figures_of_explorers_refuse_odd_frames(draw):
    with pytest.raises(ValueError, match="lacks the column"):
        draw(pd.DataFrame({"x": [1]}))
    columns = [*WORD_PAIRS, "sentiment", "vectors", "decade", "value", "ci_low", "ci_high", *STRIP]
    with pytest.raises(ValueError, match="no row"):
        draw(pd.DataFrame(columns=columns))


BIAS = pd.DataFrame(
    {
        "name": ["pig", "cow", "dog", "human"],
        "n_human": [4, 0, 1, 6],
        "n_object": [3, 2, 5, 7],
        "bias": [0.5, np.nan, -0.2, 0.0],
        "ci_low": [0.1, np.nan, np.nan, -0.3],
        "ci_high": [0.9, np.nan, np.nan, 0.3],
    }
)


COUNTS = pd.DataFrame(
    {
        "name": ["dog", "pig", "cow"],
        "that": [1, 6, 0],
        "which": [0, 2, 0],
        "who": [2, 1, 0],
        "whose": [1, 0, 0],
        "whom": [0, 1, 0],
        "n": [4, 10, 0],
        "share_object": [0.25, 0.8, np.nan],
    }
)


def test_bias_bars_are_sorted_and_say_who_has_none():
    figure = plots.object_bias_bars(BIAS, GROUPS, "Title")
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["pig", "human", "dog"]
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.0, -0.2]
    assert [bar.get_y() + bar.get_height() / 2 for bar in axes.patches] == pytest.approx([0, 1, 2])
    intervals = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_color() == "black"]
    assert [list(interval) for interval in intervals if list(interval) != [0, 0]] == [[0.1, 0.9], [-0.3, 0.3]]
    assert axes.get_xlabel().endswith("no value (1): cow") and "hollow" in axes.get_xlabel()
    markers = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert [line.get_markerfacecolor() == "white" for line in markers] == [False, False, True]
    assert {" 4+3", " 6+7", " 1+5"} <= set(texts(figure))
    assert axes.get_yticklabels()[0].get_color() == plots.GROUP_COLOURS["farm"]
    figure = plots.object_bias_bars(pd.concat([BIAS.assign(model="a"), BIAS.assign(model="b")]), GROUPS, "Title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]


def test_pronoun_shares_are_stacked_to_one():
    figure = plots.pronoun_shares(COUNTS, "Title")
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["pig", "dog"]
    widths = np.array([[bar.get_width() for bar in bars] for bars in axes.containers])
    np.testing.assert_allclose(widths.T, [[0.6, 0.2, 0.1, 0, 0.1], [0.25, 0, 0.5, 0.25, 0]], atol=1e-12)
    assert [bars[0].get_x() for bars in axes.containers] == pytest.approx([0, 0.6, 0.8, 0.9, 0.9])
    assert {" 10", " 4"} <= set(texts(figure))
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["that", "which", "who", "whose", "whom"]
    figure = plots.pronoun_shares(pd.concat([COUNTS.assign(corpus="a"), COUNTS.assign(corpus="b")]), "Title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]


def test_figures_of_relatives_refuse_what_they_cannot_draw():
    with pytest.raises(ValueError, match="lacks the column"):
        plots.object_bias_bars(BIAS.drop(columns="bias"), GROUPS, "Title")
    with pytest.raises(ValueError, match="no row"):
        plots.object_bias_bars(BIAS.iloc[:0], GROUPS, "Title")
    with pytest.raises(ValueError, match="no group for cow"):
        plots.object_bias_bars(BIAS, {"pig": "farm", "dog": "companion", "human": "human"}, "Title")
    with pytest.raises(ValueError, match="no name has a relative pronoun"):
        plots.pronoun_shares(COUNTS.iloc[2:], "Title")
