"""Measure social bias in masked language models and word vectors.

Each module is loaded when first used, so that ``import biaslib`` costs nothing::

    import biaslib
    lm = biaslib.models.load_masked_lm("demo")
    biaslib.scoring.top_words(lm, "She is a [MASK].")
"""

from importlib import import_module

__version__ = "0.1.0"

_MODULES = (
    "audits",
    "cluster",
    "clustering",
    "comparisons",
    "conll",
    "contrast",
    "coreference",
    "coreference_training",
    "datasets",
    "debiasing",
    "finetuning",
    "models",
    "packed_weights",
    "pair_files",
    "pairs",
    "multilingual",
    "parallel_text",
    "parameters",
    "plots",
    "pronouns",
    "published",
    "relative_pronouns",
    "relatives",
    "reports",
    "results",
    "runs",
    "scoring",
    "sentiment",
    "shards",
    "statistics",
    "sweeps",
    "target_words",
    "templates",
    "texts",
    "tokens",
    "vectors",
    "weat",
    "widgets",
    "winoqueer",
)

__all__ = ["__version__", *_MODULES]


def __getattr__(name):
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_MODULES])
