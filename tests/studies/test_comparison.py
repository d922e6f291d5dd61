import pandas as pd
import pytest

from biaslib import studies
from biaslib.studies import neutral_values, with_published


def test_published_values_stand_beside_the_models_of_the_papers():
    bert, other = "google-bert/bert-base-uncased", "someone/else"
    ours, queer = '{"prompt_file": "job_prompts"}', '{"pair_source": "winoqueer-v0"}'
    given = {"variant": "in_place", "data": "", "paper": "unmasked", "measure": "vargha_delaney_a", "group": "stem"}
    given |= {"parameters": ours}
    wino = {"paper": "winoqueer", "measure": "stereotype_score", "model": "google-bert/bert-base-cased"}
    wino |= {"variant": "pll default", "group": "off the shelf", "parameters": queer}
    mbe = {"paper": "mbe", "measure": "mbe", "model": "deepset/gbert-base", "group": "de"}
    mbe |= {"variant": "side=target weight=cosine"}
    rows = {
        1.0: given | {"model": bert},
        73.77: given | wino,
        54.69: given | mbe | {"data": "ted2020-de"},
        55.12: given | mbe | {"data": "globalvoices-de"},
    }
    without = [
        given | {"model": other},
        given | {"model": bert, "measure": "rank_biserial"},
        given | {"model": bert, "parameters": '{"prompt_file": "mine.csv"}'},
        given | wino | {"group": "after news"},
        given | wino | {"variant": "aul default"},
        given | wino | {"parameters": '{"pair_source": "crows-pairs"}'},
        given | mbe | {"data": "parallel_en_de"},
        given | mbe | {"data": "teddy-de"},
        given | mbe | {"data": "ted2020-de", "model": "any"},
        given | mbe | {"data": "ted2020-de", "variant": "side=english weight=cosine"},
        given | mbe | {"data": "ted2020-de", "variant": "side=target weight=dot"},
    ]
    found = with_published(pd.DataFrame([*rows.values(), *without]))
    assert found["published"].fillna(-1).tolist() == [*rows, *[-1] * len(without)]
    assert (found["published_in"] != "").tolist() == found["published"].notna().tolist()


def test_rows_keep_their_index_and_other_papers_have_nothing_beside():
    row = {"paper": "unmasked", "measure": "vargha_delaney_a", "group": "stem", "model": "bert-base-uncased"}
    row |= {"variant": "in_place", "data": "", "parameters": '{"prompt_file": "job_prompts"}'}
    frame = pd.DataFrame([row | {"paper": "mine"}, row], index=[7, 7])
    found = with_published(frame)
    assert found.index.tolist() == [7, 7]
    assert found["published"].fillna(-1).tolist() == [-1, 1.0]
    assert found["published_in"].tolist() == ["", "UnMASKed, Table 2, other prompts"]
    assert frame.columns.tolist() == list(row)
    empty = with_published(frame.head(0))
    assert empty.empty and empty["published"].dtype == float
    with pytest.raises(ValueError, match="variant"):
        with_published(frame.drop(columns="variant"))


def test_every_study_says_where_its_measures_are_neutral():
    values = neutral_values()
    for paper in ("mbe", "speciesism", "unmasked", "weat", "winoqueer"):
        assert getattr(studies, paper).NEUTRAL_VALUES.items() <= values.items()
    assert (values["mbe"], values["object_bias"], values["gap_bias"]) == (50, 0, 1) and "pppl" not in values
