"""Continued training on a community's texts; a coreference resolver trained on an encoder."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
