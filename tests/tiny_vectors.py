"""Word vectors for tests: ten worked out by hand, and random ones."""

import pickle

import numpy as np

HAND = {
    "x1": (3, 1, 0),
    "x2": (2, 2, 1),
    "x3": (1, 2, 0),
    "y1": (1, 3, 0),
    "y2": (0, 2, 1),
    "y3": (2, 1, 2),
    "a1": (1, 0, 0),
    "a2": (2, 0, 1),
    "b1": (0, 1, 0),
    "b2": (0, 3, 1),
}
HAND_SETS = tuple([word for word in HAND if word[0] == name] for name in "xyab")


def random_vectors(sizes, seed=0, dimensions=6):
    """Make vectors for sets of these sizes; return them and the words of each set."""
    rng = np.random.default_rng(seed)
    names = [[f"{name}{i}" for i in range(n)] for name, n in zip("xyab", sizes, strict=True)]
    return {word: rng.normal(size=dimensions) for words in names for word in words}, names


def keyed(vectors, dtype=np.float32):
    """Make gensim vectors from a mapping."""
    from gensim.models import KeyedVectors

    words = list(vectors)
    made = KeyedVectors(len(vectors[words[0]]), dtype=dtype)
    made.add_vectors(words, np.array([vectors[word] for word in words], dtype=dtype))
    return made


def write_decades(folder, decades):
    """Write gensim vectors by decade in the format of HistWords."""
    folder.mkdir(exist_ok=True)
    for decade, vectors in decades.items():
        np.save(folder / f"{decade}-w.npy", vectors.vectors)
        (folder / f"{decade}-vocab.pkl").write_bytes(pickle.dumps(vectors.index_to_key, 2))
