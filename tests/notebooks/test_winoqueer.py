import json
from pathlib import Path

import pandas as pd
import plain
import pytest

from biaslib import runs
from biaslib.io import read_gap
from biaslib.report import read_scores
from biaslib.runs import prepare
from biaslib.scoring import load_masked_lm
from biaslib.studies import SCORE_COLUMNS, claims
from biaslib.studies._claims import STATUSES
from biaslib.training import OFF_THE_SHELF

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "winoqueer.ipynb"


@pytest.fixture(scope="module")
def run(demo_run):
    return demo_run("winoqueer")


def read(run, table):
    return pd.read_csv(run.results / f"{table}.csv", keep_default_na=False, na_values=[""])


@pytest.fixture
def texts(tmp_path):
    """Two small corpora of the tiny models' own words."""
    paths = []
    for name, words in (("a", "the nurse was kind and good ."), ("b", "she is not a doctor but he was .")):
        lines = [f"{words} it is {thing} {n} ." for n in range(12) for thing in ("a dog", "a cat", "the city")]
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(lines), encoding="utf-8")
        paths.append(str(path))
    return paths


@pytest.fixture
def quick(texts, tmp_path):
    return {
        "corpora": [f"{name}={path}" for name, path in zip(("news", "voices"), texts, strict=True)],
        "epochs": 2,
        "learning_rate": 1e-3,
        "models_dir": str(tmp_path / "models"),
    }


def test_every_score_has_its_columns_n_test_and_interval(run):
    scores = read_scores(run.results)
    assert tuple(scores.columns) == SCORE_COLUMNS
    of_pairs = {"stereotype_score", "stereotype_score_by_group", "score_change"}
    assert set(scores.measure) == of_pairs | {"gap_f1", "gap_bias", "conll_f1"}
    whole = scores[scores.measure == "stereotype_score"]
    assert whole.group.tolist() == [OFF_THE_SHELF, "after news", "after voices"]
    assert (whole.n == 5452).all() and (whole.n_left_out == 0).all()
    assert scores.p_value[scores.measure.isin(of_pairs)].between(0, 1).all()
    # The bias has no interval where a resample finds no masculine or no feminine pronoun's name.
    bounded = scores[scores.ci_low.notna()]
    assert set(scores.measure[scores.ci_low.isna()]) <= {"gap_bias"}
    assert ((bounded.ci_low <= bounded.value) & (bounded.value <= bounded.ci_high)).all()


def test_the_scores_are_those_of_the_plain_definition(run, demo):
    """Pairs of every identity in float64, one token at a time; and the share counted by hand."""
    pairs = read(run, "pairs")
    off = pairs[pairs.condition == OFF_THE_SHELF]
    model = plain.double(demo)
    for row in off.groupby("identity").head(3).itertuples():
        more, less, n = plain.shared_pll(demo, model, row.sent_more, row.sent_less)
        assert row.score_more == pytest.approx(more, abs=1e-5 * n, rel=1e-5)
        assert row.score_less == pytest.approx(less, abs=1e-5 * n, rel=1e-5) and row.n_shared == n
    score = read(run, "overall").set_index("condition").score[OFF_THE_SHELF]
    assert score == pytest.approx(100 * (off.score_more > off.score_less).mean())


def test_training_is_seen_in_the_held_out_loss(run):
    paid = read(run, "paid").set_index(["condition", "corpus"]).loss
    assert paid["after news", "news"] < paid[OFF_THE_SHELF, "news"]
    assert paid["after voices", "voices"] < paid[OFF_THE_SHELF, "voices"]
    change = read(run, "change").set_index("condition")
    moved = read(run, "changed_sides").groupby("condition").size()
    for condition, row in change.iterrows():
        assert moved[condition] == row.to_more + row.to_less


def test_the_coreference_half_is_scored_tested_and_kept(run):
    scores = read_scores(run.results).set_index(["measure", "group"])
    conditions = [OFF_THE_SHELF, "after news", "after voices"]
    table = read(run, "coreference")
    f1 = table[(table.measure == "GAP F1") & (table.group == "all")].set_index(["condition", "resolver"])
    assert len(f1) == 9 and (f1.n == 60).all() and (f1.n_left_out == 0).all()
    conll = table[table.measure == "CoNLL F1"].set_index(["condition", "group"])
    for condition in conditions:
        assert scores.value["gap_f1", condition] == pytest.approx(f1.value[condition, "likelihood"])
        assert scores.value["conll_f1", condition] == pytest.approx(conll.value[condition, "documents held out"])
        assert conll.value[condition, "documents trained on"] > 95
        assert conll.n[condition, "documents trained on"] == 9 and conll.n[condition, "documents held out"] == 3
    genders = {f"{c}{r}, {g}" for c in conditions for r in ("", ", trained") for g in ("feminine", "masculine")}
    assert genders <= set(scores.loc["gap_f1"].index)
    assert {*conditions, "after news, likelihood within words"} <= set(scores.loc["gap_bias"].index)
    change = read(run, "coreference_change")
    assert change.groupby("resolver").size().to_dict() == {
        "likelihood": 12,
        "likelihood within words": 12,
        "trained": 15,
    }
    assert change.p_value.between(0, 1).all() and (change.p_holm >= change.p_value).all()
    assert f1.chance.eq(40).all() and (f1.n_named <= 120).all()
    published = read(run, "published_coreference")
    assert published.groupby("table").size().to_dict() == {3: 16, 4: 26} and published.value.isna().all()


def test_the_gap_scores_are_counted_from_the_answers(run):
    """F1 from the answers in the table, counted without the library's scorer."""
    gold = read_gap("gap_sample").set_index("ID")
    answers = read(run, "gap_answers")
    assert answers.groupby(["condition", "resolver"]).size().eq(60).all()
    table = read(run, "coreference")
    f1 = table[(table.measure == "GAP F1") & (table.group == "all")].set_index(["condition", "resolver"]).value
    for key, rows in answers.groupby(["condition", "resolver"]):
        flags = [rows.set_index("ID")[flag].reindex(gold.index).eq(True) for flag in ("A-coref", "B-coref")]
        hits = sum(int((said & gold[flag]).sum()) for said, flag in zip(flags, ("A-coref", "B-coref"), strict=True))
        n = sum(int(said.sum()) + int(gold[said.name].sum()) for said in flags)
        assert f1[key] == pytest.approx(100 * 2 * hits / n)


def test_every_claim_is_marked(run):
    marked = read(run, "claims")
    assert marked.claim.tolist() == claims("winoqueer").claim.tolist()
    assert set(marked.status) <= set(STATUSES) and marked.evidence.str.len().gt(0).all()


def test_the_report_says_what_it_is_and_the_manifest_keeps_no_text(run):
    page = run.html.read_text(encoding="utf-8")
    assert len(page) < 5_000_000 and "For trying out, not for findings" in page and "Content note" in page
    assert page.count("<math") >= 1 and "without a description" not in page
    manifest = json.loads(run.manifest.read_text())
    assert "span ranking" in page and "GAP F1 by the trained resolver" in page
    assert set(manifest["data"]) == {"pairs", "news", "voices", "gap", "conll"}
    assert "bakery" not in run.manifest.read_text()


def test_other_tokenizers_the_released_variant_and_found_models(tiny_folder, quick, tmp_path):
    models = [str(tiny_folder("roberta")), str(tiny_folder("xlm_roberta"))]
    pairs = tmp_path / "pairs.csv"
    rows = ["sent_more,sent_less,direction,bias_type", "He is a doctor.,She is a doctor.,stereo,gender"]
    rows += ["She is a nurse.,He is a nurse.,antistereo,gender", "He is.,He is.,stereo,none", ",She is.,stereo,none"]
    pairs.write_text("\n".join(rows), encoding="utf-8")
    given = quick | {"models": models, "pair_source": str(pairs), "metric": "pll_nangia"}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert run.ok, run.error
    overall = read(run, "overall")
    assert len(overall) == 6 and set(overall.model) == set(models)
    assert (overall.n == 2).all() and (overall.n_left_out == 2).all()
    assert not list(run.results.glob("*coreference*")) and not list(run.results.glob("gap*"))
    assert "Not asked for in this run" in run.html.read_text(encoding="utf-8")
    again = runs.run(NOTEBOOK, params=given | {"metric": "aula"}, out=tmp_path, name="again")
    assert again.ok, again.error
    assert len(list((tmp_path / "models").iterdir())) == 4, "what was trained is found again"
    pd.testing.assert_frame_equal(read(run, "paid"), read(again, "paid"))


def test_a_model_without_a_head_is_marked_and_left_out_of_scores(tiny_folder, quick, tmp_path):
    lm = load_masked_lm(tiny_folder("bert_cased"), device="cpu")
    folder = tmp_path / "spanbert-base-cased"
    lm.model.base_model.save_pretrained(folder)
    lm.tokenizer.save_pretrained(folder)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("sent_more,sent_less\nHe is a doctor.,She is a doctor.\nHe was kind.,She was kind.\n")
    given = quick | {"models": [str(folder)], "pair_source": str(pairs)}
    refused = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert not refused.ok and "head" in refused.error
    run = runs.run(NOTEBOOK, params=given | {"head": "new"}, out=tmp_path)
    assert run.ok, run.error
    assert read(run, "overall").set_index("condition")["head"].to_dict() == {
        OFF_THE_SHELF: "new",
        "after news": "kept",
        "after voices": "kept",
    }
    scores = read_scores(run.results)
    assert OFF_THE_SHELF not in set(scores.group) and "score_change" not in set(scores.measure)
    assert "untrained, so this means nothing" in run.html.read_text(encoding="utf-8")
    assert read(run, "published").dropna(subset="score").empty, "these are not the study's pairs"


def test_the_papers_parameters_are_valid():
    found = prepare(NOTEBOOK, params=ROOT / "params" / "winoqueer" / "paper.yaml").values
    assert len(found["models"]) == 4 and found["head"] == "new" and found["pair_source"] == "winoqueer-v0"


def test_what_coreference_lacks_is_said_in_a_line_before_training(quick, tmp_path):
    run = runs.run(NOTEBOOK, params=quick | {"gap_source": "no-such-set"}, out=tmp_path)
    assert not run.ok and "no-such-set" in run.error and not (tmp_path / "models").exists()


def test_the_released_winoqueer_and_gap_validation_by_likelihood_alone(real_data, tiny_folder, quick, tmp_path):
    given = quick | {"models": [str(tiny_folder("distilbert"))], "pair_source": "winoqueer-v0", "metric": "aul"}
    given |= {"gap_source": "gap-validation"}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert run.ok, run.error
    assert (read(run, "pairs").groupby("condition").size() == 5872).all()
    overall = read(run, "overall")
    masc_femm = read(run, "pairs").bias_type.str.startswith("masc_femm").sum() // 3
    assert masc_femm and (overall.n + overall.n_left_out == 5872 - masc_femm).all()
    answers = read(run, "gap_answers")
    assert set(answers.resolver) == {"likelihood", "likelihood within words"}
    assert answers.groupby(["condition", "resolver"]).size().tolist() == [454] * 6
    assert (answers["A-coref"].notna() == answers.reason.isna()).all()
    table = read(run, "coreference")
    assert set(table.measure) == {"GAP F1", "GAP bias"}
    unanswered = answers[answers.reason.notna()].groupby(["condition", "resolver"]).size()
    groups = table.pivot_table(index=["condition", "resolver"], columns="group", values="n_left_out")
    for key, row in groups.iterrows():
        assert row["all"] == row["feminine / masculine"] == unanswered.get(key, 0)
        assert row["masculine"] + row["feminine"] == row["all"]
    assert "conll_f1" not in set(read_scores(run.results).measure)
