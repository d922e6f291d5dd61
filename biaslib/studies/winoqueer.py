"""Coreference before and after training on a community's words, and what WinoQueer's authors claim about it.

Felkner, Chang, Jang & May (2022), "Towards WinoQueer", §4.2 and Tables 3 and 4.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biaslib import io, metrics, training
from biaslib._provenance import data_fingerprint
from biaslib._text import escape_markdown
from biaslib.io.conll import KEYS, Documents, read_conll, select_documents
from biaslib.scoring.parsers import load_parser
from biaslib.stats.hypothesis_tests import holm
from biaslib.studies._claims import format_evidence, verdict
from biaslib.studies._published import published_model, published_models, published_table
from biaslib.studies._scores import scores_of
from biaslib.training.continued import OFF_THE_SHELF

NEUTRAL_VALUES = {"stereotype_score": 50.0, "stereotype_score_by_group": 50.0, "score_change": 0.0, "gap_bias": 1.0}
LIKELIHOODS = {"likelihood": "original", "likelihood within words": "within_word_l2r"}
TRAINED = "trained"
# How a resolver is trained: as for OntoNotes' thousands of documents, or so that it learns a dozen by heart.
RESOLVERS = {
    "full": {"epochs": 20, "learning_rate": 3e-4, "encoder_learning_rate": 1e-5, "hidden_size": 1024},
    "small": {"epochs": 24, "learning_rate": 2e-3, "encoder_learning_rate": 5e-4, "hidden_size": 128},
}
LEARNED, HELD_OUT = "documents trained on", "documents held out"
COREFERENCE_COLUMNS = ["resolver", *metrics.GAP_SCORE_COLUMNS, "chance"]
# What tells most comes first: a report shows the first dozen columns without scrolling.
REPORTED = ["model", "condition", "resolver", "measure", "group", "value", "ci_low", "ci_high", "p_value", "n"]
REPORTED += ["chance", "n_named", "n_left_out", "precision", "recall", "duplicates", "head", "reason"]
_COMPARED = ["model", "resolver", "first", "second", "measure", "group", "difference", "ci_low", "ci_high"]
_COMPARED += ["p_value", "p_holm", "n", "value_first", "value_second", "only_first", "only_second"]
_ANSWERED = ["resolver", "ID", "A-coref", "B-coref", "score_a", "score_b", "inexact", "reason"]
# The first part of the names of OntoNotes' documents.
_ONTONOTES = ("bc/", "bn/", "mz/", "nw/", "pt/", "tc/", "wb/")
_SCORES = {"GAP F1": "gap_f1", "GAP bias": "gap_bias", "CoNLL F1": "conll_f1"}
_MOST_LOST, _HARDLY = 1.8, 1.0
_SLACK = 1e-9


@dataclass(frozen=True)
class CoreferenceData:
    """What a model's coreference is measured on.

    Attributes
    ----------
    gap : pandas.DataFrame or None
        As `biaslib.io.read_gap` gives it.
    learned, held_out : Documents or None
        The documents that a resolver is trained on, and the others.
    of_the_study : frozenset of str
        What of it is the study's own: "GAP", "OntoNotes".
    """

    gap: pd.DataFrame | None
    learned: Documents | None
    held_out: Documents | None
    of_the_study: frozenset

    @property
    def asked(self):
        """Whether there is anything to measure."""
        return self.gap is not None or self.learned is not None

    def fingerprints(self):
        """Give the fingerprint of each data set, by name."""
        gap = {"gap": data_fingerprint(self.gap)} if self.gap is not None else {}
        if self.learned is None:
            return gap
        frames = [frame for part in (self.learned, self.held_out) for frame in (part.words, part.clusters)]
        return gap | {"conll": data_fingerprint(*frames)}


def read_coreference(gap_source="", conll_source="", n_learned=9):
    """Read what a model's coreference is to be measured on, and say before anything is trained what is amiss.

    Parameters
    ----------
    gap_source : str
        As `biaslib.io.read_gap` takes it; "" for none.
    conll_source : str
        As `biaslib.io.read_conll` takes it; "" for none, and then no resolver is trained.
    n_learned : int
        The first so many documents are trained on, the others held out.

    Returns
    -------
    CoreferenceData

    Raises
    ------
    ValueError
        If no document is left to hold out, a file is not as it should be, a pronoun of GAP is none that can be scored,
        or the documents of either part have no cluster of two mentions.
    ModuleNotFoundError
        If documents are given and the extras ``coref`` and ``units`` are not installed.

    Examples
    --------
    >>> read_coreference().asked, len(read_coreference("gap_sample").gap)
    (False, 60)
    """
    study = {"GAP"} if gap_source == "gap-test" else set()
    gap = io.read_gap(gap_source) if gap_source else None
    if gap is not None:
        if gap.empty:
            raise ValueError(f"{gap_source} holds no row")
        # It refuses what cannot be scored.
        metrics.chance_f1(gap)
    if not conll_source:
        return CoreferenceData(gap, None, None, frozenset(study))
    training.check_installed()
    documents = read_conll(conll_source)
    names = list(dict.fromkeys(documents.words["document"]))
    if not 0 < n_learned < len(names):
        raise ValueError(
            f"n_learned is {n_learned}: of {len(names)} documents, 1 to {len(names) - 1} can be trained on"
        )
    if all(name.startswith(_ONTONOTES) for name in names):
        study.add("OntoNotes")
    parts = [select_documents(documents, part) for part in (names[:n_learned], names[n_learned:])]
    for part, what in zip(parts, (LEARNED, HELD_OUT), strict=True):
        if not part.clusters.duplicated([*KEYS, "cluster"]).any():
            raise ValueError(
                f"the {what} have no cluster of two mentions: {', '.join(part.words['document'].unique())}"
            )
    return CoreferenceData(gap, *parts, frozenset(study))


def run_resolvers(lm, data, *, models_dir, seed=0, **settings):
    """Let a model answer by all resolvers.

    Parameters
    ----------
    lm : MaskedLM
    data : CoreferenceData
    models_dir : str or Path
        Folder of the trained resolvers. Each has a folder of its own, whose name ends in a fingerprint of model,
        documents and settings: what is there is not trained again.
    seed, **settings
        Of `biaslib.training.train_resolver`.

    Returns
    -------
    dict of str to pandas.DataFrame
        Answers to GAP by the names in ``LIKELIHOODS`` and ``TRAINED``, and clusters by ``LEARNED`` and ``HELD_OUT``;
        without what `data` does not have.
    """
    found = {}
    if data.gap is not None:
        for name, variant in LIKELIHOODS.items():
            found[name] = metrics.resolve_by_likelihood(lm, data.gap, variant=variant, progress=True)
    if data.learned is None:
        return found
    settings = settings | {"seed": seed}
    mark = data_fingerprint(lm.fingerprint, data.learned.words, data.learned.clusters, settings)[:8]
    folder = Path(models_dir) / f"resolver-{mark}"
    parser = load_parser()
    if not (folder / "resolver.json").is_file():
        training.train_resolver(lm, data.learned, out=folder, parser=parser, progress=True, **settings)
    resolver = training.load_resolver(folder, device=lm.device)
    if data.gap is not None:
        found[TRAINED] = training.resolve_gap(resolver, data.gap, parser=parser)
    return found | {
        LEARNED: training.resolve(resolver, data.learned),
        HELD_OUT: training.resolve(resolver, data.held_out),
    }


def score_answers(data, found, *, seed=0):
    """Score what `answer` gave.

    Parameters
    ----------
    data : CoreferenceData
    found : dict of str to pandas.DataFrame
    seed : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        ``resolver`` and the columns of `biaslib.metrics.GapScores.to_frame`: GAP F1 (all, masculine, feminine) and
        bias of each resolver; CoNLL F1 and its parts, with the documents as group. n is pronouns or documents. After
        them ``chance``, the GAP F1 of a name chosen at random.

    Examples
    --------
    >>> data = read_coreference("gap_sample")
    >>> scores = score_answers(data, {"likelihood": data.gap})
    >>> scores.loc[[0, 3], ["resolver", "measure", "value", "n"]].values.tolist()
    [['likelihood', 'GAP F1', 100.0, 60], ['likelihood', 'GAP bias', 1.0, 60]]
    """
    frames = []
    for resolver in (*LIKELIHOODS, TRAINED):
        if resolver in found:
            scores = metrics.gap_scores(data.gap, found[resolver], seed=seed).to_frame()
            chance = scores["group"].map(metrics.chance_f1(data.gap))
            frames.append(scores.assign(resolver=resolver, chance=chance))
    for name, gold in ((LEARNED, data.learned), (HELD_OUT, data.held_out)):
        if name in found:
            scores = metrics.conll_scores(gold, found[name], seed=seed)
            frames.append(scores.to_frame().assign(resolver=TRAINED, group=name))
    return _below(frames, COREFERENCE_COLUMNS)


def compare_conditions(conditions, data, found, *, seed=0):
    """Test each model's conditions against each other, pronoun by pronoun and document by document.

    Parameters
    ----------
    conditions : pandas.DataFrame
        From `biaslib.training.train_each`.
    data : CoreferenceData
    found : sequence of dict
        What `answer` gave for each of its rows.
    seed : int

    Returns
    -------
    pandas.DataFrame
        As `biaslib.metrics.compare_gap` and `compare_conll` (on the documents held out) give it, with ``model
        resolver`` first; ``p_holm`` is adjusted over all rows. Likelihoods of an untrained head are left out.
    """
    frames = []
    answered = conditions[["model", "condition", "head"]].assign(found=list(found))
    for model, rows in answered.groupby("model", sort=False):
        for resolver in (*LIKELIHOODS, TRAINED, HELD_OUT):
            usable = rows[rows["head"] == "kept"] if resolver in LIKELIHOODS else rows
            answers = {
                c: f[resolver] for c, f in zip(usable["condition"], usable["found"], strict=True) if resolver in f
            }
            if len(answers) < 2:
                continue
            if resolver == HELD_OUT:
                frame = metrics.compare_conll(data.held_out, answers, seed=seed)
            else:
                frame = metrics.compare_gap(data.gap, answers, seed=seed)
            frames.append(frame.assign(model=model, resolver=TRAINED if resolver == HELD_OUT else resolver))
    table = _below(frames, _COMPARED)
    return table.assign(p_holm=holm(table["p_value"])) if len(table) else table


def list_answers(found):
    """List the answers to GAP: ``resolver ID A-coref B-coref score_a score_b inexact reason``, a row a pronoun.

    A row with a ``reason`` has no answer; ``inexact`` names what was matched by overlap (see
    `biaslib.training.resolve_gap`).
    """
    frames = [found[name].assign(resolver=name) for name in (*LIKELIHOODS, TRAINED) if name in found]
    return _below(frames, _ANSWERED)


def figure_rows(scores):
    """Choose GAP F1 and bias by likelihood for `biaslib.plots.forest`.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`, with ``model condition head``. Those of an untrained head are left out.

    Returns
    -------
    pandas.DataFrame
    """
    usable = scores[scores["resolver"].isin(LIKELIHOODS) & (scores["head"] == "kept") & scores["value"].notna()]
    of_bias = usable["measure"] == "GAP bias"
    return usable.assign(
        panel=usable["measure"] + ", " + usable["resolver"],
        label=usable["model"] + (", " + usable["group"]).where(~of_bias, ""),
        neutral=usable["chance"].where(~of_bias, 1.0),
        group=usable["condition"],
    )


def in_short(scores):
    """Say in lines of Markdown what the first likelihood and the trained resolver found.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`, with ``model condition head``.

    Returns
    -------
    list of str
        Empty if nothing was scored.
    """
    lines = []
    for (model, condition), rows in scores.groupby(["model", "condition"], sort=False):
        parts = []
        for resolver, measure, group in (
            ("likelihood", "GAP F1", "all"),
            ("likelihood", "GAP bias", "feminine / masculine"),
            (TRAINED, "GAP F1", "all"),
            (TRAINED, "CoNLL F1", HELD_OUT),
        ):
            of = (rows["resolver"] == resolver) & (rows["measure"] == measure) & (rows["group"] == group)
            usable = rows[of & ((rows["head"] == "kept") | (rows["resolver"] == TRAINED)) & rows["value"].notna()]
            how = "by the trained resolver" if resolver == TRAINED else "by likelihood"
            where = " on documents held out" if group == HELD_OUT else ""
            parts += [f"{measure} {how}{where} {_told(row)}" for row in usable.to_dict("records")]
        if parts:
            lines.append(f"- {escape_markdown(model)}, {escape_markdown(condition)}: {'; '.join(parts)}.")
    return lines


def _told(row):
    """Write a score with its interval and n, and what chance would give."""
    digits = 2 if row["measure"] == "GAP bias" else 1
    bounded = pd.notna(row["ci_low"])
    interval = f"{row['ci_low']:.{digits}f} to {row['ci_high']:.{digits}f}" if bounded else "no interval"
    notes = [interval, f"n = {row['n']}"]
    if pd.notna(row["p_value"]):
        notes.append(f"p that the genders differ {row['p_value']:.2g}")
    if pd.notna(row["chance"]):
        notes += [f"a name at random {row['chance']:.1f}", f"named {row['n_named']:.0f} of {2 * row['n']}"]
    return f"{row['value']:.{digits}f} ({', '.join(notes)})"


def beside_published(scores, conditions):
    """Set the study's Tables 3 and 4 beside a trained resolver's scores, where the study has the model.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`, with ``model condition``.
    conditions : sequence of str
        What takes the place of off the shelf, QueerNews and QueerTwitter.

    Returns
    -------
    pandas.DataFrame
        ``table study column measure published model condition value ci_low ci_high n``; a row each published figure.
        A model that is not of the study has none to stand beside.

    Examples
    --------
    >>> nothing = pd.DataFrame(columns=["model", "condition", *SCORE_COLUMNS])
    >>> table = beside_published(nothing, ["off the shelf", "after news", "after tweets"])
    >>> table.loc[table["table"] == 3, ["study", "column", "published"]].values[0].tolist()
    ['bert-base', 'published', 73.9]
    """
    third = published_table("winoqueer_table3_ontonotes_f1").melt("model", var_name="column", value_name="figure")
    fourth = published_table("winoqueer_table4_gap").melt("model", var_name="column", value_name="figure")
    fourth = fourth.dropna(subset="figure")
    fourth[["column", "measure"]] = fourth["column"].str.rsplit("_", n=1).tolist()
    fourth["measure"] = fourth["measure"].map({"f1": "GAP F1", "bias": "GAP bias"})
    printed = pd.concat([third.assign(table=3, measure="CoNLL F1"), fourth.assign(table=4)], ignore_index=True)
    columns = dict(zip(conditions, ["vanilla", "queernews", "queertwitter"], strict=True))
    groups = {"GAP F1": "all", "GAP bias": "feminine / masculine", "CoNLL F1": HELD_OUT}
    ours = scores[(scores["resolver"] == TRAINED) & (scores["group"] == scores["measure"].map(groups))]
    ours = ours.assign(
        study=[published_model(model, "winoqueer") for model in ours["model"]], column=ours["condition"].map(columns)
    )
    keys = ["study", "column", "measure"]
    printed = printed.rename(columns={"model": "study", "figure": "published"})
    beside = printed.merge(ours.astype(dict.fromkeys(keys, object)), on=keys, how="left")
    return beside[["table", *keys, "published", "model", "condition", "value", "ci_low", "ci_high", "n"]]


def comparison_scores(scores, data):
    """Give GAP F1, GAP bias and CoNLL F1 as rows of ``scores.csv``.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`, with ``model condition head``.
    data : CoreferenceData

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.scores_frame` gives it. The group is the condition alone for all pronouns by the first
        likelihood and for documents held out; other resolvers and genders follow it. Untrained heads are left out.
    """
    fingerprints = data.fingerprints()
    usable = scores[scores["measure"].isin(_SCORES) & (scores["group"] != LEARNED) & scores["value"].notna()]
    usable = usable[(usable["head"] == "kept") | (usable["resolver"] == TRAINED)]
    frames = []
    for (measure, resolver), rows in usable.groupby(["measure", "resolver"], sort=False):
        gender = rows["group"].where(rows["group"].isin(["masculine", "feminine"]), "")
        named = "" if resolver == "likelihood" or measure == "CoNLL F1" else f", {resolver}"
        groups = rows["condition"] + named + gender.where(gender == "", ", " + gender)
        used = ["gap", "conll"] if resolver == TRAINED and measure != "CoNLL F1" else ["gap"]
        used = ["conll"] if measure == "CoNLL F1" else used
        how = {"paper": "winoqueer", "variant": f"{resolver} {LIKELIHOODS.get(resolver, '')}".strip()}
        how["data_fingerprint"] = data_fingerprint([fingerprints[name] for name in used])
        frames.append(
            scores_of(rows.assign(group=groups), value="value", group="group", measure=_SCORES[measure], **how)
        )
    return pd.concat(frames, ignore_index=True) if frames else scores_of(usable, value="value")


def judge_bias(change, second_below_first, *, of_the_study=True):
    """Judge the study's claims 1 and 2, on what training does to the stereotype score.

    Parameters
    ----------
    change : pandas.DataFrame
        ``model condition before after difference p_lower`` of models with a trained head.
    second_below_first : dict of str to float
        By model, the one-sided p value that the second corpus leaves a lower score than the first.
    of_the_study : bool
        Whether pairs and metric are the study's.

    Returns
    -------
    dict of int to tuple of (str, str)
    """
    named = change.assign(study=[published_model(model, "winoqueer") for model in change["model"]])
    berts = {name: named[named["study"] == name].set_index("condition") for name in ("bert-base", "bert-large")}
    drops = {name: rows["difference"].round(2).to_dict() for name, rows in berts.items() if len(rows)}
    base_more = None
    if of_the_study and len(drops) == 2:
        base, large = berts.values()
        base_more = bool((base["difference"] < large["difference"]).all() and (base["p_lower"] < 0.05).all())
        base_more = base_more and bool((large["p_lower"] < 0.05).all())
    p_lower = {
        model: rows.set_index("condition")["p_lower"].round(4).to_dict()
        | {"second below first": round(second_below_first[model], 4)}
        for model, rows in change.groupby("model", sort=False)
    }
    both = None
    # A score that falls is less biased only from above 50, and not to farther below it.
    if of_the_study and len(change) and (change["before"] > 50).all():
        nearer = (change["after"] - 50).abs() < (change["before"] - 50).abs()
        both = bool((nearer & (change["p_lower"] < 0.05)).all()) and all(p < 0.05 for p in second_below_first.values())
    needs = "needs BERT base and large on WinoQueer's pairs (SpanBERT has no head to judge)"
    return {
        1: verdict(base_more, f"{needs}; {format_evidence(drops)}"),
        2: verdict(both, f"needs scores above 50 before; one-sided p of falls, {format_evidence(p_lower)}"),
    }


def judge_coreference(compared, data):
    """Judge the study's claims 3 and 4, on what training costs coreference.

    Parameters
    ----------
    compared : pandas.DataFrame
        From `compare_conditions`.
    data : CoreferenceData

    Returns
    -------
    dict of int to tuple of (str, str)
        Claim 3: no model loses more than 1.8 CoNLL F1. Claim 4: no GAP F1 moves by more than 1 point (the study's
        largest move is .8), and the bias gets farther from 1 in more than half of the cases. Not testable where the
        study's four models have not been trained on OntoNotes or have not answered GAP's test part.

    Examples
    --------
    >>> nothing = pd.DataFrame(columns=["model", "resolver", "first", "measure", "group"])
    >>> judge_coreference(nothing, read_coreference())[3]
    ('not testable here', "needs the study's four models trained on OntoNotes; coreference was not asked for")
    """
    of_trained = compared[(compared["resolver"] == TRAINED) & (compared["first"] == OFF_THE_SHELF)]
    studied = [published_model(model, "winoqueer") for model in of_trained["model"]]
    everyone = set(published_table("winoqueer_table3_ontonotes_f1")["model"])
    complete = everyone <= set(studied) and "OntoNotes" in data.of_the_study
    conll = of_trained[of_trained["measure"] == "CoNLL F1"]
    f1 = of_trained[(of_trained["measure"] == "GAP F1") & (of_trained["group"] == "all")]
    bias = of_trained[of_trained["measure"] == "GAP bias"]
    kept = worse = None
    if complete and len(conll):
        kept = bool((conll["difference"] >= -_MOST_LOST - _SLACK).all())
    if complete and "GAP" in data.of_the_study and bias["difference"].notna().all():
        farther = (bias["value_second"] - 1).abs() > (bias["value_first"] - 1).abs() + _SLACK
        worse = bool((f1["difference"].abs() <= _HARDLY + _SLACK).all() and farther.mean() > 0.5)
    nothing = "coreference was not asked for"
    needs = "needs the study's four models trained on OntoNotes"
    return {
        3: verdict(kept, f"{needs}; {_changes(conll) if data.asked else nothing}"),
        4: verdict(worse, f"{needs} and GAP's test part; {_changes(pd.concat([f1, bias])) if data.asked else nothing}"),
    }


def _changes(rows):
    """Write the changes of each model by measure and condition."""
    told: dict[str, dict[str, float]] = {}
    for row in rows.to_dict("records"):
        told.setdefault(row["model"], {})[f"{row['measure']} {row['second']}"] = float(row["difference"])
    return f"changes by the trained resolver: {format_evidence(told)}"


def _below(frames, columns):
    """Put frames below each other, with these columns."""
    return pd.concat(frames, ignore_index=True).reindex(columns=columns) if frames else pd.DataFrame(columns=columns)


def published_scores(scores: pd.DataFrame) -> dict[int, tuple[float, str]]:
    """Find what Table 2 has for a run's scores: off the shelf, by PLL, on WinoQueer's own pairs."""
    printed = published_table("winoqueer_table2_bias").set_index("model")["off_the_shelf"].to_dict()
    own = published_models(scores["model"], "winoqueer")
    found = {}
    for row in scores.itertuples():
        own_pairs = row.given.get("pair_source") in ("winoqueer", "winoqueer-v0") and "pll" in row.variant.split()
        is_alike = row.measure == "stereotype_score" and row.group == OFF_THE_SHELF and own_pairs
        if is_alike and own.get(row.model) in printed:
            found[row.Index] = (printed[own[row.model]], "WinoQueer, Table 2")
    return found
