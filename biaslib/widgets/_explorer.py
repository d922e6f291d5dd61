"""What all explorers share: controls, a figure, a table, a memory of answers, and a static twin for reports."""

import html
import textwrap
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from warnings import catch_warnings, simplefilter

import ipywidgets
import pandas as pd
from IPython.display import Image
from matplotlib.figure import Figure

from biaslib import report
from biaslib._text import one_line
from biaslib.scoring.model_pool import OpenModels, open_models
from biaslib.scoring.models import MaskedLM

# Every answer is kept with its picture, about 100 kB: enough of them for an afternoon.
_ANSWERS_KEPT = 300
_LIVE_ROWS = 200
_TWIN_ROWS = 10_000
ALL = ""
_WIDE = {"width": "100%", "max_width": "48rem"}
NARROW = {"width": "100%", "max_width": "24rem"}
NAMED = {"description_width": "9rem"}
_CLASS = "biaslib-explorer"
# Where nothing is typed, in lists and sliders too, JupyterLab takes keys for its commands: the down arrow leaves the
# cell, d d deletes it. An element with this mark keeps them; no widget can set it, but an image that is loaded can.
_KEEP_KEYS = f"""const root = this.closest('.{_CLASS}'); if (root && !root.dataset.keysKept) {{
root.dataset.keysKept = true; root.addEventListener('focusin', event => {{
if (!event.target.matches('input')) event.target.setAttribute('data-lm-suppress-shortcuts', 'true'); }}); }}"""


# What explorers of models are given.
Models = OpenModels | MaskedLM | str | Path | tuple | Iterable


@dataclass(frozen=True)
class Answer:
    """What an explorer found for one choice of options.

    Attributes
    ----------
    options : dict
        The choice.
    frame : pandas.DataFrame
        The table.
    draw : callable
        Draws the figure.
    caption, alt : str
        What the table and the figure show.
    notes : tuple of str
        What else there is to know: words left out, warnings.
    picture : IPython.display.Image, optional
        The figure as drawn.
    chosen : str
        The choice in the words of the controls.
    """

    options: dict
    frame: pd.DataFrame
    draw: Callable[[], Figure]
    caption: str
    alt: str
    notes: tuple[str, ...] = ()
    picture: Image | None = None
    chosen: str = ""


class Explorer:
    """The base of all explorers.

    Each change of a value computes once, a repeated choice is answered from memory, and an invalid one says so in one
    line and leaves the last good result.

    Attributes
    ----------
    controls : dict of str to ipywidgets.Widget
        The options by name. Setting a control's ``value`` has the effect of choosing or typing it.
    widget : ipywidgets.VBox
        What a live notebook shows.
    message : str
        The line below the controls.
    """

    # Each explorer's own: computes the answer to a choice of options; a ValueError says what is wrong with them.
    _answer: Callable[[dict], Answer]

    def __init__(self, controls: dict[str, ipywidgets.Widget]):
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

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._in_words()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return the table of the last good choice.

        Returns
        -------
        pandas.DataFrame
        """
        return self._current.frame.copy()

    def to_figure(self) -> Figure:
        """Draw the figure of the last good choice again.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return self._current.draw()

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Return the widgets for a live notebook and the static twin that reports show."""
        return {**self.widget._repr_mimebundle_(), "text/html": self._twin(), "text/plain": repr(self)}

    def _prepare(self, changed):
        """Adapt other controls to the one that has changed (None at first)."""

    def _twin_frame(self):
        """Return the table that a report shows."""
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
        """Change controls without computing an answer for each change."""
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
            # Whatever it is: nobody would see it if it were raised in a widget's callback.
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
                picture = report.show(answer.draw(), answer.alt)
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
            notes.append(f"the table shows the first {_TWIN_ROWS:,} of {len(frame):,} rows")
        lines = [f"Chosen: {self._current.chosen}", *notes]
        said = "<br>".join(html.escape(line) for line in lines)
        table = report.table(frame.head(_TWIN_ROWS), self._current.caption)
        return f"{self._image()}<p>{said}</p>{table.data}"


class ModelExplorer(Explorer):
    """The base of explorers of masked language models, which are loaded when first chosen."""

    def __init__(self, models: Models, controls: dict[str, ipywidgets.Widget], *, every: bool, device: str, dtype: str):
        if not isinstance(models, OpenModels):
            given = [models] if isinstance(models, str | Path | tuple | MaskedLM) else models
            models = open_models(given, device=device, dtype=dtype)
        self._models = models
        options = [(name, name) for name in models]
        if every and len(models) > 1:
            options.append(("all models", ALL))
        super().__init__({"model": dropdown("Model", options), **controls})

    def _lm(self, name):
        return self._models[name]


def text_control(label, value):
    return ipywidgets.Text(
        value, description=label, continuous_update=False, layout=_WIDE, style=NAMED, placeholder=" "
    )


def dropdown(label, options, value=None):
    options = list(options)
    first = options[0][1] if value is None else value
    return ipywidgets.Dropdown(options=options, value=first, description=label, layout=NARROW, style=NAMED)


def _described(problem):
    text = textwrap.shorten(str(problem), 400, placeholder=" …")
    return text if isinstance(problem, ValueError) and text else f"{type(problem).__name__}: {text}".rstrip(": ")


def _note(warning):
    text = one_line(warning.message)
    return "the figure's font lacks some characters; the table has them all" if text.startswith("Glyph ") else text


def _plain_table(frame):
    """Return a table for the live notebook in which everything is shown as text."""
    rows = frame.head(_LIVE_ROWS)
    with pd.option_context("display.max_colwidth", None):
        table = rows.to_html(index=False, border=0, na_rep="", float_format="{:.4g}".format)
    if len(rows) == len(frame):
        return table
    return f"<p>The first {len(rows)} of {len(frame):,} rows; to_frame() has them all.</p>{table}"
