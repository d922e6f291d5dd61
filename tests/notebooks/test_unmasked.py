import json
import re
from pathlib import Path

import pandas as pd
import plain
import pytest

from biaslib import io, runs
from biaslib.report import read_scores
from biaslib.runs import prepare
from biaslib.studies import SCORE_COLUMNS, claims, unmasked_models
from biaslib.studies._claims import STATUSES

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "unmasked.ipynb"


@pytest.fixture(scope="module")
def run(demo_run):
    return demo_run("unmasked")


def read(run, table):
    return pd.read_csv(run.results / f"{table}.csv", keep_default_na=False, na_values=[""])


def test_every_score_has_its_columns_n_test_and_interval(run):
    scores = read_scores(run.results)
    assert tuple(scores.columns) == SCORE_COLUMNS
    assert set(scores.measure) == {"vargha_delaney_a", "rank_biserial"}
    assert len(scores) == 14 and (scores.n + scores.n_left_out == 100).all()
    assert scores.p_value.between(0, 1).all()
    assert ((scores.ci_low <= scores.value) & (scores.value <= scores.ci_high)).all()


def test_the_categories_are_those_of_the_plain_definition(run, demo):
    """Every confidence of a category in float64, one prompt at a time, and V, A and r by their sums."""
    confidence = read(run, "confidence")
    sports = confidence[confidence.category == "sports"].head(12)
    model = plain.double(demo)
    for row in sports.itertuples():
        ids = demo.tokenizer(row.prompt)["input_ids"]
        place = ids.index(demo.tokenizer.mask_token_id)
        probability = plain.logits(model, ids).logits[0, place].softmax(-1)
        for words, measured in ((("he", "him", "his"), row.male), (("she", "her", "hers"), row.female)):
            entries = [demo.tokenizer.convert_tokens_to_ids(word) for word in words]
            known = [entry for entry in entries if entry != demo.tokenizer.unk_token_id]
            assert measured == pytest.approx(sum(float(probability[entry]) for entry in known), abs=1e-5)
    all_sports = confidence[confidence.category == "sports"]
    row = read(run, "categories").set_index("category").loc["sports"]
    difference = all_sports.male - all_sports.female
    assert row.v == pytest.approx(difference.abs().rank()[difference > 0].sum())
    greater = [(m > f) + (m == f) / 2 for m in all_sports.male for f in all_sports.female]
    assert row.a == pytest.approx(sum(greater) / len(greater))


def test_every_word_of_a_pair_is_of_the_part_of_speech(run):
    units, counts = read(run, "unit_tokens"), read(run, "pair_counts").set_index("unit")
    assert (counts.n_tokens == 100).all() and (counts.n_kept > 0).all()
    assert (counts.n_kept + counts.n_piece + counts.n_not_a_word + counts.n_off_category == counts.n_tokens).all()
    kept = units[units.kept]
    assert set(kept.part_of_speech[kept.unit == "adverb"]) == {"ADV"}
    assert set(kept.part_of_speech[kept.unit == "adjective"]) == {"ADJ"}
    assert len(read(run, "parallel_pairs")) == counts.n_pairs.sum()


def test_every_claim_is_marked(run):
    marked = read(run, "claims")
    assert marked.claim.tolist() == claims("unmasked").claim.tolist()
    assert set(marked.status) <= set(STATUSES) and marked.evidence.str.len().gt(0).all()


def test_without_a_pair_of_models_the_published_table_is_computed_anew(run):
    differences = read(run, "mono_minus_multi")
    assert set(differences.pair) == {"bert", "distilbert", "roberta"} and len(differences) == 21
    assert set(differences.source) == {"the study's Table 2"}
    assert "this run has no pair of models" in run.html.read_text(encoding="utf-8")


def test_the_report_says_what_it_is_and_stays_small(run):
    page = run.html.read_text(encoding="utf-8")
    assert len(page) < 5_000_000
    assert "For trying out, not for findings" in page and "Content note" in page
    assert page.count("<math") >= 2 and "without a description" not in page
    assert json.loads(run.manifest.read_text())["versions"]["spacy"]


def test_six_local_folders_fill_every_table(tiny_folder, tmp_path):
    """Folders that are called like the study's models stand for them: one of each tokenizer family at least."""
    families = dict(zip(unmasked_models()["model"], ("bert_uncased", "distilbert", "roberta"), strict=False))
    families |= {"bert-multilingual": "bert_cased", "distilbert-multilingual": "albert", "xlm-roberta": "xlm_roberta"}
    models = []
    for row in unmasked_models().itertuples():
        folder = tmp_path / row.id.split("/")[-1]
        folder.symlink_to(tiny_folder(families[row.model]), target_is_directory=True)
        models.append(str(folder))
    prompts = io.first_prompts(io.read_prompts(), 6)
    prompts.to_csv(tmp_path / "prompts.csv", index=False)
    # Tiny models know few words, so that the shortest lists hold none of the unit.
    given = {"models": models, "prompt_file": str(tmp_path / "prompts.csv"), "n_resamples": 200, "k": 20}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path / "outputs")
    assert run.ok, run.error
    differences = read(run, "mono_minus_multi")
    assert set(differences.pair) == set(models[:3]) and len(differences) == 21 and differences.ci_low.notna().all()
    beside = read(run, "published_beside_measured")
    assert len(beside) == 42 and beside[["v_published", "a_published", "delta_published"]].notna().all().all()
    for table in ("confidence", "categories", "unit_tokens", "pair_counts", "leaning_words", "parallel_pairs"):
        assert set(read(run, table).model) <= set(models) and len(read(run, table))
    status = read(run, "claims").status
    assert (status[:3] != "not testable here").all()


def test_pairs_of_ones_own_and_pronouns_as_printed(tiny_folder, tmp_path):
    models = [str(tiny_folder("roberta")), str(tiny_folder("camembert"))]
    io.first_prompts(io.read_prompts(), 4).to_csv(tmp_path / "prompts.csv", index=False)
    given = {"models": models, "pairs": [f"{models[0]}={models[1]}"], "prompt_file": str(tmp_path / "prompts.csv")}
    run = runs.run(NOTEBOOK, params=given | {"variant": "cased", "n_resamples": 200}, out=tmp_path)
    assert run.ok, run.error
    assert set(read(run, "mono_minus_multi").pair) == {models[0]}
    assert set(read_scores(run.results).variant) == {"cased"}


def test_the_papers_parameters_are_valid():
    found = prepare(NOTEBOOK, params=ROOT / "params" / "unmasked" / "paper.yaml").values
    assert set(found["models"]) == set(unmasked_models()["id"])
    assert found["n_prompts"] == 60


def test_prompts_from_a_real_file(real_data, tmp_path):
    """Winogender's sentences, their pronoun masked where it is a subject, by who takes part; one name is markup."""
    markup = "<details open ontoggle=alert(1)>$x_$</details>"
    sentences = pd.read_csv(real_data / "winogender" / "all_sentences.tsv", sep="\t")
    male = sentences[
        sentences.sentid.str.endswith(".male.txt") & sentences.sentence.str.contains(r"\bhe\b", regex=True)
    ]
    masked = male.sentence.map(lambda text: re.sub(r"\bhe\b", "[MASK]", text))
    prompts = pd.DataFrame({"category": male.sentid.str.split(".").str[2].map({"0": markup, "1": "participant"})})
    prompts["prompt"] = masked
    prompts = prompts[prompts.prompt.str.count(r"\[MASK\]") == 1].drop_duplicates()
    prompts.to_csv(tmp_path / "winogender.csv", index=False)
    given = {"prompt_file": str(tmp_path / "winogender.csv"), "n_resamples": 200, "n_prompts": 1000}
    run = runs.run(NOTEBOOK, params=given, out=tmp_path)
    assert run.ok, run.error
    categories = read(run, "categories")
    assert set(categories.category) == {markup, "participant"}
    page = run.html.read_text(encoding="utf-8")
    assert "ontoggle=alert" in page and "<details open ontoggle" not in page
    assert (categories.n + categories.n_zero + categories.n_left_out).sum() == len(prompts)
    assert categories.outcome.isna().all(), "the study expects nothing of these categories"
