"""An explorer of two sentences, token by token."""

import math
import textwrap
from functools import partial

from biaslib import plots
from biaslib.scoring.token_scores import shared_tokens, token_likelihoods
from biaslib.widgets._explorer import Answer, ModelExplorer, Models, dropdown, text_control

_MEASURES = {"pll_part": "PLL", "aul_part": "AUL", "aula_part": "AULA"}


class PairExplorer(ModelExplorer):
    """Explore, token by token, what makes a model prefer one sentence to another.

    Parameters
    ----------
    models : OpenModels, str, MaskedLM, or a list of the latter two
        Names are loaded when first chosen.
    first, second : str
        Sentences without a mask; `second` may be empty.
    device, dtype : str
        As in `biaslib.scoring.load_masked_lm`.

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
        self,
        models: Models = "demo",
        first: str = "He is a nurse.",
        second: str = "She is a nurse.",
        *,
        device: str = "auto",
        dtype: str = "float32",
    ):
        kinds = [("PLL, AUL and AULA", "all"), *((name, column) for column, name in _MEASURES.items())]
        controls = {
            "first": text_control("First sentence", first),
            "second": text_control("Second sentence", second),
            "measure": dropdown("Score", kinds),
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
        return Answer(
            options=options,
            frame=found[columns],
            draw=partial(plots.token_strips, found, measures, titles),
            caption="What each token adds to its sentence's scores",
            alt=f"Strips of cells, one per token, for {spoken}. Numbers are in the table.",
            notes=tuple(_preferred(found, sums)),
        )


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
        if first == second:
            yield f"{name} is the same for both"
        elif not math.isnan(first):
            yield f"{name} is higher for the {'first' if first > second else 'second'}"
    shared = found[found["shared"]].groupby("sentence", sort=False)["pll_part"].agg(["sum", "size"])
    if len(shared) == 2:
        first, second = shared["sum"]
        yield f"PLL over the {shared['size'].iloc[0]} shared tokens is {_number(first)} and {_number(second)}"
