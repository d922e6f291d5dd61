import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import plain
import pytest

from biaslib import runs
from biaslib.metrics import mbe_score
from biaslib.report import read_scores
from biaslib.runs import prepare
from biaslib.scoring import all_unmasked_likelihood, sentence_vectors
from biaslib.studies import SCORE_COLUMNS, claims
from biaslib.studies._claims import STATUSES

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "mbe.ipynb"
FEW = {"n_resamples": 100}


@pytest.fixture(scope="module")
def run(demo_run):
    return demo_run("mbe")


def read(run, table):
    return pd.read_csv(run.results / f"{table}.csv", keep_default_na=False, na_values=[""])


@pytest.fixture
def real_pairs(real_data, tmp_path):
    """The first lines of the real text, compressed, as two files in a folder."""
    folder = tmp_path / "wmt"
    folder.mkdir()
    for code in ("en", "de"):
        lines = (real_data / "parallel_en_de" / f"train.{code}").read_bytes().splitlines(keepends=True)
        with gzip.open(folder / f"train.{code}.gz", "wb") as file:
            file.write(b"".join(lines[:3000]))
    return folder


def test_the_score_has_its_columns_n_and_interval(run):
    scores = read_scores(run.results)
    assert tuple(scores.columns) == SCORE_COLUMNS and len(scores) == 1
    row = scores.loc[0]
    assert row.measure == "mbe" and row.n == 202 and row.n_left_out == 0
    assert row.ci_low < row.value < row.ci_high


def test_the_score_is_that_of_the_plain_definition(run, demo):
    """Some sentences' AULA in float64, and the double sum of Eq. 2 over all pairs from the table of sentences."""
    sentences = read(run, "sentences")
    model = plain.double(demo)
    for row in sentences.groupby("gender").head(4).itertuples():
        _, aula = plain.aul_aula(demo, model, row.target)
        assert row.aula == pytest.approx(aula, abs=1e-5)
    vectors = {gender: [] for gender in ("male", "female")}
    scores = {gender: [] for gender in ("male", "female")}
    for row in sentences.itertuples():
        ids, places = plain.own_places(demo, row.target)
        states = plain.logits(model, ids, output_hidden_states=True).hidden_states[-1][0, list(places)]
        vector = states.mean(0).numpy()
        vectors[row.gender].append(vector / np.linalg.norm(vector))
        scores[row.gender].append(row.aula)
    cosine = np.array(vectors["male"]) @ np.array(vectors["female"]).T
    preferred = np.array(scores["male"])[:, None] > np.array(scores["female"])
    assert read(run, "mbe").score.item() == pytest.approx(100 * (cosine * preferred).sum() / cosine.sum(), abs=1e-4)


def test_what_was_left_out_is_counted(run):
    counts = read(run, "counts").set_index("outcome").n
    assert counts["all pairs"] == 402 == counts.drop("all pairs").sum()
    assert counts["taken: male"] == counts["taken: female"] == 101 and counts["words of both genders"] == 20


def test_the_german_side_is_shown_with_how_far_the_tokenizer_reaches(run):
    other = read(run, "other_sentences").set_index("sentences")
    assert other.tokens_per_word["other side"] > 1.5 * other.tokens_per_word["as above"]
    assert {"words alone", "words in a template"} <= set(other.index)
    assert set(read(run, "retention").gender) == {"male", "female", "all"}


def test_every_claim_is_marked(run):
    marked = read(run, "claims")
    assert marked.claim.tolist() == claims("mbe").claim.tolist()
    assert set(marked.status) <= set(STATUSES) and marked.evidence.str.len().gt(0).all()


def test_the_report_says_what_it_is_and_stays_small(run):
    page = run.html.read_text(encoding="utf-8")
    assert len(page) < 5_000_000 and "For trying out, not for findings" in page and "Content note" in page
    assert page.count("<math") >= 1 and "without a description" not in page
    assert json.loads(run.manifest.read_text())["data"].keys() == {"parallel_en_de"}


def test_a_real_text_is_drawn_counted_and_scored_again_alike(real_pairs, demo, tmp_path):
    run = runs.run(NOTEBOOK, params={"sources": [str(real_pairs)], "n_sentences": 40, **FEW}, out=tmp_path)
    assert run.ok, run.error
    assert read(run, "counts").set_index("outcome").n["all pairs"] == 3000
    drawn = {gender: rows.target.tolist() for gender, rows in read(run, "sentences").groupby("gender")}
    assert {gender: len(rows) for gender, rows in drawn.items()} == {"male": 40, "female": 40}
    scores = {gender: all_unmasked_likelihood(demo, rows).aula for gender, rows in drawn.items()}
    vectors = {gender: sentence_vectors(demo, rows) for gender, rows in drawn.items()}
    again = mbe_score(scores["male"], scores["female"], vectors["male"], vectors["female"])
    assert read(run, "mbe").score.item() == pytest.approx(again.score, abs=1e-4)


def test_target_sides_several_models_and_native_names(tiny_folder, tmp_path):
    russian = [
        ("He was happy.", "Он был рад."),
        ("John ran home.", "Джон бежал домой."),
        ("The king slept.", "Король спал."),
        ("She was happy.", "Она была рада."),
        ("Mary ran home.", "Мэри бежала домой."),
        ("The queen slept.", "Королева спала."),
    ]
    japanese = [
        ("He was happy.", "彼は嬉しかった。"),
        ("His father came.", "父が来た。"),
        ("She sang.", "彼女は歌った。"),
        ("Her aunt came.", "叔母が来た。"),
    ]
    for name, rows in (("ru", russian), ("ja", japanese)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    models = [str(tiny_folder("xlm_roberta")), str(tiny_folder("roberta"))]
    sources = [str(tmp_path / "ru.tsv"), str(tmp_path / "ja.tsv")]
    given = {"models": models, "sources": sources, "languages": ["ru", "ja"], "side": "target", **FEW}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert run.ok, run.error
    scored = read(run, "mbe").set_index("language")
    assert scored.n_male.to_dict() == {"ru": 3, "ja": 2}
    kept = read(run, "retention").query("gender == 'all'").set_index("language")
    assert kept.n_kept.to_dict() == {"ru": 2, "ja": 2}
    other = read(run, "other_sentences")
    assert ((other.sentences == "native names") & other.score.notna()).any()
    assert len(read_scores(run.results)) == 2


@pytest.mark.parametrize("name", ["paper", "news", "english"])
def test_the_papers_parameters_are_valid(name):
    found = prepare(NOTEBOOK, params=ROOT / "params" / "mbe" / f"{name}.yaml").values
    assert len(found["models"]) >= 5 and len(found["sources"]) in (1, len(found["models"]))


def test_one_source_for_two_of_three_models_is_refused(tmp_path):
    run = runs.run(NOTEBOOK, params={"models": ["demo"], "sources": ["a.tsv", "b.tsv"]}, out=tmp_path)
    assert not run.ok and "2 sources for 1 models" in run.error
