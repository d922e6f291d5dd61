"""Explorers: the options of a measure as widgets, answered at once by a figure and a table.

A live notebook shows an explorer's widgets. In a report, where widgets show nothing, its static twin stands in their
place: the figure, and a table that can be searched.
"""

import html
import math
import textwrap
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import ipywidgets
import pandas as pd

from biaslib import plots, weat
from biaslib.contrast import COMPARED_BY, compare_sentences, top_contrast
from biaslib.models import MaskedLM, load_masked_lm
from biaslib.results import by_model
from biaslib.scoring import shared_tokens, token_likelihoods
from biaslib.sentiment import SENTENCES, SENTIMENTS, word_sentiment
from biaslib.templates import check_columns, fill, names_of, slots_of

# Every answer is kept with its picture, about 100 kB: enough of them for an afternoon.
_ANSWERS_KEPT = 300
_LIVE_ROWS = 200
_MOST_EACH_WAY = 20
_TWIN_ROWS = 10_000
_ALL = ""
_WIDE = {"width": "100%", "max_width": "48rem"}
_NARROW = {"width": "100%", "max_width": "24rem"}
_NAMED = {"description_width": "9rem"}
_CLASS = "biaslib-explorer"
# Where nothing is typed, in lists and sliders too, JupyterLab takes keys for its commands: the down arrow leaves the
# cell, d d deletes it. An element with this mark keeps them; no widget can set it, but an image that is loaded can.
_KEEP_KEYS = f"""const root = this.closest('.{_CLASS}'); if (root && !root.dataset.keysKept) {{
root.dataset.keysKept = true; root.addEventListener('focusin', event => {{
if (!event.target.matches('input')) event.target.setAttribute('data-lm-suppress-shortcuts', 'true'); }}); }}"""
_MEASURES = {"pll_part": "PLL", "aul_part": "AUL", "aula_part": "AULA"}
_OWN, _TWO_WORDS = "own words", "two words"
_TREND_COLUMNS = ("vectors", "decade", "measure", "value", "ci_low", "ci_high", "p_value", "n_x", "n_y", "n_a", "n_b")
_TREND_COLUMNS += ("missing", "reason")


@dataclass(frozen=True)
class _Answer:
    """What an explorer found for one choice of options.

    Attributes
    ----------
    options : dict
        The choice.
    frame : pandas.DataFrame
    draw : callable
        Makes the figure.
    caption, alt : str
        What the table holds, and what the figure shows.
    notes : tuple of str
        What there is to know beside: words left out, warnings.
    picture : IPython.display.Image, optional
        The figure as drawn.
    chosen : str
        The choice in the words of the controls.
    """

    options: dict
    frame: pd.DataFrame
    draw: Callable
    caption: str
    alt: str
    notes: tuple = ()
    picture: Any = None
    chosen: str = ""


class Explorer:
    """What all explorers have; use one of those below.

    A change of a value computes once, a repeated choice is answered from memory, and a wrong one says so in a line and
    leaves the last good result.

    Attributes
    ----------
    controls : dict of str to ipywidgets.Widget
        The options by name. Setting a control's ``value`` does what choosing or typing does.
    widget : ipywidgets.VBox
        What a live notebook shows.
    message : str
        The line below the controls.
    """

    # Each explorer's own: computes the answer to a choice of options; a ValueError says what is wrong with them.
    _answer: Callable

    def __init__(self, controls):
        self.controls, self.message = {}, ""
        self._memory, self._watched, self._holding = {}, set(), False
        self._choices = ipywidgets.VBox()
        self._line = ipywidgets.HTML()
        self._picture = ipywidgets.HTML()
        self._table = ipywidgets.HTML(layout={"max_height": "22rem", "overflow": "auto"})
        self.widget = ipywidgets.VBox([self._choices, self._line, self._picture, self._table])
        self.widget.add_class(_CLASS)
        self._set_controls(controls)
        self._prepare(None)
        self._show(self._answered())

    def __repr__(self):
        return f"<{type(self).__name__}: {self._in_words()}>"

    def to_frame(self):
        """Give the table of the last good choice.

        Returns
        -------
        pandas.DataFrame
        """
        return self._current.frame.copy()

    def to_figure(self):
        """Draw the figure of the last good choice anew.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return self._current.draw()

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Give the widgets to a live notebook, and beside them the static twin, which reports show."""
        return {**self.widget._repr_mimebundle_(), "text/html": self._twin(), "text/plain": repr(self)}

    def _prepare(self, changed):
        """Adapt other controls to the one that has changed (None at first)."""

    def _twin_frame(self):
        """Give the table that a report shows."""
        return self._current.frame

    def _set_controls(self, controls):
        self.controls = controls
        for name, control in controls.items():
            if control not in self._watched:
                self._watched.add(control)
                control.observe(partial(self._update, name), names="value")
        self._choices.children = tuple(controls.values())

    @contextmanager
    def _held(self):
        """Change controls without an answer to each."""
        before, self._holding = self._holding, True
        try:
            yield
        finally:
            self._holding = before

    def _update(self, changed, _change):
        if self._holding:
            return
        try:
            self._prepare(changed)
            answer = self._answered()
        except Exception as problem:
            # Whatever it is: raised in a widget's callback, nobody would see it.
            self._say(_described(problem), wrong=True)
        except KeyboardInterrupt:
            self._say("interrupted", wrong=True)
            raise
        else:
            self._show(answer)

    def _answered(self):
        options = {name: control.value for name, control in self.controls.items()}
        key = tuple(options.items())
        if key not in self._memory:
            self._say("Computing …")
            with catch_warnings(record=True) as said:
                simplefilter("always", UserWarning)
                answer = self._answer(options)
                picture = plots.show(answer.draw(), answer.alt)
            notes = dict.fromkeys([*answer.notes, *(_note(warning) for warning in said)])
            self._memory[key] = replace(answer, notes=tuple(notes), picture=picture, chosen=self._in_words())
            if len(self._memory) > _ANSWERS_KEPT:
                del self._memory[next(iter(self._memory))]
        return self._memory[key]

    def _show(self, answer):
        self._current = answer
        self._picture.value = self._image(f' onload="{html.escape(_KEEP_KEYS)}"')
        self._table.value = _plain_table(answer.frame)
        self._say("; ".join(answer.notes))

    def _say(self, text, *, wrong=False):
        self.message = text
        shown = html.escape(text)
        if wrong:
            shown = f'<strong style="color:#b00020">✗ {shown}</strong> (below: the last good result)'
        self._line.value = f'<div role="status" style="line-height:1.4">{shown}</div>' if text else ""

    def _image(self, more=""):
        picture = self._current.picture
        source = f"data:image/png;base64,{b64encode(picture.data).decode()}"
        return f'<img src="{source}" alt="{html.escape(self._current.alt)}" style="max-width:100%"{more}>'

    def _in_words(self):
        # A list shows a label for its value.
        shown = {c.description: getattr(c, "label", c.value) for c in self.controls.values()}
        return "; ".join(f"{label}: {value}" for label, value in shown.items() if value != "")

    def _twin(self):
        frame = self._twin_frame()
        notes = [*self._current.notes]
        if len(frame) > _TWIN_ROWS:
            notes.append(f"the table has the first {_TWIN_ROWS:,} of {len(frame):,} rows")
        lines = [f"Chosen: {self._current.chosen}", *notes]
        said = "<br>".join(html.escape(line) for line in lines)
        table = plots.table(frame.head(_TWIN_ROWS), self._current.caption)
        return f"{self._image()}<p>{said}</p>{table.data}"


class _OfModels(Explorer):
    """An explorer of masked language models, which are loaded when first chosen."""

    def __init__(self, models, controls, *, every, device, dtype):
        given = [models] if isinstance(models, str | Path | tuple | MaskedLM) else list(models)
        if not given:
            raise ValueError("no model is given: name at least one, such as 'demo'")
        load = partial(load_masked_lm, device=device, dtype=dtype)
        # What is loaded already has a name only then.
        given = [load(model) if isinstance(model, tuple) else model for model in given]
        names = [model.name if isinstance(model, MaskedLM) else str(model) for model in given]
        if len(set(names)) < len(names):
            raise ValueError(f"a model is given twice: give each once, not {', '.join(names)}")
        self._sources, self._load = dict(zip(names, given, strict=True)), load
        options = [(name, name) for name in names]
        if every and len(names) > 1:
            options.append(("all models", _ALL))
        super().__init__({"model": _dropdown("Model", options), **controls})

    def _lm(self, name):
        if not isinstance(self._sources[name], MaskedLM):
            self._sources[name] = self._load(self._sources[name])
        return self._sources[name]


class TopWordsExplorer(_OfModels):
    """Explore the likeliest words at the mask of two sentences, side by side.

    Parameters
    ----------
    models : str, MaskedLM, or a list of these
        Names are loaded when first chosen.
    first, second : str
        Sentences with one ``[MASK]``, or templates with slots, ``{name}``; `second` may be empty.
    slots : mapping of str to str, optional
        What the slots are filled with at first.
    k : int
        How many of the likeliest words.
    condition : {"either", "first", "second"}
        Whose likeliest words, see `biaslib.contrast.compare_sentences`.
    article : {"literal", "agree"}
        As in `biaslib.templates.fill`.
    device, dtype : str
        As in `biaslib.models.load_masked_lm`.

    Raises
    ------
    ValueError
        If these first options are wrong.

    Notes
    -----
    Controls: ``model first second condition k``, and one for each slot, called like it with its braces. The frame is
    that of `biaslib.contrast.compare_sentences`, with a column ``model``.

    Examples
    --------
    >>> explorer = TopWordsExplorer("demo", "I would like a cup of [MASK].", "", k=3)
    >>> explorer.to_frame()["word"].tolist()
    ['tea', 'wine', 'coffee']
    >>> explorer.controls["k"].value = 0
    >>> explorer.message
    "k is 0: take a whole number from 1 to 30522, the vocabulary's size"
    """

    def __init__(
        self,
        models="demo",
        first="It is a {name} that is [MASK].",
        second="She is a {name} who is [MASK].",
        *,
        slots=None,
        k=10,
        condition="either",
        article="literal",
        device="auto",
        dtype="float32",
    ):
        self._article, self._slots = article, dict(slots or {})
        if condition not in COMPARED_BY:
            raise ValueError(f"condition {condition!r} is unknown; known: {', '.join(COMPARED_BY)}")
        sides = zip(("either sentence", "the first sentence", "the second sentence"), COMPARED_BY, strict=True)
        controls = {
            "first": _text("First sentence", first),
            "second": _text("Second sentence", second),
            "condition": _dropdown("Likeliest in", sides, condition),
            "k": ipywidgets.IntText(k, description="How many words", layout=_NARROW, style=_NAMED),
        }
        super().__init__(models, controls, every=True, device=device, dtype=dtype)

    def _prepare(self, changed):
        if changed not in (None, "first", "second"):
            return
        templates = [self.controls[side].value for side in ("first", "second")]
        wanted = dict.fromkeys(slot for template in templates for slot in slots_of(template))
        boxes = {f"{{{slot}}}": self._slot_box(slot) for slot in wanted}
        kept = {name: control for name, control in self.controls.items() if not name.startswith("{")}
        before = {name: kept.pop(name) for name in ("model", "first", "second")}
        self._set_controls(before | boxes | kept)

    def _slot_box(self, slot):
        box = self._slots.get(slot, "")
        if isinstance(box, str):
            box = self._slots[slot] = _text(f"{{{slot}}}", box)
        return box

    def _answer(self, options):
        first, second = (self._filled(options[side], options) for side in ("first", "second"))
        if not first.strip():
            raise ValueError("the first sentence is empty: write one with [MASK]")
        names = [options["model"]] if options["model"] != _ALL else list(self._sources)
        by, k = options["condition"], options["k"]
        found = by_model({name: compare_sentences(self._lm(name), first, second, k, by=by) for name in names})
        notes = []
        if found["reason"].ne("").any():
            notes.append(f"{found['reason'].ne('').sum()} words are no entry in the other sentence")
        longest = found.groupby("model").size().max()
        if longest > plots.MOST_BARS:
            notes.append(f"the figure has the first {plots.MOST_BARS} of {longest} words")
        against = f" and of “{second}”" if second.strip() else ""
        likely = ", ".join(found["word"].head(3))
        where = f"at the mask of “{first}”{against} in {', '.join(names)}"
        return _Answer(
            options=options,
            frame=found,
            draw=partial(plots.top_word_bars, found, first, second),
            caption=f"Likeliest words {where}",
            alt=f"Bars of the probabilities of words {where}; first come {likely}. Numbers are in the table.",
            notes=tuple(notes),
        )

    def _filled(self, template, options):
        return fill(template, self._article, **{slot: options[f"{{{slot}}}"] for slot in slots_of(template)})


class ContrastExplorer(Explorer):
    """Explore the words that a model ties to a name as a thing, and as a person.

    Parameters
    ----------
    words : pandas.DataFrame, or mapping of str to pandas.DataFrame
        From `biaslib.contrast.contrast`, or several by model. Only kept words count: make it with a small `min_z`.
    name : str, optional
        Which name at first.
    min_z : float, optional
        The least |z| at first; 2 where the frame goes as low.
    k : int
        How many bars each way, at most 20.

    Raises
    ------
    ValueError
        If no word is kept, or not of this name.

    Notes
    -----
    Controls: ``model`` (of several), ``name min_z sentiment search k``. The frame has ``name sentences word p_object
    p_human log_ratio z sentiment compound``; `sentences` says where the word is likelier. In a report, the table holds
    the words of all names.

    Examples
    --------
    >>> frame = pd.DataFrame({"name": "pig", "word": ["ripe", "sad"], "log_ratio": [3.0, -2.0], "kept": True})
    >>> explorer = ContrastExplorer(frame.assign(p_object=0.1, p_human=0.2, z=[3.0, -2.5]))
    >>> explorer.controls["sentiment"].value = "negative"
    >>> explorer.to_frame()["word"].tolist()
    ['sad']
    """

    def __init__(self, words, *, name=None, min_z=None, k=10):
        given = dict(words) if isinstance(words, Mapping) else {_ALL: words}
        self._words = _with_sentiment(given)
        self._reasons = {model: frame.attrs.get("skipped", {}) for model, frame in given.items()}
        self._names = {model: [*names_of(frame), *self._reasons[model]] for model, frame in given.items()}
        sizes = pd.concat([frame["z"].abs() for frame in self._words.values()])
        if sizes.empty:
            raise ValueError("no word is kept: make the contrast with a smaller min_z")
        low, high = math.floor(10 * sizes.min()) / 10, math.ceil(10 * sizes.max()) / 10
        first = next(iter(given))
        if name is not None and name not in self._names[first]:
            raise ValueError(f"no name {name!r}; known: {', '.join(self._names[first])}")
        if not 1 <= k <= _MOST_EACH_WAY:
            raise ValueError(f"k has to be a whole number from 1 to {_MOST_EACH_WAY}, not {k!r}")
        controls = {"model": _dropdown("Model", [(m, m) for m in given])} if len(given) > 1 else {}
        kinds = [("any", "any"), *((s, s) for s in SENTIMENTS), ("without a sentiment", "")]
        controls |= {
            "name": _dropdown("Name", [(n, n) for n in self._names[first]], name),
            "min_z": _slider("Least |z|", min(max(low, 2.0 if min_z is None else min_z), high), low, high, 0.1),
            "sentiment": _dropdown("Sentiment", kinds),
            "search": _text("Words with", ""),
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
            raise ValueError(f"no kept word of {name!r} is like this, with |z| of at least {min_z:g}")
        top = top_contrast(rows.assign(kept=True), options["k"])
        top["sentiment"] = top["word"].map(rows.set_index("word")["sentiment"])
        title = f"{model}: {name}" if model else name
        counts = [int((rows["sentences"] == side).sum()) for side in SENTENCES]
        extremes = [", ".join(top.loc[top["sentences"] == side, "word"].head(3)) or "none" for side in SENTENCES]
        return _Answer(
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
        """Take the words that pass, of all names."""
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


class TrendExplorer(Explorer):
    """Explore how word sets, or two words, lie to each other over the decades.

    Parameters
    ----------
    decades : str, Path, mapping of int to vectors, or mapping of str to such mappings
        ``"novels"``, a folder in HistWords' format, loaded decades, or several of these by name.
    vectors : mapping of str to vectors, optional
        Word vectors without decades, to be seen beside.
    contrasts : pandas.DataFrame, optional
        From `biaslib.weat.read_contrasts`; by default those for old novels and those that the categorical study follows
        through the decades.
    contrast : str, optional
        Which contrast at first; by default the first one that has a value.
    words : {"common", "available"}
        As in `biaslib.weat.trend`.
    n_resamples, seed : int
        Of the bootstrap intervals over words.

    Raises
    ------
    ValueError
        If these first options are wrong.

    Notes
    -----
    Controls: ``vectors contrast x y a b words``. The words of a set are separated by commas; they follow the contrast
    that is chosen, and can be changed. With one word in x and one in a, and none in y and b, the measure is the cosine
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
        decades="novels",
        vectors=None,
        contrasts=None,
        *,
        contrast=None,
        words="common",
        n_resamples=999,
        seed=0,
    ):
        self._decades = _decade_sets(decades)
        self._undated = dict(vectors or {})
        shared = sorted(set(self._decades) & set(self._undated))
        if shared:
            raise ValueError(f"vectors with and without decades share the name {', '.join(shared)}")
        if contrasts is None:
            study = weat.read_contrasts("categorical")
            contrasts = pd.concat([weat.read_contrasts("novels"), study[study["history"]]], ignore_index=True)
        self._contrasts, self._settings = contrasts, {"n_resamples": n_resamples, "seed": seed}
        known = dict(contrasts.drop_duplicates("contrast")[["contrast", "name"]].to_numpy().tolist())
        if contrast is not None and contrast not in known:
            raise ValueError(f"no contrast {contrast!r}; known: {', '.join(known)}")
        if words not in weat.TREND_WORDS:
            raise ValueError(f"words {words!r} is unknown; known: {', '.join(weat.TREND_WORDS)}")
        first = contrast or next((name for name in known if self._has_value(name, words)), next(iter(known)))
        self._labels, names = known, [*self._decades, *self._undated]
        sources = [*([("all vectors", _ALL)] if len(names) > 1 else []), *((name, name) for name in names)]
        choices = [*((label, name) for name, label in known.items()), (_TWO_WORDS, _TWO_WORDS), (_OWN, _OWN)]
        kinds = [("in every decade", "common"), ("that a decade has", "available")]
        controls = {"vectors": _dropdown("Vectors", sources)}
        controls["contrast"] = _dropdown("Contrast", choices, first)
        controls |= {name: _text(f"Words of {name.upper()}", "") for name in "xyab"}
        controls["words"] = _dropdown("Words", kinds, words)
        super().__init__(controls)

    def _prepare(self, changed):
        chosen = self.controls["contrast"].value
        with self._held():
            if changed in ("x", "y", "a", "b"):
                two = not (self.controls["y"].value.strip() or self.controls["b"].value.strip())
                self.controls["contrast"].value = _TWO_WORDS if two else _OWN
            elif changed in (None, "contrast") and chosen in self._labels:
                for name, words in weat.contrast_sets(self._contrasts, chosen).items():
                    self.controls[name.lower()].value = ", ".join(words)
            elif changed == "contrast" and chosen == _TWO_WORDS:
                for name in "xyab":
                    first = _listed(self.controls[name].value)[:1] if name in "xa" else []
                    self.controls[name].value = ", ".join(first)

    def _answer(self, options):
        sets = {name: _listed(options[name.lower()]) for name in weat.SETS}
        two = not sets["Y"] and not sets["B"]
        filled = [len(sets["X"]) == 1, len(sets["A"]) == 1] if two else list(map(bool, sets.values()))
        if not all(filled):
            raise ValueError(
                "fill X, Y, A and B for an effect size, or leave Y and B empty and write one word in X, one in A"
            )
        names = [options["vectors"]] if options["vectors"] != _ALL else [*self._decades, *self._undated]
        measured = _cosines if two else partial(_effects, words=options["words"], **self._settings)
        found = pd.concat([self._of_vectors(name, measured, sets) for name in names], ignore_index=True)
        if found["value"].isna().all():
            worst = found.iloc[0]
            lacking = f" ({worst['missing']})" if worst["missing"] else ""
            raise ValueError(f"no value in any decade: {worst['reason']}{lacking}")
        label = self._labels.get(options["contrast"], " / ".join(", ".join(words) for words in sets.values() if words))
        unit = "cosine" if two else "effect size d"
        spoken = ", ".join(f"{row.value:.2f} ({_dated(row)})" for row in found.dropna(subset="value").itertuples())
        return _Answer(
            options=options,
            frame=found,
            draw=partial(plots.decade_lines, found, label, unit),
            caption=f"{label}: {unit} by vectors and decade",
            alt=f"Line of the {unit} of {label} over decades: {spoken}.",
            notes=tuple(_what_is_missing(found)),
        )

    def _has_value(self, contrast, words):
        sets = weat.contrast_sets(self._contrasts, contrast)
        found = [_effects(d, sets, words=words, n_resamples=1)["value"] for d in self._decades.values()]
        return pd.concat(found).notna().any()

    def _of_vectors(self, name, measured, sets):
        dated = name in self._decades
        found = measured(self._decades[name] if dated else {0: self._undated[name]}, sets)
        decade = found["decade"].astype("Int64")
        found = found.assign(vectors=name, decade=decade if dated else decade.mask(decade == 0))
        return found[list(_TREND_COLUMNS)]


class PairExplorer(_OfModels):
    """Explore token by token what makes a model prefer one sentence to another.

    Parameters
    ----------
    models : str, MaskedLM, or a list of these
        Names are loaded when first chosen.
    first, second : str
        Sentences without a mask; `second` may be empty.
    device, dtype : str
        As in `biaslib.models.load_masked_lm`.

    Raises
    ------
    ValueError
        If a sentence cannot be scored.

    Notes
    -----
    Controls: ``model first second measure``. The frame has ``model sentence position text token shared pll_part
    aul_part aula_part``, see `biaslib.scoring.token_likelihoods`; `shared` marks the tokens of both sentences, which
    the CrowS-Pairs score compares.

    Examples
    --------
    >>> explorer = PairExplorer("demo", "He is a nurse.", "She is a nurse.")
    >>> frame = explorer.to_frame()
    >>> frame.loc[~frame["shared"], "text"].tolist()
    ['He', 'She']
    """

    def __init__(
        self, models="demo", first="He is a nurse.", second="She is a nurse.", *, device="auto", dtype="float32"
    ):
        kinds = [("PLL, AUL and AULA", "all"), *((name, column) for column, name in _MEASURES.items())]
        controls = {
            "first": _text("First sentence", first),
            "second": _text("Second sentence", second),
            "measure": _dropdown("Score", kinds),
        }
        super().__init__(models, controls, every=False, device=device, dtype=dtype)

    def _answer(self, options):
        lm = self._lm(options["model"])
        sentences = {side: options[side] for side in ("first", "second") if side == "first" or options[side].strip()}
        found = token_likelihoods(lm, list(sentences.values()))
        for row in found[found["reason"] != ""].itertuples():
            raise ValueError(f"{row.reason}: {list(sentences.values())[row.sentence_id]!r}")
        found = found.assign(sentence=found["sentence_id"].map(dict(enumerate(sentences))), model=lm.name)
        found["shared"] = _is_shared(lm, sentences, found)
        chosen = options["measure"]
        measures = _MEASURES if chosen == "all" else {chosen: _MEASURES[chosen]}
        sums = found.groupby("sentence", sort=False)[list(_MEASURES)].sum(min_count=1)
        totals = {
            side: ", ".join(f"{n} {_number(sums.loc[side, c])}" for c, n in measures.items()) for side in sentences
        }
        titles = {side: _title(side, sentence, totals[side]) for side, sentence in sentences.items()}
        columns = ["model", "sentence", "position", "text", "token", "shared", *_MEASURES]
        spoken = "; ".join(f"“{sentence}”: {totals[side]}" for side, sentence in sentences.items())
        return _Answer(
            options=options,
            frame=found[columns],
            draw=partial(plots.token_strips, found, measures, titles),
            caption="What each token adds to its sentence's scores",
            alt=f"Strips of cells, one a token, for {spoken}. Numbers are in the table.",
            notes=tuple(_preferred(found, sums)),
        )


def _text(label, value):
    return ipywidgets.Text(
        value, description=label, continuous_update=False, layout=_WIDE, style=_NAMED, placeholder=" "
    )


def _slider(label, value, low, high, step):
    kind = ipywidgets.IntSlider if isinstance(step, int) else ipywidgets.FloatSlider
    shape = {"description": label, "continuous_update": False, "layout": _NARROW, "style": _NAMED}
    return kind(value, min=low, max=high, step=step, **shape)


def _dropdown(label, options, value=None):
    options = list(options)
    first = options[0][1] if value is None else value
    return ipywidgets.Dropdown(options=options, value=first, description=label, layout=_NARROW, style=_NAMED)


def _described(problem):
    text = textwrap.shorten(str(problem), 400, placeholder=" …")
    return text if isinstance(problem, ValueError) and text else f"{type(problem).__name__}: {text}".rstrip(": ")


def _note(warning):
    text = " ".join(str(warning.message).split())
    return "the figure's type lacks some characters, the table has them all" if text.startswith("Glyph ") else text


def _plain_table(frame):
    """Make a table for the live notebook, everything in it shown as text."""
    rows = frame.head(_LIVE_ROWS)
    with pd.option_context("display.max_colwidth", None):
        table = rows.to_html(index=False, border=0, na_rep="", float_format="{:.4g}".format)
    if len(rows) == len(frame):
        return table
    return f"<p>The first {len(rows)} of {len(frame):,} rows; to_frame() has them all.</p>{table}"


def _with_sentiment(given):
    """Take the kept words of each model's contrast, with the sentence they go with and their sentiment."""
    kept = {}
    for model, frame in given.items():
        check_columns(frame, ("name", "word", "p_object", "p_human", "log_ratio", "z", "kept"))
        rows = frame.loc[frame["kept"].to_numpy(bool)]
        ratio = rows["log_ratio"].to_numpy()
        kept[model] = pd.DataFrame(
            {
                "name": rows["name"].astype(str),
                "sentences": pd.Series("", index=rows.index)
                .mask(ratio > 0, SENTENCES[0])
                .mask(ratio < 0, SENTENCES[1]),
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


def _decade_sets(decades):
    """Give several sets of decades by name, loading those that are named."""
    from biaslib.vectors import load_histwords

    if isinstance(decades, str | Path):
        return {Path(decades).name: load_histwords(decades)}
    if not isinstance(decades, Mapping) or not decades:
        raise ValueError("decades has to be 'novels', a folder, or map decades to vectors, or names to such mappings")
    if not all(isinstance(name, str) for name in decades):
        return {"vectors": decades}
    return {name: found if isinstance(found, Mapping) else load_histwords(found) for name, found in decades.items()}


def _listed(text):
    """Read words that are separated by commas, each once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _effects(decades, sets, *, words, **settings):
    # A set of one word is a user's own wish here; what it is worth is said in a note.
    found = weat.trend(decades, sets, words=words, min_words=1, **settings)
    return found.rename(columns={"effect_size": "value"}).assign(measure="effect_size")


def _cosines(decades, sets):
    found = weat.similarity_trend(decades, sets["X"][0], sets["A"][0]).rename(columns={"cosine": "value"})
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


def _is_shared(lm, sentences, found):
    if len(sentences) == 1:
        return True
    shared = shared_tokens(lm, [sentences["first"]], [sentences["second"]])
    places = {side: set(shared[f"position_{side}"]) for side in sentences}
    return [position in places[side] for side, position in zip(found["sentence"], found["position"], strict=True)]


def _title(side, sentence, totals):
    return "\n".join([*textwrap.wrap(f"{side}: {sentence}", 84), totals])


def _number(value):
    return "none" if math.isnan(value) else f"{value:.4g}".replace("-", "−")


def _preferred(found, sums):
    """Say which of two sentences scores higher by each measure."""
    if len(sums) < 2:
        return
    for column, name in _MEASURES.items():
        first, second = sums[column]
        if not math.isnan(first):
            yield (
                f"{name} is higher for the {'first' if first > second else 'second'}"
                if first != second
                else (f"{name} is the same for both")
            )
    shared = found[found["shared"]].groupby("sentence", sort=False)["pll_part"].agg(["sum", "size"])
    if len(shared) == 2:
        first, second = shared["sum"]
        yield f"PLL over the {shared['size'].iloc[0]} shared tokens is {_number(first)} and {_number(second)}"
