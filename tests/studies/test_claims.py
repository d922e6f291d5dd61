import numpy as np
import pandas as pd
import pytest

from biaslib.studies import claims, mark_claims, published_table
from biaslib.studies._claims import claim_ranges, format_evidence, verdict, verdict_by_range

RANGES = {"law": [0, float("inf")], "cook": [-2, 0]}


def effects(law, cook, model="demo"):
    return pd.DataFrame({"model": model, "contrast": ["law", "cook"], "d": [law, cook]})


def judged(frame):
    return verdict_by_range(frame, RANGES, name="contrast", value="d")


def test_verdicts():
    assert [verdict(seen, "x")[0] for seen in (True, np.False_, None)] == ["seen", "not seen", "not testable here"]


def test_verdict_by_range():
    assert judged(effects(0.456, -0.3)) == ("seen", "demo: law 0.46, cook -0.3")
    assert judged(effects(0.4, 0.0))[0] == "not seen"
    assert judged(pd.concat([effects(0.4, -0.3), effects(-0.1, -0.3, "other")])) == (
        "not seen",
        "demo: law 0.4, cook -0.3; other: law -0.1, cook -0.3",
    )


def test_verdict_by_range_without_values():
    assert judged(effects(0.4, np.nan)) == ("not testable here", "no value for cook")
    assert judged(effects(0.4, -0.3).head(1)) == ("not testable here", "no value for cook")
    assert judged(effects(0.4, -0.3).head(0))[0] == "not testable here"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"demo": {"object": 0.8654, "human": 0.632}, "mine": []}, "demo: object 0.865, human 0.632; mine: none"),
        ({"demo": ["shy", "old"], "other": 3}, "demo: shy, old; other: 3"),
        ({"demo": {"halved": ["a"], "reversed": []}}, "demo: halved a, reversed none"),
        ({}, "none"),
    ],
)
def test_evidence_is_text(values, text):
    assert format_evidence(values) == text


def test_ranges_are_of_claims_that_there_are():
    for paper in ("speciesism", "weat"):
        ranges = claim_ranges(paper)
        assert ranges and set(ranges) <= set(claims(paper)["claim_id"])


def test_claims_count_from_one_in_file_order():
    frame = claims("speciesism")
    assert list(frame.columns) == ["claim_id", "section", "claim", "value"]
    assert frame["claim_id"].tolist() == list(range(1, 14))
    assert frame.loc[0, "claim"].startswith("farm animals cluster closely")
    assert frame.loc[12, "value"] == "0.94"
    with pytest.raises(ValueError, match="use one of speciesism, mbe, unmasked, weat, winoqueer"):
        claims("crows")


def test_every_claim_belongs_to_a_paper():
    papers = ("speciesism", "mbe", "unmasked", "weat", "winoqueer")
    assert sum(len(claims(paper)) for paper in papers) == len(published_table("claims"))


VERDICTS = dict.fromkeys(range(1, 14), ("not testable here", "needs the corpora"))


def test_mark_claims():
    frame = mark_claims("speciesism", VERDICTS | {7: ("seen", "killed −.67, slaughtered 0")})
    assert list(frame.columns) == ["section", "claim", "published_value", "status", "evidence"]
    assert frame.loc[6, ["section", "status", "evidence"]].tolist() == [
        "6.1",
        "seen",
        "killed −.67, slaughtered 0",
    ]
    assert (frame["status"] == "not testable here").sum() == 12


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ({i: v for i, v in VERDICTS.items() if i not in (2, 5)}, r"claim\(s\) 2, 5; judge every claim"),
        (VERDICTS | {14: ("seen", "x")}, "speciesism claim 14; use one of 1, 2"),
        (VERDICTS | {"1": ("seen", "x")}, "speciesism claim '1'"),
        (
            VERDICTS | {1: ("maybe", "x")},
            "unknown status of claim 1 'maybe'; use one of seen, not seen, not testable here",
        ),
        (VERDICTS | {1: ("seen", " ")}, "claim 1 must have evidence"),
        (VERDICTS | {1: "seen"}, r"claim 1 must be \(status, evidence\)"),
    ],
)
def test_mark_claims_refuses(verdicts, message):
    with pytest.raises(ValueError, match=message):
        mark_claims("speciesism", verdicts)
