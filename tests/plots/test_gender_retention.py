import numpy as np
import pandas as pd

from biaslib import plots, report

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


def test_retention_bars_have_one_bar_a_gender(texts):
    figure = plots.retention_bars(pd.concat([RETENTION, RETENTION.assign(gender="all")]), "Kept")
    assert [bar.get_width() for bar in figure.axes[0].patches] == [0.8, 0.6, 0.5, 0.7, 0, 0.4]
    assert {"male sentences", "female sentences", " n = 1,000", "Russian (он / она)"} <= set(texts(figure))
    plain = plots.retention_bars(RETENTION.drop(columns="label"), "Kept")
    assert "Russian" in texts(plain)


def test_no_figure_has_a_box_for_a_letter(recwarn, texts):
    """Whatever fonts are here, a text is drawn by one that has it, or left out."""
    figure = plots.retention_bars(RETENTION, "Kept")
    report.show(figure, "Shares")
    assert not [w for w in recwarn if "missing from" in str(w.message)]
    shown = next(text for text in texts(figure) if text.startswith("Japanese"))
    assert shown == ("Japanese (彼 / 彼女)" if plots.text_font("彼女", "ja") else "Japanese")
