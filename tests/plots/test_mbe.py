import numpy as np
import pandas as pd

from biaslib import plots


def test_similarity_curve_begins_with_all_pairs(texts):
    frame = pd.DataFrame(
        {"min_similarity": [np.nan, 0.0, 0.5], "score": [52.0, 53.0, np.nan], "share_of_pairs": [1.0, 0.8, 0.0]}
    )
    figure = plots.similarity_curves(frame, "Curve")
    score = figure.axes[0].lines[1]
    assert score.get_xdata().tolist() == [0, 1, 2] and score.get_ydata().tolist()[:2] == [52, 53]
    assert [t.get_text() for t in figure.axes[1].get_xticklabels()] == ["all", "0", "0.5"]
    two = plots.similarity_curves(pd.concat([frame.assign(model="a"), frame.assign(model="b")]), "Curve")
    assert {"a", "b"} <= set(texts(two))
