"""Explore the likeliest words at a mask."""

from functools import partial

import ipywidgets

from biaslib import plots
from biaslib._frames import concat_models
from biaslib.io.templates import fill, slots_of
from biaslib.metrics.word_contrast import COMPARED_BY, compare_sentences
from biaslib.widgets._explorer import ALL, NAMED, NARROW, Answer, ModelExplorer, dropdown, text_control


class TopWordsExplorer(ModelExplorer):
    """Explore the likeliest words at the mask of two sentences, side by side.

    Parameters
    ----------
    models : OpenModels, str, MaskedLM, or a list of the latter two
        Names are loaded when first chosen.
    first, second : str
        Sentences with one ``[MASK]``, or templates with slots, ``{name}``; `second` may be empty.
    slots : mapping of str to str, optional
        What the slots are filled with at first.
    k : int
        How many of the likeliest words.
    condition : {"either", "first", "second"}
        Whose likeliest words, see `biaslib.metrics.compare_sentences`.
    article : {"literal", "agree"}
        As in `biaslib.io.fill`.
    device, dtype : str
        As in `biaslib.scoring.load_masked_lm`.

    Raises
    ------
    ValueError
        If these first options are wrong.

    Notes
    -----
    Controls: ``model first second condition k``, and one for each slot, called like it with its braces. The frame is
    that of `biaslib.metrics.compare_sentences`, with a column ``model``.

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
            "first": text_control("First sentence", first),
            "second": text_control("Second sentence", second),
            "condition": dropdown("Likeliest in", sides, condition),
            "k": ipywidgets.IntText(k, description="How many words", layout=NARROW, style=NAMED),
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
            box = self._slots[slot] = text_control(f"{{{slot}}}", box)
        return box

    def _answer(self, options):
        first, second = (self._filled(options[side], options) for side in ("first", "second"))
        if not first.strip():
            raise ValueError("the first sentence is empty: write one with [MASK]")
        names = [options["model"]] if options["model"] != ALL else list(self._models)
        by, k = options["condition"], options["k"]
        found = concat_models({name: compare_sentences(self._lm(name), first, second, k, by=by) for name in names})
        notes = []
        if found["reason"].ne("").any():
            notes.append(f"{found['reason'].ne('').sum()} words are no entry in the other sentence")
        longest = found.groupby("model").size().max()
        if longest > plots.MOST_BARS:
            notes.append(f"the figure has the first {plots.MOST_BARS} of {longest} words")
        against = f" and of “{second}”" if second.strip() else ""
        likely = ", ".join(found["word"].head(3))
        where = f"at the mask of “{first}”{against} in {', '.join(names)}"
        return Answer(
            options=options,
            frame=found,
            draw=partial(plots.top_word_bars, found, first, second),
            caption=f"Likeliest words {where}",
            alt=f"Bars of the probabilities of words {where}; first come {likely}. Numbers are in the table.",
            notes=tuple(notes),
        )

    def _filled(self, template, options):
        return fill(template, self._article, **{slot: options[f"{{{slot}}}"] for slot in slots_of(template)})
