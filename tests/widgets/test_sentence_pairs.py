import numpy as np
from explorers import put

from biaslib import scoring
from biaslib.widgets import PairExplorer


def test_a_pair_adds_up_to_its_scores(demo):
    sentences = ["The poor man was seen.", "The poor woman was seen there."]
    explorer = PairExplorer(demo, *sentences)
    sums = explorer.to_frame().groupby("sentence")[["pll_part", "aul_part", "aula_part"]].sum()
    likelihood = scoring.all_unmasked_likelihood(demo, sentences)
    np.testing.assert_allclose(sums["pll_part"], scoring.pseudo_log_likelihood(demo, sentences)["pll"], rtol=1e-6)
    np.testing.assert_allclose(sums["aul_part"], likelihood["aul"], rtol=1e-6)
    np.testing.assert_allclose(sums["aula_part"], likelihood["aula"], rtol=1e-6)
    frame = explorer.to_frame()
    shared = scoring.shared_pseudo_log_likelihood(demo, sentences[:1], sentences[1:])
    of_shared = frame[frame["shared"]].groupby("sentence")["pll_part"].sum()
    np.testing.assert_allclose(of_shared, shared[["pll_first", "pll_second"]].to_numpy()[0], rtol=1e-6)
    assert frame.loc[~frame["shared"], "text"].tolist() == ["man", "woman", "there"]
    assert f"over the {shared['n_shared'].item()} shared tokens" in explorer.message
    put(explorer, measure="aul_part")
    assert explorer.to_figure().findobj(lambda a: getattr(a, "get_text", str)() == "PLL") == []


def test_one_sentence_alone_has_its_strip(demo):
    explorer = PairExplorer(demo, "He is a nurse.", "")
    assert explorer.to_frame()["sentence"].unique().tolist() == ["first"] and explorer.to_frame()["shared"].all()
    assert explorer.message == ""
