import pandas as pd

from biaslib import plots


def test_contrast_bars_go_both_ways_in_the_colour_of_their_sentiment():
    frame = pd.DataFrame({"word": ["sad", "##ip", "kind"], "log_ratio": [2.0, 1.0, -3.0]})
    figure = plots.contrast_bars(frame.assign(sentiment=["negative", "", "positive"]), "pig")
    axes = figure.axes[0]
    bars = {bar.get_y() + bar.get_height() / 2: bar for bars in axes.containers for bar in bars}
    assert [bars[place].get_width() for place in sorted(bars)] == [-3.0, 1.0, 2.0]
    assert [t.get_text().strip() for t in axes.texts] == ["kind", "##ip", "sad"]
    assert [t.get_ha() for t in axes.texts] == ["left", "right", "right"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["negative", "positive", "without sentiment"]
    assert bars[2].get_hatch() == plots.SENTIMENT_STYLES["negative"].hatch
    figure.draw_without_rendering()
