"""What people bring: tables, corpora, pairs, parallel text, word lists and vectors; one kind a file."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
