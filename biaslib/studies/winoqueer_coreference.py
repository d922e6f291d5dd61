"""What training on a community's texts costs coreference: the second half of WinoQueer.

Felkner, Chang, Jang & May (2022), "Towards WinoQueer: Developing a Benchmark for Anti-Queer Bias in Large Language
Models", QueerInAI workshop at NAACL, §4.2 and Tables 3 and 4.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biaslib import io, metrics, training
from biaslib._provenance import data_fingerprint
from biaslib._text import escape_markdown
from biaslib.io.conll import CLUSTER_COLUMNS, KEYS, Documents
from biaslib.scoring.parsers import load_parser
from biaslib.stats.hypothesis_tests import holm
from biaslib.studies._claims import format_evidence, verdict
from biaslib.studies._conditions import each_condition, rows_of
from biaslib.studies._published import published_model, published_table
from biaslib.studies._scores import scores_frame, scores_of
from biaslib.training.conditions import OFF_THE_SHELF

LIKELIHOODS = {"likelihood": "original", "likelihood within words": "within_word_l2r"}
TRAINED = "trained"
# How a resolver is trained: as for the thousands of documents of OntoNotes, or to learn a dozen by heart.
RESOLVERS = {
    "full": {"epochs": 20, "learning_rate": 3e-4, "encoder_learning_rate": 1e-5, "hidden_size": 1024},
    "small": {"epochs": 24, "learning_rate": 2e-3, "encoder_learning_rate": 5e-4, "hidden_size": 128},
}
LEARNED, HELD_OUT = "documents trained on", "documents held out"
# The most telling columns first: a report shows a dozen without scrolling.
REPORTED = ["model", "condition", "resolver", "measure", "group", "value", "ci_low", "ci_high", "p_value", "n"]
REPORTED += ["chance", "n_named", "n_left_out", "precision", "recall", "duplicates", "head", "reason"]
_SCORED = ["resolver", *metrics.GAP_SCORE_COLUMNS, "chance"]
_COMPARED = ["model", "resolver", "first", "second", "measure", "group", "difference", "ci_low", "ci_high"]
_COMPARED += ["p_value", "p_holm", "n", "value_first", "value_second", "only_first", "only_second"]
_ANSWERED = ["resolver", "ID", "A-coref", "B-coref", "score_a", "score_b", "inexact", "reason"]
_CLUSTERED = ["documents", *CLUSTER_COLUMNS]
# The first part of the names of OntoNotes' documents.
_ONTONOTES = ("bc/", "bn/", "mz/", "nw/", "pt/", "tc/", "wb/")
_MEASURES = {"GAP F1": "gap_f1", "GAP bias": "gap_bias", "CoNLL F1": "conll_f1"}
_ALL_GENDERS = "feminine / masculine"
_MOST_LOST, _HARDLY = 1.8, 1.0
_SLACK = 1e-9


@dataclass(frozen=True)
class CoreferenceData:
    """What the coreference of a model is measured on.

    Attributes
    ----------
    gap : pandas.DataFrame or None
        From `biaslib.io.read_gap`.
    learned, held_out : Documents or None
        The documents that a resolver is trained on, and the others.
    of_the_study : frozenset of str
        Which of it is the study's own data: "GAP", "OntoNotes".
    """

    gap: pd.DataFrame | None
    learned: Documents | None
    held_out: Documents | None
    of_the_study: frozenset

    @property
    def asked(self) -> bool:
        """Whether there is anything to measure."""
        return self.gap is not None or self.learned is not None

    def fingerprints(self) -> dict[str, str]:
        """Compute the fingerprint of each data set, by its name."""
        gap = {"gap": data_fingerprint(self.gap)} if self.gap is not None else {}
        if self.learned is None:
            return gap
        frames = [frame for part in (self.learned, self.held_out) for frame in (part.words, part.clusters)]
        return gap | {"conll": data_fingerprint(*frames)}


def read_coreference(gap_source: str = "", conll_source: str = "", n_learned: int = 9) -> CoreferenceData:
    """Read the data on which coreference is measured, and check it before anything is trained.

    Parameters
    ----------
    gap_source : str
        As for `biaslib.io.read_gap`; "" for none.
    conll_source : str
        As for `biaslib.io.read_conll`; "" for none, and then no resolver is trained.
    n_learned : int
        The number of documents, from the first, to train on; the others are held out.

    Returns
    -------
    CoreferenceData

    Raises
    ------
    ValueError
        If no document is left to hold out, a file is malformed, a pronoun of GAP cannot be scored, or the documents
        trained on or held out have no cluster of two mentions.
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
            raise ValueError(f"{gap_source} has no rows")
        # Raises an error if a pronoun cannot be scored.
        metrics.chance_f1(gap)
    if not conll_source:
        return CoreferenceData(gap, None, None, frozenset(study))
    training.check_installed()
    documents = io.read_conll(conll_source)
    names = list(dict.fromkeys(documents.words["document"]))
    if not 0 < n_learned < len(names):
        raise ValueError(f"n_learned is {n_learned}; of {len(names)} documents, train on 1 to {len(names) - 1}")
    if all(name.startswith(_ONTONOTES) for name in names):
        study.add("OntoNotes")
    parts = [io.select_documents(documents, part) for part in (names[:n_learned], names[n_learned:])]
    for part, what in zip(parts, (LEARNED, HELD_OUT), strict=True):
        if not part.clusters.duplicated([*KEYS, "cluster"]).any():
            given = ", ".join(part.words["document"].unique())
            raise ValueError(f"the {what} have no cluster of two mentions: {given}")
    return CoreferenceData(gap, *parts, frozenset(study))


def answer(
    lm, data: CoreferenceData, *, models_dir: str | Path, resolver: str = "full", seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Resolve coreference with a model: by likelihood, and by a resolver trained on its encoder.

    Parameters
    ----------
    lm : MaskedLM
    data : CoreferenceData
    models_dir : str or Path
        Folder of the trained resolvers, where they are found again (see `biaslib.training.find_resolver`).
    resolver : str
        How one is trained: a key of ``RESOLVERS``.
    seed : int
        Of the training.

    Returns
    -------
    gap_answers : pandas.DataFrame
        ``resolver ID A-coref B-coref score_a score_b inexact reason``, one row per pronoun and resolver, those of
        ``LIKELIHOODS`` and ``TRAINED``. A row with a ``reason`` has no answer; ``inexact`` lists what was matched by
        overlap (see `biaslib.training.resolve_gap`).
    clusters : pandas.DataFrame
        ``documents`` (``LEARNED`` or ``HELD_OUT``), then ``document part cluster start end text``, as
        `biaslib.training.resolve` predicts them.
    """
    answers, clusters = [], []
    if data.gap is not None:
        for name, variant in LIKELIHOODS.items():
            found = metrics.resolve_by_likelihood(lm, data.gap, variant=variant, progress=True)
            answers.append(found.assign(resolver=name))
    if data.learned is not None:
        parser = load_parser()
        options = RESOLVERS[resolver] | {"seed": seed}
        trained = training.find_resolver(lm, data.learned, out=models_dir, parser=parser, progress=True, **options)
        if data.gap is not None:
            found = training.resolve_gap(trained, data.gap, parser=parser)
            answers.append(found.assign(resolver=TRAINED))
        for name, documents in ((LEARNED, data.learned), (HELD_OUT, data.held_out)):
            clusters.append(training.resolve(trained, documents).assign(documents=name))
    return _stacked(answers, _ANSWERED), _stacked(clusters, _CLUSTERED)


def score_answers(
    conditions: pd.DataFrame, data: CoreferenceData, gap_answers: pd.DataFrame, clusters: pd.DataFrame, *, seed: int = 0
) -> pd.DataFrame:
    """Score the answers of each condition.

    Parameters
    ----------
    conditions : pandas.DataFrame
        ``model condition head``, from `biaslib.training.train_conditions`.
    data : CoreferenceData
    gap_answers, clusters : pandas.DataFrame
        From `answer`, with ``model condition head``.
    seed : int
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        ``model condition head resolver``, then the columns of `biaslib.metrics.GapScores.to_frame`: GAP F1 (all,
        masculine, feminine) and bias of each resolver; CoNLL F1 and its parts, with the documents as group. n counts
        pronouns or documents. The last column, ``chance``, is the GAP F1 of a name chosen at random.

    Examples
    --------
    >>> data = read_coreference("gap_sample")
    >>> conditions = pd.DataFrame({"model": ["demo"], "condition": "off the shelf", "head": "kept"})
    >>> answers = conditions.merge(data.gap.assign(resolver="likelihood"), how="cross")
    >>> scores = score_answers(conditions, data, answers, pd.DataFrame())
    >>> scores.loc[[0, 3], ["resolver", "measure", "value", "n"]].values.tolist()
    [['likelihood', 'GAP F1', 100.0, 60], ['likelihood', 'GAP bias', 1.0, 60]]
    """

    def score(condition):
        parts = []
        if data.gap is not None:
            chance = metrics.chance_f1(data.gap)
            for resolver, answers in rows_of(condition, gap_answers).groupby("resolver", sort=False):
                scores = metrics.gap_scores(data.gap, answers, seed=seed).to_frame()
                parts.append(scores.assign(resolver=resolver, chance=scores["group"].map(chance)))
        if data.learned is not None:
            found = rows_of(condition, clusters)
            for name, gold in ((LEARNED, data.learned), (HELD_OUT, data.held_out)):
                scores = metrics.conll_scores(gold, found[found["documents"] == name], seed=seed)
                parts.append(scores.to_frame().assign(resolver=TRAINED, group=name))
        return _stacked(parts, _SCORED)

    return each_condition(conditions, score)


def answers_to_check(gap_answers: pd.DataFrame) -> pd.DataFrame:
    """Select the pronouns without an answer, and those matched by overlap.

    Parameters
    ----------
    gap_answers : pandas.DataFrame
        From `answer`.

    Returns
    -------
    pandas.DataFrame
        The rows with a ``reason`` or something ``inexact``.
    """
    return gap_answers[(gap_answers[["reason", "inexact"]].fillna("") != "").any(axis=1)]


def compare_answers(
    conditions: pd.DataFrame, data: CoreferenceData, gap_answers: pd.DataFrame, clusters: pd.DataFrame, *, seed: int = 0
) -> pd.DataFrame:
    """Compare the conditions of each model with each other, pronoun by pronoun and document by document.

    Parameters
    ----------
    conditions, data, gap_answers, clusters, seed
        As for `score_answers`.

    Returns
    -------
    pandas.DataFrame
        ``model resolver``, then the columns of `biaslib.metrics.compare_gap` and, for the documents held out, of
        `biaslib.metrics.compare_conll`; ``p_holm`` is adjusted over all rows. Likelihoods of an untrained head are
        left out.
    """
    frames = []
    for model, rows in conditions.groupby("model", sort=False):
        if data.gap is not None:
            for resolver in gap_answers["resolver"].unique():
                usable = rows[rows["head"] == "kept"] if resolver in LIKELIHOODS else rows
                answers = _by_condition(usable, gap_answers[gap_answers["resolver"] == resolver])
                if len(answers) > 1:
                    frame = metrics.compare_gap(data.gap, answers, seed=seed)
                    frames.append(frame.assign(model=model, resolver=resolver))
        if data.learned is not None and len(rows) > 1:
            answers = _by_condition(rows, clusters[clusters["documents"] == HELD_OUT])
            frame = metrics.compare_conll(data.held_out, answers, seed=seed)
            frames.append(frame.assign(model=model, resolver=TRAINED))
    table = _stacked(frames, _COMPARED)
    return table.assign(p_holm=holm(table["p_value"])) if len(table) else table


def figure_rows(scores: pd.DataFrame) -> pd.DataFrame:
    """Prepare GAP F1 and bias by likelihood for `biaslib.plots.forest`.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`. Those of an untrained head are left out.

    Returns
    -------
    pandas.DataFrame
        The rows with ``panel label neutral group``.
    """
    usable = scores[scores["resolver"].isin(LIKELIHOODS) & (scores["head"] == "kept") & scores["value"].notna()]
    of_bias = usable["measure"] == "GAP bias"
    return usable.assign(
        panel=usable["measure"] + ", " + usable["resolver"],
        label=usable["model"] + (", " + usable["group"]).where(~of_bias, ""),
        neutral=usable["chance"].where(~of_bias, 1.0),
        group=usable["condition"],
    )


def in_short(scores: pd.DataFrame) -> list[str]:
    """Summarise what the first likelihood and the trained resolver found.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`.

    Returns
    -------
    list of str
        A line of Markdown per condition; empty if nothing was scored.
    """
    lines = []
    for (model, condition), rows in scores.groupby(["model", "condition"], sort=False):
        parts = []
        for resolver, measure, group in (
            ("likelihood", "GAP F1", "all"),
            ("likelihood", "GAP bias", _ALL_GENDERS),
            (TRAINED, "GAP F1", "all"),
            (TRAINED, "CoNLL F1", HELD_OUT),
        ):
            of = (rows["resolver"] == resolver) & (rows["measure"] == measure) & (rows["group"] == group)
            usable = rows[of & ((rows["head"] == "kept") | (rows["resolver"] == TRAINED)) & rows["value"].notna()]
            how = "by the trained resolver" if resolver == TRAINED else "by likelihood"
            where = " on documents held out" if group == HELD_OUT else ""
            parts += [f"{measure} {how}{where} {_written(row)}" for row in usable.to_dict("records")]
        if parts:
            lines.append(f"- {escape_markdown(model)}, {escape_markdown(condition)}: {'; '.join(parts)}.")
    return lines


def beside_published(scores: pd.DataFrame) -> pd.DataFrame:
    """Set the scores of the trained resolver beside the study's Tables 3 and 4.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`. The conditions, in their order, correspond to the study's off the shelf, QueerNews and
        QueerTwitter.

    Returns
    -------
    pandas.DataFrame
        ``table study column measure published model condition value ci_low ci_high n``, one row per published figure.
        The columns from ``model`` are missing if the study's model is not in the run.

    Examples
    --------
    >>> columns = ["model", "condition", "resolver", "measure", "group", "value", "ci_low", "ci_high", "n"]
    >>> table = beside_published(pd.DataFrame(columns=columns))
    >>> table.loc[table["table"] == 3, ["study", "column", "published"]].values[0].tolist()
    ['bert-base', 'published', 73.9]
    """
    third = published_table("winoqueer_table3_ontonotes_f1").melt("model", var_name="column", value_name="figure")
    fourth = published_table("winoqueer_table4_gap").melt("model", var_name="column", value_name="figure")
    fourth = fourth.dropna(subset="figure")
    fourth[["column", "measure"]] = fourth["column"].str.rsplit("_", n=1).tolist()
    fourth["measure"] = fourth["measure"].map({"f1": "GAP F1", "bias": "GAP bias"})
    printed = pd.concat([third.assign(table=3, measure="CoNLL F1"), fourth.assign(table=4)], ignore_index=True)
    columns = dict(zip(scores["condition"].unique(), ["vanilla", "queernews", "queertwitter"], strict=False))
    groups = {"GAP F1": "all", "GAP bias": _ALL_GENDERS, "CoNLL F1": HELD_OUT}
    ours = scores[(scores["resolver"] == TRAINED) & (scores["group"] == scores["measure"].map(groups))]
    ours = ours.assign(
        study=[published_model(model, "winoqueer") for model in ours["model"]], column=ours["condition"].map(columns)
    )
    keys = ["study", "column", "measure"]
    printed = printed.rename(columns={"model": "study", "figure": "published"})
    beside = printed.merge(ours.astype(dict.fromkeys(keys, object)), on=keys, how="left")
    return beside[["table", *keys, "published", "model", "condition", "value", "ci_low", "ci_high", "n"]]


def comparison_scores(scores: pd.DataFrame, data: CoreferenceData) -> pd.DataFrame:
    """Give GAP F1, GAP bias and CoNLL F1 as rows of ``scores.csv``.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `score_answers`.
    data : CoreferenceData

    Returns
    -------
    pandas.DataFrame
        As `biaslib.studies.scores_frame` gives it. The group is the condition, followed by the resolver unless it is
        the first likelihood, and by the gender if it is of one. Documents trained on and untrained heads are left out.
    """
    fingerprints = data.fingerprints()
    usable = scores[scores["measure"].isin(_MEASURES) & (scores["group"] != LEARNED) & scores["value"].notna()]
    usable = usable[(usable["head"] == "kept") | (usable["resolver"] == TRAINED)]
    frames = []
    for (measure, resolver), rows in usable.groupby(["measure", "resolver"], sort=False):
        gender = rows["group"].where(rows["group"].isin(["masculine", "feminine"]), "")
        named = "" if resolver == "likelihood" or measure == "CoNLL F1" else f", {resolver}"
        groups = rows["condition"] + named + gender.where(gender == "", ", " + gender)
        used = (["gap"] if measure != "CoNLL F1" else []) + (["conll"] if resolver == TRAINED else [])
        how = {
            "paper": "winoqueer",
            "measure": _MEASURES[measure],
            "variant": f"{resolver} {LIKELIHOODS.get(resolver, '')}".strip(),
            "data_fingerprint": data_fingerprint([fingerprints[name] for name in used]),
        }
        frames.append(scores_of(rows.assign(group=groups), value="value", group="group", **how))
    return pd.concat(frames, ignore_index=True) if frames else scores_frame([])


def verdicts(compared: pd.DataFrame, data: CoreferenceData) -> dict[int, tuple[str, str]]:
    """Judge the study's claims 3 and 4, for `biaslib.studies.winoqueer.judge`."""
    of_trained = compared[(compared["resolver"] == TRAINED) & (compared["first"] == OFF_THE_SHELF)]
    studied = {published_model(model, "winoqueer") for model in of_trained["model"]}
    everyone = set(published_table("winoqueer_table3_ontonotes_f1")["model"])
    complete = everyone <= studied and "OntoNotes" in data.of_the_study
    conll = of_trained[of_trained["measure"] == "CoNLL F1"]
    f1 = of_trained[(of_trained["measure"] == "GAP F1") & (of_trained["group"] == "all")]
    bias = of_trained[of_trained["measure"] == "GAP bias"]
    kept = worse = None
    if complete and len(conll):
        kept = bool((conll["difference"] >= -_MOST_LOST - _SLACK).all())
    if complete and "GAP" in data.of_the_study and bias["difference"].notna().all():
        farther = (bias["value_second"] - 1).abs() > (bias["value_first"] - 1).abs() + _SLACK
        worse = bool((f1["difference"].abs() <= _HARDLY + _SLACK).all() and farther.mean() > 0.5)
    needs = "needs the study's four models trained on OntoNotes"
    return {
        3: verdict(kept, f"{needs}; {_changes(conll, data)}"),
        4: verdict(worse, f"{needs} and GAP's test part; {_changes(pd.concat([f1, bias]), data)}"),
    }


def _changes(rows, data):
    """Write the changes of each model by measure and condition."""
    if not data.asked:
        return "coreference was not asked for"
    named = rows.assign(name=rows["measure"] + " " + rows["second"])
    by_model = {model: dict(own[["name", "difference"]].values) for model, own in named.groupby("model", sort=False)}
    return f"changes by the trained resolver: {format_evidence(by_model)}"


def _by_condition(conditions, frame):
    return {condition.condition: rows_of(condition, frame) for condition in conditions.itertuples()}


def _written(row):
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


def _stacked(frames, columns):
    return pd.concat(frames, ignore_index=True).reindex(columns=columns) if frames else pd.DataFrame(columns=columns)
