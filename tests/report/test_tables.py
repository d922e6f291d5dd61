import json
import re
import struct
import zlib

import pandas as pd
import pytest

from biaslib import plots, report


def bars():
    words = pd.DataFrame({"word": ["killed", "happy"], "log_ratio": [2.0, -1.0], "sentiment": ["negative", "positive"]})
    return plots.contrast_bars(words, "pig")


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
    image = report.show(bars(), "Words of the pig.")
    assert image.data.startswith(b"\x89PNG")
    assert png_texts(image.data)["Description"] == "Words of the pig."
    data, metadata = image._repr_png_()
    assert data and metadata["alt"] == "Words of the pig."
    assert report.show(bars(), "Words of the pig.").data == image.data


def test_show_closes_a_figure_of_pyplot():
    from matplotlib import pyplot

    figure = pyplot.figure()
    report.show(figure, "Nothing.")
    assert not pyplot.fignum_exists(figure.number)


@pytest.mark.parametrize("alt", ["", "  ", None])
def test_show_needs_alt(alt):
    with pytest.raises(ValueError, match="alt is empty"):
        report.show(bars(), alt)


def test_the_user_s_style_is_neither_changed_nor_used():
    import matplotlib

    expected = report.show(bars(), "x").data
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        assert report.show(bars(), "x").data == expected
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


def test_table_cells_run_in_their_own_direction():
    html = report.table(pd.DataFrame({"text": ["هو طبيب."], "n": [1]}), "Texts").data
    assert "cell.dir = 'auto'" in html
