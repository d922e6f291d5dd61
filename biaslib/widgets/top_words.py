"""An explorer of the likeliest words at a mask."""

from collections.abc import Mapping
from functools import partial

import ipywidgets

from biaslib import plots
from biaslib._checks import check_choice
from biaslib._frames import concat_models
from biaslib.io.templates import fill, slots_of
from biaslib.metrics.word_contrast import COMPARED_BY, compare_sentences
from biaslib.widgets._explorer import ALL, NAMED, NARROW, Answer, ModelExplorer, Models, dropdown, text_control


class TopWordsExplorer(ModelExplorer):
    """Explore the likeliest words at the mask of two sentences, side by side.

    Parameters
    ----------
    models : OpenModels, str, MaskedLM, or a list of the latter two
        Names are loaded when first chosen.
    first, second : str
        Sentences with one ``[MASK]``, or templates with slots, ``{name}``; `second` may be empty.
    slots : mapping of str to str, optional
        The first fillers of the slots.
    k : int
        The number of likeliest words.
    condition : {"either", "first", "second"}
        The sentence whose likeliest words are shown, see `biaslib.metrics.compare_sentences`.
    article : {"literal", "agree"}
        As in `biaslib.io.fill`.
    device, dtype : str
        As in `biaslib.scoring.load_masked_lm`.

    Raises
    ------
    ValueError
        If these options are invalid.

    Notes
    -----
    Controls: ``model first second condition k``, and one per slot, named by the slot with its braces. The frame is that
    of `biaslib.metrics.compare_sentences`, with a column ``model``.

    Examples
    --------
    >>> explorer = TopWordsExplorer("demo", "I would like a cup of [MASK].", "", k=3)
    >>> explorer.to_frame()["word"].tolist()
    ['tea', 'wine', 'coffee']
    >>> explorer.controls["k"].value = 0
    >>> explorer.message
    'k must be a whole number from 1 to 30522, not 0'
    """

    def __init__(
        self,
        models: Models = "demo",
        first: str = "It is a {name} that is [MASK].",
        second: str = "She is a {name} who is [MASK].",
        *,
        slots: Mapping[str, str] | None = None,
        k: int = 10,
        condition: str = "either",
        article: str = "literal",
        device: str = "auto",
        dtype: str = "float32",
    ):
        self._article, self._slots = article, dict(slots or {})
        check_choice(condition, "condition", COMPARED_BY)
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
            raise ValueError("the first sentence is empty; write one with [MASK]")
        names = [options["model"]] if options["model"] != ALL else list(self._models)
        k, by = options["k"], options["condition"]
        found = concat_models({name: compare_sentences(self._lm(name), first, second, k, by=by) for name in names})
        against = f" and of “{second}”" if second.strip() else ""
        likely = ", ".join(found["word"].head(3))
        where = f"at the mask of “{first}”{against} in {', '.join(names)}"
        return Answer(
            options=options,
            frame=found,
            draw=partial(plots.top_word_bars, found, first, second),
            caption=f"Likeliest words {where}",
            alt=f"Bars of the probabilities of words {where}; first come {likely}. Numbers are in the table.",
            notes=tuple(_what_is_left_out(found)),
        )

    def _filled(self, template, options):
        return fill(template, self._article, **{slot: options[f"{{{slot}}}"] for slot in slots_of(template)})


def _what_is_left_out(found):
    """Say which words have no probability in the other sentence, and how many are not in the figure."""
    n_missing = int(found["reason"].ne("").sum())
    if n_missing:
        yield f"{n_missing} words have no entry in the other sentence"
    longest = found.groupby("model").size().max()
    if longest > plots.MOST_BARS:
        yield f"the figure shows the first {plots.MOST_BARS} of {longest} words"
