import numpy as np
import pandas as pd
import pytest

from biaslib import plots

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


def test_mbe_has_a_line_at_fifty_and_intervals(texts):
    figure = plots.preference_scores(MBE, "MBE", by="language", label="MBE")
    lines = [line.get_xdata() for line in figure.axes[0].lines]
    assert [50, 50] in [list(x) for x in lines] and [51.0, 53.0] in [list(x) for x in lines]
    assert {"German", "Japanese", "no value", "a", "b", "published"} <= set(texts(figure))
    alone = plots.preference_scores(MBE[:1].drop(columns=["model", "published"]), "MBE", by="language", label="MBE")
    assert not alone.legends
    by_corpus = plots.preference_scores(MBE[:2].assign(corpus=["ted", "news"]), "MBE", by="corpus", label="MBE")
    assert {"ted", "news"} <= set(texts(by_corpus))
    with pytest.raises(ValueError, match="ci_low"):
        plots.preference_scores(MBE.drop(columns="ci_low"), "MBE", by="language", label="MBE")
