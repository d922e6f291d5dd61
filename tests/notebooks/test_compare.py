"""The comparison over two real demo runs and runs written by hand."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from biaslib.cli import main
from biaslib.report import read_scores, write_results
from biaslib.studies import score_row

ROOT = Path(__file__).parents[2]
MARKUP = "<b onclick=alert(1)>$x_1$ | [a](b)"
BERT = "google-bert/bert-base-uncased"


@pytest.fixture(scope="module")
def outputs(demo_run, tmp_path_factory):
    """Two demo runs, one by hand on other prompts, one adhoc and one that is broken."""
    out = tmp_path_factory.mktemp("outputs")
    for notebook in ("unmasked", "mbe"):
        shutil.copytree(demo_run(notebook).folder, out / notebook / "demo")
    given = {"paper": "unmasked", "measure": "vargha_delaney_a", "variant": "in_place", "n": 9, "value": 0.5}
    rows = [score_row(**given, model=m, group="stem", data_fingerprint="other") for m in (MARKUP, BERT)]
    write_results(out / "unmasked" / "a #1" / "results", scores=rows, tables={})
    models = [{"name": MARKUP, "fingerprint": "f", "device": "cpu", "dtype": "float16"}]
    manifest = {"ok": True, "notebook": "notebooks/unmasked.ipynb", "models": models, "versions": {"biaslib": "0.0.9"}}
    manifest["parameters"] = {"prompt_file": "job_prompts"}
    (out / "unmasked" / "a #1" / "run.json").write_text(json.dumps(manifest))
    (out / "unmasked" / "a #1" / "report.html").write_text("<p>by hand</p>")
    write_results(out / "weat" / "adhoc" / "results", scores=[], tables={})
    (out / "mbe" / "broken" / "results").mkdir(parents=True)
    (out / "mbe" / "broken" / "results" / "scores.csv").write_text("no,scores\n")
    assert main(["compare", str(out)]) == 0
    return out


def read(outputs, table):
    path = outputs / "compare" / "all" / "results" / f"{table}.csv"
    return pd.read_csv(path, keep_default_na=False, na_values={"value": [""], "published": [""]})


def test_every_score_of_every_run_is_in_the_table(outputs):
    scores = read(outputs, "all_scores")
    assert scores.groupby("run").size().to_dict() == {"mbe/demo": 1, "unmasked/a #1": 2, "unmasked/demo": 14}
    for notebook in ("mbe", "unmasked"):
        kept = scores[scores["run"] == f"{notebook}/demo"]
        assert kept["value"].tolist() == read_scores(outputs / notebook / "demo" / "results")["value"].tolist()
    runs = read(outputs, "runs").set_index("run")
    assert (
        "data_fingerprint, found: no, scores" in runs.loc["mbe/broken", "reason"] and not runs.loc["mbe/broken", "used"]
    )
    assert runs.loc["weat/adhoc", ["manifest", "n_scores"]].tolist() == ["none", 0]


def test_what_is_not_comparable_is_said_and_has_no_difference(outputs):
    warnings = read(outputs, "warnings")
    assert {"other data", "other version", "other precision", "no run.json"} <= set(warnings["kind"])
    assert "unmasked/a #1" in warnings.set_index("kind").loc["other version", "runs"]
    pairs = read(outputs, "differences")
    assert pairs[["model_1", "model_2", "difference"]].values.tolist() == [[MARKUP, BERT, 0.0]]


def test_published_values_stand_beside(outputs):
    beside = read(outputs, "published")
    assert beside[["model", "published"]].values.tolist() == [[BERT, 1.0]]


def test_the_report_links_to_each_report_and_shows_markup_as_text(outputs):
    page = outputs / "compare" / "all" / "report.html"
    text = page.read_text(encoding="utf-8")
    for link in (
        "../../unmasked/demo/report.html",
        "../../mbe/demo/report.html",
        "../../unmasked/a%20%231/report.html",
    ):
        assert f'href="{link}"' in text
        assert (page.parent / link.replace("%20", " ").replace("%23", "#")).resolve().is_file()
    assert "<b onclick" not in text and "Content note" in text and "For trying out" in text
    assert len(text) < 5_000_000 and "without a description" not in text


def test_a_comparison_is_not_a_run_of_the_next_one(outputs):
    before = read(outputs, "runs")["run"].tolist()
    assert len(read_scores(outputs / "compare" / "all" / "results")) == 0
    assert main(["compare", str(outputs)]) == 0
    assert read(outputs, "runs")["run"].tolist() == before
