"""Word vectors in gensim's own format, read without running what a pickle calls."""

import pickle
import zlib

from biaslib._text import one_line
from biaslib.io._text_files import is_gzip, open_bytes
from biaslib.io._vector_records import VectorsError, leave_out_infinite, make_keyed_vectors, new_account
from biaslib.io._word2vec_files import one_line_errors

_PICKLED_BY_GENSIM = {
    ("_codecs", "encode"),
    ("builtins", "hash"),
    ("builtins", "int"),
    ("collections", "defaultdict"),
    ("copyreg", "_reconstructor"),
    ("builtins", "object"),
    ("gensim.utils", "call_on_class_only"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy.random._mt19937", "MT19937"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pickle", "__randomstate_ctor"),
}
_GENSIM_MODULES = tuple(f"gensim.models.{name}" for name in ("keyedvectors", "word2vec", "fasttext", "doc2vec"))


class _GensimUnpickler(pickle.Unpickler):
    """Reads what gensim writes; refuses everything else that a pickle can call."""

    def find_class(self, module, name):
        module = {"__builtin__": "builtins", "copy_reg": "copyreg"}.get(module, module)
        if (module, name) in _PICKLED_BY_GENSIM:
            return super().find_class(module, name)
        if module in _GENSIM_MODULES and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise VectorsError(f"calls {module}.{name}")


def from_gensim(path, limit):
    """Load gensim's own format, once a reading that runs no foreign code has passed it."""
    from gensim.models import KeyedVectors

    with one_line_errors(path), open_bytes(path) as file:
        _check_gensim_pickle(path, file)
    try:
        loaded = KeyedVectors.load(str(path), mmap=None if is_gzip(path) else "r")
    except Exception as error:
        why = f"{type(error).__name__}: {one_line(error, 300)}"
        raise VectorsError(f"gensim cannot load {str(path)!r}: {why}") from error
    vectors = getattr(loaded, "wv", loaded)
    if not isinstance(vectors, KeyedVectors):
        raise VectorsError(f"{str(path)!r} holds a {type(vectors).__name__}, not word vectors")
    account = new_account("gensim", limit=limit)
    words, array, account = leave_out_infinite(vectors.index_to_key[:limit], vectors.vectors[:limit], account)
    if len(words) < len(vectors):
        return make_keyed_vectors(words, array, account)
    vectors.vectors.flags.writeable = False
    vectors.loading = account | {"n": len(vectors), "dimension": vectors.vector_size}
    return vectors


def _check_gensim_pickle(path, file):
    try:
        parts = [_GensimUnpickler(file, encoding="latin1").load()]
    except VectorsError as refused:
        raise VectorsError(f"{str(path)!r} {refused}, which gensim's vectors do not: it is not opened") from None
    except (EOFError, OSError, zlib.error):
        raise
    except Exception as error:
        raise VectorsError(f"{str(path)!r} is a damaged pickle: {type(error).__name__}") from None
    while parts:
        inside = getattr(parts.pop(), "__dict__", {})
        # Sparse matrices come from further pickles, which gensim would open unchecked.
        if inside.get("__scipys"):
            raise VectorsError(f"{str(path)!r} refers to further pickles, as gensim's vectors do not: it is not opened")
        parts += [inside[name] for name in inside.get("__recursive_saveloads", []) if name in inside]
