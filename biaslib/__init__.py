"""Measure social bias in masked language models and word vectors.

Each layer is loaded when first used, so that ``import biaslib`` takes no time::

    from biaslib import scoring
    lm = scoring.load_masked_lm("demo")
    scoring.top_words(lm, "She is a [MASK].")
"""

import lazy_loader as lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
