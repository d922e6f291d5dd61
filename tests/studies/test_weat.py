import numpy as np
import pandas as pd
import pytest

from biaslib.studies import weat
from biaslib.studies._claims import claim_ranges

HALVED = ("engineering-humanities", "doctor-nurse", "law-medicine", "cook-teacher", "beautiful-ugly")


def within(low, high):
    """A value between two bounds, of which one may be infinite."""
    return float(np.clip((max(low, -3) + min(high, 3)) / 2, low, high))


def contrasts_as_claimed(model="demo"):
    """Effect sizes that lie in the range of every claim about single contrasts."""
    ranges = claim_ranges("weat")
    rows = {}
    for claim in (1, 2, 4, 5, 6, 7, 8, 9, 10):
        rows |= {name: within(*bounds) for name, bounds in ranges[claim].items()}
    frame = pd.DataFrame({"model": model, "contrast": list(rows), "effect_size": list(rows.values())})
    return frame.assign(category=np.where(frame["contrast"].str.endswith("man-woman"), "gender", "other"))


def trends_as_claimed():
    ranges = claim_ranges("weat")
    rows = [
        (contrast, decade, "common", within(*bounds))
        for claim in (13, 14, 15)
        for contrast, decades in ranges[claim].items()
        for decade, bounds in decades.items()
    ]
    return pd.DataFrame(rows, columns=["contrast", "decade", "words", "effect_size"])


def debiased_as_claimed():
    names = [*HALVED, "author-architect", *"abcdefg"]
    frame = pd.DataFrame({"debiasing": "hard", "contrast": [f"{name}-man-woman" for name in names]})
    frame["smaller"] = np.arange(13) < 10
    frame["halved"] = [name in HALVED for name in names]
    frame["reversed"] = [name in ("doctor-nurse", "author-architect") for name in names]
    return frame.astype({"smaller": object})


def status(claim, contrasts=None, debiased=None, trends=None):
    given = (contrasts_as_claimed(), debiased_as_claimed(), trends_as_claimed())
    changed = [made if own is None else own for own, made in zip((contrasts, debiased, trends), given, strict=True)]
    return weat.judge(*changed)["status"][claim - 1]


def test_effects_as_the_study_tells_them_are_seen():
    marked = weat.judge(contrasts_as_claimed(), debiased_as_claimed(), trends_as_claimed())
    seen = set(marked.index[marked["status"] == "seen"] + 1)
    assert seen == set(range(1, 16)) - {3, 11}
    assert marked["evidence"][7] == "demo: christianity-islam-peace-violence 1.9"
    # The study does not list its biased cases, and there is one model.
    assert (marked["status"][[2, 10]] == "not testable here").all()


@pytest.mark.parametrize("claim", [1, 2, 4, 5, 6, 7, 8, 9, 10])
def test_one_effect_outside_its_range_or_without_a_value(claim):
    first, (low, high) = next(iter(claim_ranges("weat")[claim].items()))
    contrasts = contrasts_as_claimed().set_index("contrast")
    contrasts.loc[first, "effect_size"] = low - 0.1 if np.isfinite(low) else high + 0.1
    assert status(claim, contrasts.reset_index()) == "not seen"
    contrasts.loc[first, "effect_size"] = np.nan
    assert status(claim, contrasts.reset_index()) == "not testable here"


def test_every_model_has_to_agree():
    other = contrasts_as_claimed("other")
    both = pd.concat([contrasts_as_claimed(), other])
    assert status(8, both) == "seen"
    other["effect_size"] *= -1
    assert status(8, pd.concat([contrasts_as_claimed(), other])) == "not seen"


def test_twitter_has_the_least_bias():
    others, twitter = contrasts_as_claimed(), contrasts_as_claimed("glove-twitter-25")
    twitter["effect_size"] *= 0.5
    assert status(11, pd.concat([others, twitter])) == "seen"
    twitter["effect_size"] *= 4
    assert status(11, pd.concat([others, twitter])) == "not seen"
    assert status(11, twitter) == "not testable here"
    others["effect_size"] = np.nan
    assert status(11, pd.concat([others, twitter])) == "not testable here"


@pytest.mark.parametrize(("column", "contrast"), [("halved", "law-medicine"), ("reversed", "author-architect")])
def test_debiasing_that_misses_a_named_contrast(column, contrast):
    debiased = debiased_as_claimed()
    debiased.loc[debiased["contrast"] == f"{contrast}-man-woman", column] = False
    assert status(12, debiased=debiased) == "not seen"


def test_debiasing_of_fewer_contrasts_or_without_a_value():
    debiased = debiased_as_claimed()
    debiased.loc[0, "smaller"] = False
    assert status(12, debiased=debiased) == "not seen"
    debiased["smaller"] = debiased["smaller"].where(debiased.index != 1)
    assert status(12, debiased=debiased) == "not testable here"
    softly = debiased_as_claimed().assign(debiasing="soft", smaller=False)
    assert status(12, debiased=pd.concat([debiased_as_claimed(), softly])) == "seen"


@pytest.mark.parametrize("claim", [13, 14, 15])
def test_decades(claim):
    contrast, decades = next(iter(claim_ranges("weat")[claim].items()))
    decade, (low, high) = next(iter(decades.items()))
    trends = trends_as_claimed()
    available = trends.assign(words="available", effect_size=9.0)
    assert status(claim, trends=pd.concat([trends, available])) == "seen"
    here = (trends["contrast"] == contrast) & (trends["decade"] == decade)
    trends.loc[here, "effect_size"] = low - 0.1 if np.isfinite(low) else high + 0.1
    assert status(claim, trends=trends) == "not seen"
    assert status(claim, trends=trends[~here]) == "not testable here"


def test_in_short_counts_and_names_the_largest():
    contrasts = pd.DataFrame(
        {
            "model": ["demo"] * 3 + ["none"],
            "contrast": ["a", "b", "c", "a"],
            "effect_size": [0.5, -1.25, np.nan, np.nan],
            "p_two_sided_holm": [0.2, 0.01, np.nan, np.nan],
        }
    ).assign(ci_low=-1.5, ci_high=-1.0, p_two_sided=0.004, n_x=8, n_y=7)
    assert weat.in_short(contrasts) == [
        "- `demo`: 2 of 3 contrasts have a value; 1 of them are significant in either direction (two-sided "
        "p, adjusted by Holm's method).",
        "  The largest is b: d = -1.25 (interval -1.50 to -1.00, two-sided p = 0.004, 8 and 7 target words).",
        "- `none`: 0 of 1 contrasts have a value; 0 of them are significant in either direction (two-sided "
        "p, adjusted by Holm's method).",
    ]


def test_categories_leave_out_contrasts_without_a_value():
    contrasts = pd.DataFrame({"model": "demo", "category": ["x", "y", "x", "z"], "effect_size": [1, -2, -3, np.nan]})
    table = weat.effect_sizes_by_category(contrasts.assign(p_two_sided_holm=[0.04, 0.06, 0.03, np.nan]))
    assert table.values.tolist() == [["demo", "x", 2, 2.0, 3.0, 2], ["demo", "y", 1, 2.0, 2.0, 0]]
