import pytest

from biaslib import plots


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
