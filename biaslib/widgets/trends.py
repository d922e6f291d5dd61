"""An explorer of associations over decades."""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from biaslib import embeddings, io, plots
from biaslib._checks import check_choice
from biaslib.io.histwords import load_histwords
from biaslib.widgets._explorer import ALL, Answer, Explorer, dropdown, text_control

_OWN, _TWO_WORDS = "own words", "two words"
_TREND_COLUMNS = ("vectors", "decade", "measure", "value", "ci_low", "ci_high", "p_value", "n_x", "n_y", "n_a", "n_b")
_TREND_COLUMNS += ("missing", "reason")


class TrendExplorer(Explorer):
    """Explore how word sets, or two words, are associated over the decades.

    Parameters
    ----------
    decades : str, Path, mapping of int to vectors, or mapping of str to such mappings
        ``"novels"``, a folder in HistWords' format, loaded decades, or several of these by name.
    vectors : mapping of str to vectors, optional
        Word vectors without decades, shown beside them.
    contrasts : pandas.DataFrame, optional
        From `biaslib.io.read_contrasts`; by default those for old novels and those that the categorical study follows
        over the decades.
    contrast : str, optional
        The first contrast; by default the first one that has a value.
    words : {"common", "available"}
        As in `biaslib.embeddings.trend`.
    n_resamples, seed : int
        Of the bootstrap intervals over words.

    Raises
    ------
    ValueError
        If these options are invalid.

    Notes
    -----
    Controls: ``vectors contrast x y a b words``. The words of a set are separated by commas; they are those of the
    chosen contrast, and can be changed. With one word in x and one in a, and none in y and b, the measure is the cosine
    of the two, which has no interval. The frame has ``vectors decade measure value ci_low ci_high p_value n_x n_y n_a
    n_b missing reason``, with a missing decade for vectors without decades.

    Examples
    --------
    >>> explorer = TrendExplorer("novels")
    >>> explorer.controls["contrast"].value = "two words"
    >>> explorer.controls["x"].value, explorer.controls["a"].value = "king", "queen"
    >>> explorer.to_frame()["value"].round(2).head(3).tolist()
    [0.66, 0.79, 0.6]
    """

    def __init__(
        self,
        decades: str | Path | Mapping = "novels",
        vectors: Mapping | None = None,
        contrasts: pd.DataFrame | None = None,
        *,
        contrast: str | None = None,
        words: str = "common",
        n_resamples: int = 999,
        seed: int = 0,
    ):
        self._decades = _decade_sets(decades)
        self._undated = dict(vectors or {})
        shared = sorted(set(self._decades) & set(self._undated))
        if shared:
            raise ValueError(f"vectors with and without decades share the name {', '.join(shared)}")
        if contrasts is None:
            study = io.read_contrasts("categorical")
            contrasts = pd.concat([io.read_contrasts("novels"), study[study["history"]]], ignore_index=True)
        self._contrasts, self._settings = contrasts, {"n_resamples": n_resamples, "seed": seed}
        known = dict(contrasts.drop_duplicates("contrast")[["contrast", "name"]].to_numpy().tolist())
        if contrast is not None:
            check_choice(contrast, "contrast", known)
        check_choice(words, "words", embeddings.TREND_WORDS)
        first = contrast or next((name for name in known if self._has_value(name, words)), next(iter(known)))
        self._labels, names = known, [*self._decades, *self._undated]
        sources = [*([("all vectors", ALL)] if len(names) > 1 else []), *((name, name) for name in names)]
        choices = [*((label, name) for name, label in known.items()), (_TWO_WORDS, _TWO_WORDS), (_OWN, _OWN)]
        kinds = [("in every decade", "common"), ("that a decade has", "available")]
        controls = {"vectors": dropdown("Vectors", sources)}
        controls["contrast"] = dropdown("Contrast", choices, first)
        controls |= {name: text_control(f"Words of {name.upper()}", "") for name in "xyab"}
        controls["words"] = dropdown("Words", kinds, words)
        super().__init__(controls)

    def _prepare(self, changed):
        chosen = self.controls["contrast"].value
        with self._held():
            if changed in ("x", "y", "a", "b"):
                two = not (self.controls["y"].value.strip() or self.controls["b"].value.strip())
                self.controls["contrast"].value = _TWO_WORDS if two else _OWN
            elif changed in (None, "contrast") and chosen in self._labels:
                for name, words in io.contrast_sets(self._contrasts, chosen).items():
                    self.controls[name.lower()].value = ", ".join(words)
            elif changed == "contrast" and chosen == _TWO_WORDS:
                for name in "xyab":
                    first = _listed(self.controls[name].value)[:1] if name in "xa" else []
                    self.controls[name].value = ", ".join(first)

    def _answer(self, options):
        sets = {name: _listed(options[name.lower()]) for name in io.SETS}
        two = not sets["Y"] and not sets["B"]
        filled = [len(sets["X"]) == 1, len(sets["A"]) == 1] if two else list(map(bool, sets.values()))
        if not all(filled):
            raise ValueError(
                "fill in X, Y, A and B for an effect size, or one word each in X and A, and leave Y and B empty"
            )
        names = [options["vectors"]] if options["vectors"] != ALL else [*self._decades, *self._undated]
        measured = _cosines if two else partial(_effects, words=options["words"], **self._settings)
        found = pd.concat([self._of_vectors(name, measured, sets) for name in names], ignore_index=True)
        if found["value"].isna().all():
            worst = found.iloc[0]
            lacking = f" ({worst['missing']})" if worst["missing"] else ""
            raise ValueError(f"no value in any decade: {worst['reason']}{lacking}")
        label = self._labels.get(options["contrast"], " / ".join(", ".join(words) for words in sets.values() if words))
        unit = "cosine" if two else "effect size d"
        spoken = ", ".join(f"{row.value:.2f} ({_dated(row)})" for row in found.dropna(subset="value").itertuples())
        return Answer(
            options=options,
            frame=found,
            draw=partial(plots.decade_lines, found, label, unit),
            caption=f"{label}: {unit} by vectors and decade",
            alt=f"Line of the {unit} of {label} over decades: {spoken}.",
            notes=tuple(_what_is_missing(found)),
        )

    def _has_value(self, contrast, words):
        sets = io.contrast_sets(self._contrasts, contrast)
        found = [_effects(d, sets, words=words, n_resamples=1)["value"] for d in self._decades.values()]
        return pd.concat(found).notna().any()

    def _of_vectors(self, name, measured, sets):
        dated = name in self._decades
        found = measured(self._decades[name] if dated else {0: self._undated[name]}, sets)
        decade = found["decade"].astype("Int64")
        found = found.assign(vectors=name, decade=decade if dated else decade.mask(decade == 0))
        return found[list(_TREND_COLUMNS)]


def _decade_sets(decades):
    """Return several sets of decades by name, loading those that are named."""
    if isinstance(decades, str | Path):
        return {Path(decades).name: load_histwords(decades)}
    if not isinstance(decades, Mapping) or not decades:
        raise ValueError(
            "decades must be 'novels', a folder, a mapping from decades to vectors, or several of these by name"
        )
    if not all(isinstance(name, str) for name in decades):
        return {"vectors": decades}
    return {name: found if isinstance(found, Mapping) else load_histwords(found) for name, found in decades.items()}


def _listed(text):
    """Read words that are separated by commas, each once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _effects(decades, sets, *, words, **settings):
    # A set of one word is a user's own wish here; what it is worth is said in a note.
    found = embeddings.trend(decades, sets, words=words, min_words=1, **settings)
    return found.rename(columns={"effect_size": "value"}).assign(measure="effect_size")


def _cosines(decades, sets):
    found = embeddings.similarity_trend(decades, sets["X"][0], sets["A"][0]).rename(columns={"cosine": "value"})
    has = found["reason"].eq("").astype(int)
    nothing = dict.fromkeys(("ci_low", "ci_high", "p_value"), math.nan)
    return found.assign(measure="cosine", n_x=has, n_y=0, n_a=has, n_b=0, missing="", **nothing)


def _dated(row):
    return row.vectors if pd.isna(row.decade) else f"{row.decade}s, {row.vectors}"


def _what_is_missing(found):
    """Say which words are missing where, and where there is no value."""
    for vectors, rows in found.groupby("vectors", sort=False):
        for missing in dict.fromkeys(rows.loc[rows["missing"] != "", "missing"]):
            n = int((rows["missing"] == missing).sum())
            yield f"{vectors}: without {missing}" + (f" in {n} of {len(rows)} decades" if n < len(rows) else "")
        without = rows[rows["value"].isna()]
        if len(without):
            reasons = ", ".join(dict.fromkeys(without["reason"]))
            where = f" in {len(without)} of {len(rows)} decades" if len(rows) > 1 else ""
            yield f"{vectors}: no value{where} ({reasons})"
