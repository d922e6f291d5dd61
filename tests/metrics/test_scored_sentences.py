"""From sentences to what the MBE score takes, with tiny models and the demo model."""

import math

import numpy as np
import pandas as pd
import plain
import pytest
import tiny_models
from scipy import stats

from biaslib.io import read_gender_words, read_parallel
from biaslib.metrics import (
    balance,
    by_gender,
    gender_likelihoods,
    gender_sentences,
    length_matched,
    mbe_interval,
    mbe_score,
    mcnemar_random,
)
from biaslib.scoring import load_masked_lm
from biaslib.studies import score_row, scores_frame


def test_lengths_are_matched():
    rng = np.random.default_rng(0)
    scored = pd.DataFrame({"gender": rng.choice(["male", "female"], 300), "n_tokens": rng.integers(3, 12, 300)})
    scored["aula"] = -scored.n_tokens / 10.0
    scored.loc[:20, "aula"] = math.nan
    kept = length_matched(scored, 1)
    counts = kept.groupby(["n_tokens", "gender"]).size().unstack()
    assert (counts.male == counts.female).all() and kept.aula.notna().all()
    usable = scored[20:].dropna().groupby(["n_tokens", "gender"]).size().unstack()
    assert counts.male.tolist() == usable.min(axis=1).tolist()
    pd.testing.assert_frame_equal(kept, scored.loc[kept.index])
    pd.testing.assert_frame_equal(kept, length_matched(scored, 1))
    assert not kept.index.equals(length_matched(scored, 2).index)
    assert len(length_matched(scored, 1, width=20)) > len(kept)
    assert length_matched(scored[:3]).empty
    # Likelihood is a matter of length alone here: matched, neither gender is preferred beyond ties.
    vectors = np.ones((300, 2))
    given = by_gender(kept, vectors)
    result = mbe_score(*given)
    assert result.score + 50 * result.ties / result.n_pairs == pytest.approx(50)
    with pytest.raises(ValueError, match="width"):
        length_matched(scored, width=0)
    with pytest.raises(ValueError, match="scored must have the column n_tokens"):
        length_matched(scored.drop(columns="n_tokens"))


@pytest.mark.parametrize("family", tiny_models.TOKENIZER_FAMILIES)
def test_from_sentences_to_score_is_the_plain_way(tiny, family):
    lm = tiny(family)
    english = ["He is a doctor.", "She is kind.", "His dog is old and bad.", "The city of London.", "He is a nurse."]
    english += ["She was done with it.", "Her cat", "his " * 80]
    sentences = gender_sentences(english, english, male_words=["he", "his"], female_words=["she", "her"])
    scored, vectors = gender_likelihoods(lm, sentences)
    assert scored.columns.tolist()[:5] == sentences.columns.tolist() and len(vectors) == len(scored) == 7
    assert scored.reason.iloc[-1].startswith("too long") and np.isnan(vectors[-1]).all()
    model = plain.double(lm)
    by = {gender: [t for t in rows.target if len(t) < 60] for gender, rows in scored.groupby("gender")}
    aula = [[plain.aul_aula(lm, model, text)[1] for text in by[gender]] for gender in ("male", "female")]
    states = [[plain.vector(lm, model, text) for text in by[gender]] for gender in ("male", "female")]
    result = mbe_score(*by_gender(scored, vectors))
    assert result.score == pytest.approx(plain.mbe(*aula, *states)[0], abs=1e-3)
    assert (result.n_male, result.n_female, result.left_out) == (3, 3, {"male: no score": 1})
    # A part of the rows finds its vectors by their index.
    part = scored.iloc[[4, 0, 1]]
    assert by_gender(part, vectors)[2].tolist() == vectors[[4, 0] if part.gender.iloc[0] == "male" else [0]].tolist()


def test_columns_that_are_missing_are_named(demo):
    with pytest.raises(ValueError, match="sentences must have the column target"):
        gender_likelihoods(demo, pd.DataFrame({"gender": ["male"]}))
    with pytest.raises(ValueError, match="scored must have the column gender"):
        by_gender(pd.DataFrame({"aula": [1.0]}), [[1.0]])


def test_the_embedded_pairs_scored_by_the_demo_model(demo):
    """The English side, twice: the same figures to the last digit, and a row that comparisons can read."""
    frame = read_parallel("parallel_en_de")
    words = read_gender_words().groupby("gender").word.agg(list)
    sentences = gender_sentences(frame.english, frame.english, male_words=words.male, female_words=words.female)
    runs = []
    for _ in range(2):
        scored, vectors = gender_likelihoods(demo, balance(sentences, 0))
        given = by_gender(scored, vectors)
        runs.append((mbe_score(*given), mbe_interval(*given, n_resamples=200), mcnemar_random(*given)))
    assert runs[0] == runs[1]
    result, (low, high), test = runs[0]
    assert 0 < low < result.score < high < 100
    row = score_row(
        paper="mbe",
        measure="MBE",
        model="demo",
        group="en",
        value=result.score,
        ci_low=low,
        ci_high=high,
        p_value=test.p_value,
        n=result.n_male + result.n_female,
        n_left_out=result.n_left_out,
    )
    assert scores_frame([row]).value.item() == result.score
    # AULA falls with length, which is why lengths are matched.
    assert stats.spearmanr(scored.n_tokens, scored.aula.abs())[0] < 0


def test_a_model_without_attention_gives_a_reason_not_a_score(tmp_path):
    """FNet mixes tokens without attention: there is no AULA, and AUL can be asked for."""
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = tiny_models.build("bert_cased")[1]
    sizes = {**tiny_models.SIZES, "vocab_size": len(tokenizer), "pad_token_id": 0, "max_position_embeddings": 66}
    lm = load_masked_lm((transformers.FNetForMaskedLM(transformers.FNetConfig(**sizes)).eval(), tokenizer))
    sentences = pd.DataFrame({"gender": ["male", "female"], "target": ["he is good", "she is good"]})
    with pytest.warns(UserWarning, match="no attention weights"):
        scored, vectors = gender_likelihoods(lm, sentences)
    assert mbe_score(*by_gender(scored, vectors)).reason == "there is no male and no female sentence with a score"
    assert math.isfinite(mbe_score(*by_gender(scored, vectors, score="aul")).score)
