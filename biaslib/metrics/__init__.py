"""The measures of bias: scores in, results with n, an interval and what was left out."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
