import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import plain
import pytest

from biaslib import runs
from biaslib.published import STATUSES, claims
from biaslib.results import SCORE_COLUMNS, read_scores
from biaslib.templates import read_templates

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "speciesism.ipynb"


@pytest.fixture(scope="module")
def run(demo_run):
    return demo_run("speciesism")


def read(run, table):
    return pd.read_csv(run.results / f"{table}.csv", keep_default_na=False, na_values=[""])


def test_every_score_has_its_columns_n_and_test_or_interval(run):
    scores = read_scores(run.results)
    assert tuple(scores.columns) == SCORE_COLUMNS
    assert set(scores.measure) == {"adjusted_rand", "group_cohesion", "sentiment_shift"}
    assert (scores.n > 0).all() and scores.data_fingerprint.str.fullmatch("[0-9a-f]{16}").all()
    # A group of one name has no pair to compare, and so no score.
    tested = scores[(scores.measure != "group_cohesion") | (scores.group != "human")]
    assert tested.value.notna().all() and tested.p_value.between(0, 1).all()
    shifts = scores[scores.measure == "sentiment_shift"]
    assert ((shifts.ci_low <= shifts.value) & (shifts.value <= shifts.ci_high)).all()


def test_top_words_are_those_of_the_plain_definition(run, demo):
    """Eq. 1 written out in float64, one sentence at a time."""
    model = plain.double(demo)
    templates = read_templates("speciesism")
    size = demo.vocabulary_size
    for name in ("pig", "human"):
        means = {}
        for condition, rows in templates.groupby("condition"):
            total = np.zeros(size)
            for template in rows.template:
                ids = demo.tokenizer(template.replace("{name}", name))["input_ids"]
                place = ids.index(demo.tokenizer.mask_token_id)
                total += plain.logits(model, ids).logits[0, place].softmax(-1).numpy()
            means[condition] = total / len(rows)
        ratio = np.log(means["object"] / means["human"])
        z = (ratio - ratio.mean()) / ratio.std()
        kept = (np.maximum(means["object"], means["human"]) >= 1 / size) & (np.abs(z) >= 2)
        order = np.argsort(np.where(kept, -ratio, np.inf))[:5]
        expected = demo.tokenizer.convert_ids_to_tokens(order.tolist())
        top = read(run, "top_words").query("name == @name and sentences == 'object'")
        assert top.word.tolist() == expected
        np.testing.assert_allclose(top.log_ratio, ratio[order], rtol=1e-4)
        counts = read(run, "kept").set_index("name").loc[name]
        assert (counts.n_object, counts.n_human) == ((kept & (ratio > 0)).sum(), (kept & (ratio < 0)).sum())


def test_every_claim_is_marked(run):
    marked = read(run, "claims")
    assert marked.claim.tolist() == claims("speciesism").claim.tolist()
    assert set(marked.status) <= set(STATUSES) and marked.evidence.str.len().gt(0).all()
    assert marked.status[6] == "seen"  # VADER's own scores depend on no model


def test_the_report_says_what_it_is_and_stays_small(run):
    page = run.html.read_text(encoding="utf-8")
    assert len(page) < 5_000_000
    assert "For trying out, not for findings" in page and "Content note" in page
    assert page.count("<math") >= 4 and "without a description" not in page
    manifest = json.loads(run.manifest.read_text())
    assert manifest["models"][0]["name"] == "demo" and manifest["seed"] == 0
    assert manifest["models"][0]["dtype"] == "float32" and len(manifest["data"]) == 1


def test_plain_papermill_runs_it_from_any_folder(tmp_path):
    command = [sys.executable, "-m", "papermill", str(NOTEBOOK), "out.ipynb"]
    command += ["-f", str(ROOT / "params" / "speciesism" / "demo.yaml")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scores = read_scores(tmp_path / "outputs/speciesism/adhoc/results")
    assert tuple(scores.columns) == SCORE_COLUMNS and len(scores)


def test_other_tokenizers_and_several_models(tiny_folder, tmp_path):
    names = tmp_path / "names.csv"
    names.write_text("name,group\ndog,pet\ncat,pet\nhorse,farm\nrabbit,farm\n")
    models = [str(tiny_folder("roberta")), str(tiny_folder("xlm_roberta"))]
    given = {"models": models, "names_file": str(names), "min_z": 1.0, "min_z_curve": [1.0], "n_clusters": 2}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert run.ok, run.error
    scores = read_scores(run.results)
    assert set(scores.model) == set(models)
    top = read(run, "top_words")
    assert set(top.name) == {"dog", "cat", "horse", "rabbit"} and not top.word.str.contains("[Ġ▁]").any()


def test_a_name_that_cannot_be_scored_is_counted_in_every_score(tiny_folder, tmp_path):
    names = tmp_path / "names.csv"
    names.write_text(f"name,group\ndog,pet\ncat,pet\nhorse,farm\nrabbit,farm\n{'dog ' * 80}x,farm\n")
    given = {"models": [str(tiny_folder("bert_cased"))], "names_file": str(names), "min_z": 1.0, "min_z_curve": [1.0]}
    run = runs.run(NOTEBOOK, params=given | {"n_clusters": 2}, out=tmp_path)
    assert run.ok, run.error
    scores = read_scores(run.results)
    left_out = scores.groupby("measure")["n_left_out"].min()
    assert left_out["adjusted_rand"] == left_out["group_cohesion"] == 1 and left_out["sentiment_shift"] >= 1
    assert read(run, "kept").reason.str.startswith("too long").sum() == 1


def test_a_model_of_the_study_is_set_beside_the_published_words(tiny_folder, tmp_path):
    """A folder that is called like one of the study's models stands for it."""
    folder = tmp_path / "bert-large-cased"
    folder.symlink_to(tiny_folder("bert_cased"), target_is_directory=True)
    run = runs.run(NOTEBOOK, params={"models": [str(folder)]}, out=tmp_path)
    assert run.ok, run.error
    agreement = read(run, "published_top_words")
    assert len(agreement) == 2 * 46 and agreement.n_published.eq(5).all()
    assert "all four models" in read(run, "claims").evidence[0]


def test_names_from_a_real_file(real_data, tmp_path):
    """Winogender's occupations in the same sentences, grouped by who works in them."""
    occupations = pd.read_csv(real_data / "winogender" / "occupations-stats.tsv", sep="\t").head(20)
    group = np.where(occupations["bls_pct_female"] > 50, "mostly women", "mostly men")
    names = tmp_path / "occupations.csv"
    pd.DataFrame({"name": occupations["occupation"], "group": group}).to_csv(names, index=False)
    given = {"names_file": str(names), "n_clusters": 2, "article": "agree"}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert run.ok, run.error
    assert set(read(run, "cohesion").group) == {"mostly women", "mostly men"}
    assert read(run, "claims").status[3] == "not testable here"
