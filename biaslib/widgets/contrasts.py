"""An explorer of the words that a model ties to a name."""

import math
from collections.abc import Mapping
from functools import partial

import ipywidgets
import numpy as np
import pandas as pd

from biaslib import plots
from biaslib._checks import check_choice, check_columns, check_count
from biaslib._frames import names_of
from biaslib.metrics.sentiment import SENTENCES, SENTIMENTS, word_sentiment
from biaslib.metrics.word_contrast import top_contrast
from biaslib.widgets._explorer import ALL, NAMED, NARROW, Answer, Explorer, dropdown, text_control

_MOST_EACH_WAY = 20


class ContrastExplorer(Explorer):
    """Explore the words that a model ties to a name as a thing, and as a person.

    Parameters
    ----------
    words : pandas.DataFrame, or mapping of str to pandas.DataFrame
        From `biaslib.metrics.contrast`, or several by model. Only kept words are shown: compute it with a small
        `min_z`.
    name : str, optional
        The first name.
    min_z : float, optional
        The first minimum of |z|; by default 2, if the frame goes as low.
    k : int
        The number of bars each way, at most 20.

    Raises
    ------
    ValueError
        If no word is kept, or there is no such name.

    Notes
    -----
    Controls: ``model`` (of several), ``name min_z sentiment search k``. The frame has ``name sentences word p_object
    p_human log_ratio z sentiment compound``; `sentences` says where the word is likelier. In a report, the table shows
    the words of all names.

    Examples
    --------
    >>> frame = pd.DataFrame({"name": "pig", "word": ["ripe", "sad"], "log_ratio": [3.0, -2.0], "kept": True})
    >>> explorer = ContrastExplorer(frame.assign(p_object=0.1, p_human=0.2, z=[3.0, -2.5]))
    >>> explorer.controls["sentiment"].value = "negative"
    >>> explorer.to_frame()["word"].tolist()
    ['sad']
    """

    def __init__(
        self,
        words: pd.DataFrame | Mapping[str, pd.DataFrame],
        *,
        name: str | None = None,
        min_z: float | None = None,
        k: int = 10,
    ):
        given = dict(words) if isinstance(words, Mapping) else {ALL: words}
        self._words = _with_sentiment(given)
        self._reasons = {model: frame.attrs.get("skipped", {}) for model, frame in given.items()}
        self._names = {model: [*names_of(frame), *self._reasons[model]] for model, frame in given.items()}
        sizes = pd.concat([frame["z"].abs() for frame in self._words.values()])
        if sizes.empty:
            raise ValueError("no word is kept; compute the contrast with a smaller min_z")
        low, high = math.floor(10 * sizes.min()) / 10, math.ceil(10 * sizes.max()) / 10
        first = next(iter(given))
        if name is not None:
            check_choice(name, "name", self._names[first])
        check_count(k, "k", most=_MOST_EACH_WAY)
        controls = {"model": dropdown("Model", [(m, m) for m in given])} if len(given) > 1 else {}
        kinds = [("any", "any"), *((s, s) for s in SENTIMENTS), ("without a sentiment", "")]
        controls |= {
            "name": dropdown("Name", [(n, n) for n in self._names[first]], name),
            "min_z": _slider("Least |z|", min(max(low, 2.0 if min_z is None else min_z), high), low, high, 0.1),
            "sentiment": dropdown("Sentiment", kinds),
            "search": text_control("Words with", ""),
            "k": _slider("Bars each way", k, 1, _MOST_EACH_WAY, 1),
        }
        super().__init__(controls)

    def _prepare(self, changed):
        if changed == "model":
            box = self.controls["name"]
            names = self._names[self.controls["model"].value]
            with self._held():
                kept = box.value if box.value in names else names[0]
                box.options = [(name, name) for name in names]
                box.value = kept

    def _answer(self, options):
        model, name, min_z = self._model(options), options["name"], options["min_z"]
        if name in self._reasons[model]:
            raise ValueError(f"no contrast for this name: {self._reasons[model][name]}")
        rows = self._filtered(options)
        rows = rows[rows["name"] == name].reset_index(drop=True)
        if rows.empty:
            raise ValueError(f"no kept word of {name!r} matches, with |z| of at least {min_z:g}")
        top = top_contrast(rows.assign(kept=True), options["k"])
        top["sentiment"] = top["word"].map(rows.set_index("word")["sentiment"])
        title = f"{model}: {name}" if model else name
        counts = [int((rows["sentences"] == side).sum()) for side in SENTENCES]
        extremes = [", ".join(top.loc[top["sentences"] == side, "word"].head(3)) or "none" for side in SENTENCES]
        return Answer(
            options=options,
            frame=rows,
            draw=partial(plots.contrast_bars, top, title),
            caption="Words of each name, as a thing (object) and as a person (human), largest log ratio first",
            alt=f"Log ratios of words of {title}. As a thing: {extremes[0]}. As a person: {extremes[1]}.",
            notes=(
                f"{len(rows)} words with |z| of at least {min_z:g}: {counts[0]} as a thing, {counts[1]} as a person",
            ),
        )

    def _model(self, options):
        return options.get("model", next(iter(self._words)))

    def _filtered(self, options):
        """Return the words of all names that pass the filters."""
        rows = self._words[self._model(options)]
        passes = rows["z"].abs() >= options["min_z"] - 1e-9
        if options["sentiment"] != "any":
            passes &= rows["sentiment"] == options["sentiment"]
        wanted = options["search"].strip().casefold()
        if wanted:
            passes &= rows["word"].str.casefold().str.contains(wanted, regex=False)
        return rows[passes].sort_values("log_ratio", ascending=False, kind="stable")

    def _twin_frame(self):
        rows = self._filtered(self._current.options)
        return rows.sort_values("log_ratio", key=lambda ratio: -ratio.abs(), kind="stable")


def _slider(label, value, low, high, step):
    kind = ipywidgets.IntSlider if isinstance(step, int) else ipywidgets.FloatSlider
    shape = {"description": label, "continuous_update": False, "layout": NARROW, "style": NAMED}
    return kind(value, min=low, max=high, step=step, **shape)


def _with_sentiment(given):
    """Return the kept words of each model's contrast, with the sentence they go with and their sentiment."""
    kept = {}
    for model, frame in given.items():
        check_columns(frame, ("name", "word", "p_object", "p_human", "log_ratio", "z", "kept"))
        rows = frame.loc[frame["kept"].to_numpy(bool)]
        ratio = rows["log_ratio"].to_numpy()
        kept[model] = pd.DataFrame(
            {
                "name": rows["name"].astype(str),
                "sentences": np.select([ratio > 0, ratio < 0], SENTENCES, ""),
                "word": rows["word"].astype(str),
                **{column: rows[column] for column in ("p_object", "p_human", "log_ratio", "z")},
            }
        )
    words = list(dict.fromkeys(word for rows in kept.values() for word in rows["word"]))
    scored = word_sentiment(words).set_index("word")
    return {
        model: rows.assign(**{column: rows["word"].map(scored[column]) for column in ("sentiment", "compound")})
        for model, rows in kept.items()
    }
