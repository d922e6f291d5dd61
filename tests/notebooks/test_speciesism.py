import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import plain
import pytest

from biaslib import runs
from biaslib.io import read_templates
from biaslib.report import read_scores
from biaslib.studies import SCORE_COLUMNS, claims
from biaslib.studies._claims import STATUSES

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
    assert set(scores.measure) == {"adjusted_rand", "group_cohesion", "sentiment_shift", "object_bias", "pppl"}
    assert (scores.n > 0).all() and scores.data_fingerprint.str.fullmatch("[0-9a-f]{16}").all()
    # A group of one name has no pair to compare, and so no score.
    tested = scores[(scores.measure != "group_cohesion") | (scores.group != "human")]
    tested = tested[~tested.measure.isin(["object_bias", "pppl"])]
    assert tested.value.notna().all() and tested.p_value.between(0, 1).all()
    shifts = scores[scores.measure == "sentiment_shift"]
    assert ((shifts.ci_low <= shifts.value) & (shifts.value <= shifts.ci_high)).all()
    # One sentence of either kind, or none that differs, has no interval.
    of_corpus = scores[scores.measure.isin(["object_bias", "pppl"])].dropna(subset="ci_low")
    assert len(of_corpus) > 20
    assert ((of_corpus.ci_low <= of_corpus.value) & (of_corpus.value <= of_corpus.ci_high)).all()


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


def bias_by_hand(rows):
    """Eq. 3 in plain Python; None without a sentence in H or in O."""
    wrong = {"human": [], "object": []}
    for row in rows.itertuples():
        thing, person = max(row.that, row.which), max(row.who, row.whose, row.whom)
        kind = "human" if row.pronoun in ("who", "whose", "whom") else "object"
        wrong[kind].append(thing > person if kind == "human" else person > thing)
    if not all(wrong.values()):
        return None
    return sum(wrong["human"]) / len(wrong["human"]) - sum(wrong["object"]) / len(wrong["object"])


def check_bias(run):
    scored = read(run, "relatives")
    table = read(run, "object_bias")
    assert table.n.sum() + table.n_left_out.sum() == len(scored)
    for row in table.itertuples():
        usable = scored[(scored.model == row.model) & (scored.name == row.name) & scored.that.notna()]
        assert row.n == len(usable)
        expected = bias_by_hand(usable)
        assert np.isnan(row.bias) if expected is None else row.bias == pytest.approx(expected)
    return table


def test_bias_in_real_sentences_is_that_of_the_plain_definition(run):
    table = check_bias(run)
    assert len(table) == 46 and table.bias.notna().sum() > 40
    scores = read_scores(run.results).query("measure == 'object_bias'").set_index("group")["value"]
    pd.testing.assert_series_equal(scores.loc[table.name], table.set_index("name").bias, check_names=False)
    scored = read(run, "relatives")
    everyone = bias_by_hand(scored[(scored.name != "human") & scored.that.notna()])
    assert scores["all but human"] == pytest.approx(everyone)


def test_counts_and_correlation_are_those_of_the_sentences(run):
    scored, counts = read(run, "relatives"), read(run, "counts").set_index("name")
    assert set(counts.corpus) == {"animal_sentences"} and counts.n.sum() == len(scored)
    own = scored[scored.name == "pig"].pronoun.value_counts()
    assert all(counts.loc["pig", pronoun] == n for pronoun, n in own.items())
    bias = read(run, "object_bias").set_index("name").bias.dropna()
    row = read(run, "correlation").query("names == 'all' and method == 'pearson'").iloc[0]
    assert row.n == len(bias)
    assert row.correlation == pytest.approx(np.corrcoef(bias, counts.share_object.loc[bias.index])[0, 1])


def test_claims_on_sentences_are_judged_where_a_corpus_was_scored(run):
    marked, bias = read(run, "claims"), read(run, "object_bias").set_index("name").bias
    seen = bias["human"] < 0 < min(bias["chicken"], bias["turkey"])
    assert marked.status[7] == ("seen" if seen else "not seen")
    # Two claims are of named models, one of named corpora, one of readers.
    assert (marked.status[[8, 10, 11, 12]] == "not testable here").all()
    assert marked.status[9] in ("seen", "not seen")


def test_every_claim_is_marked(run):
    marked = read(run, "claims")
    assert marked.claim.tolist() == claims("speciesism").claim.tolist()
    assert set(marked.status) <= set(STATUSES) and marked.evidence.str.len().gt(0).all()
    assert marked.status[6] == "seen"  # VADER's own scores depend on no model


def test_the_report_says_what_it_is_and_stays_small(run):
    page = run.html.read_text(encoding="utf-8")
    assert len(page) < 5_000_000
    assert "For trying out, not for findings" in page and "Content note" in page
    assert page.count("<math") >= 5 and "without a description" not in page
    manifest = json.loads(run.manifest.read_text())
    assert manifest["models"][0]["name"] == "demo" and manifest["seed"] == 0
    assert manifest["models"][0]["dtype"] == "float32" and set(manifest["data"]) == {"names and templates", "corpus"}


def test_plain_papermill_runs_it_from_any_folder(tmp_path):
    command = [sys.executable, "-m", "papermill", str(NOTEBOOK), "out.ipynb"]
    command += ["-f", str(ROOT / "params" / "speciesism" / "demo.yaml"), "-p", "corpus", ""]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scores = read_scores(tmp_path / "outputs/speciesism/adhoc/results")
    assert tuple(scores.columns) == SCORE_COLUMNS and len(scores)


def test_other_tokenizers_and_several_models(tiny_folder, tmp_path):
    names = tmp_path / "names.csv"
    too_long = "dog " * 200
    names.write_text(f"name,group\ndog,pet\ncat,pet\nhorse,farm\nrabbit,farm\n{too_long}x,farm\n")
    models = [str(tiny_folder("roberta")), str(tiny_folder("xlm_roberta"))]
    given = {"models": models, "names_file": str(names), "min_z": 1.0, "min_z_curve": [1.0], "n_clusters": 2}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert run.ok, run.error
    scores = read_scores(run.results)
    assert set(scores.model) == set(models)
    # Without a corpus, the second half is left out and says so.
    assert not {"object_bias", "pppl"} & set(scores.measure) and not (run.results / "relatives.csv").exists()
    assert "Left out of this run" in run.html.read_text(encoding="utf-8")
    assert set(read(run, "claims").status[7:]) == {"not testable here"}
    top = read(run, "top_words")
    assert set(top.name) == {"dog", "cat", "horse", "rabbit"} and not top.word.str.contains("[Ġ▁]").any()
    # A name that cannot be scored is counted in every score.
    left_out = scores.groupby(["model", "measure"])["n_left_out"].min().unstack()
    assert (left_out["adjusted_rand"] == 1).all() and (left_out["group_cohesion"] == 1).all()
    assert (left_out["sentiment_shift"] >= 1).all()
    assert read(run, "kept").reason.str.startswith("too long").sum() == 2


@pytest.fixture(scope="module")
def three_novels(real_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("novels")
    for path in sorted((real_data / "novels").glob("*.txt.gz"))[:3]:
        (folder / path.name).symlink_to(path)
    return folder


def test_real_novels_with_another_tokenizer_and_a_corpus_to_count_in(three_novels, tiny_folder, tmp_path):
    wikipedia = tmp_path / "wikipedia.txt"
    wikipedia.write_text("The dog that barked slept. A horse which is old stood there. The men saw a cat who slept.\n")
    folder = tmp_path / "roberta-large"
    folder.symlink_to(tiny_folder("roberta"), target_is_directory=True)
    given = {"models": [str(folder)], "corpus": str(three_novels), "frequency_corpora": [str(wikipedia)]}
    run = runs.run(NOTEBOOK, params=given | {"shards_dir": str(tmp_path / "shards")}, out=tmp_path)
    assert run.ok, run.error
    agreement = read(run, "published_top_words")
    assert len(agreement) == 2 * 46 and agreement.n_published.eq(5).all()
    assert "all four models" in read(run, "claims").evidence[0]
    table = check_bias(run)
    assert table.n.sum() + table.n_left_out.sum() > 10
    counts = read(run, "counts")
    assert set(counts.corpus) == {str(wikipedia)}
    assert counts[counts.n > 0].set_index("name").share_object.to_dict() == {"dog": 1, "horse": 1, "cat": 0}
    # The folder is called like one of the study's models, the text like one of its corpora.
    claims_of_run = read(run, "claims")
    assert claims_of_run.status[10] == "seen" and claims_of_run.evidence[10].endswith(": 2")
    assert read(run, "pppl").published.tolist() == [1.105] and read(run, "correlation").published.iloc[0] == 0.55


def test_names_from_a_real_file_and_a_corpus_without_them(real_data, tmp_path):
    """Winogender's occupations in the same sentences, grouped by who works in them."""
    occupations = pd.read_csv(real_data / "winogender" / "occupations-stats.tsv", sep="\t").head(20)
    group = np.where(occupations["bls_pct_female"] > 50, "mostly women", "mostly men")
    names = tmp_path / "occupations.csv"
    pd.DataFrame({"name": occupations["occupation"], "group": group}).to_csv(names, index=False)
    corpus = tmp_path / "clocks.txt"
    corpus.write_text("The clock that struck was old. It was late.\n")
    given = {"names_file": str(names), "n_clusters": 2, "article": "agree", "corpus": str(corpus)}
    run = runs.run(NOTEBOOK, params=given | {"shards_dir": str(tmp_path / "shards")}, out=tmp_path)
    assert run.ok, run.error
    assert set(read(run, "cohesion").group) == {"mostly women", "mostly men"}
    assert set(read(run, "claims").status) == {"not testable here"}
    assert read(run, "object_bias").bias.isna().all() and read(run, "counts").n.eq(0).all()
    assert read(run, "pppl").reasons.tolist() == ["no sentence was given"]
    scores = read_scores(run.results).query("measure in ('object_bias', 'pppl')")
    assert len(scores) == 22 and scores.value.isna().all() and scores.n.eq(0).all()
