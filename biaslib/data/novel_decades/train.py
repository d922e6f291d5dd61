"""Train the embedded decade vectors from a folder of dated novels.

    python train.py NOVELS [--out FOLDER]

NOVELS holds ``Author_Title_Year.txt`` files, gzip-compressed or not, such as the folder ``corpus`` of
computationalstylistics/100_english_novels. One model is trained on all of them; each decade's starts from it and is
trained further on the decade's own novels. One thread and fixed seeds: the same novels with the same gensim and
NumPy give the same bytes.
"""

import argparse
import copy
import csv
import gzip
import pickle
import re
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors, Word2Vec

HERE = Path(__file__).parent
MINIMUM_TOKENS = 400_000
VOCABULARY = 3_200
MINIMUM_COUNT = 10
MINIMUM_TITLES = 20
EPOCHS_TOGETHER, EPOCHS_BY_DECADE = 10, 6
SETTINGS = {
    "sg": 1,
    "negative": 5,
    "window": 5,
    "vector_size": 50,
    "sample": 1e-4,
    "min_count": MINIMUM_COUNT,
    "seed": 1,
    "workers": 1,
}


def read_novels(folder):
    """Read each novel as (title, year, sentences of lower-case words)."""
    for path in sorted([*folder.glob("*.txt"), *folder.glob("*.txt.gz")]):
        dated = re.fullmatch(r"(.+)_(\d{4})\.txt(\.gz)?", path.name)
        if not dated:
            sys.exit(f"{path.name!r} is not named Author_Title_Year.txt")
        text = gzip.decompress(path.read_bytes()) if dated[3] else path.read_bytes()
        yield dated[1], int(dated[2]), sentences_of(text.decode("utf-8-sig"))


def sentences_of(text):
    """Split a text into sentences, and these into words; a possessive 's is left off."""
    text = re.sub(r"'s\b", "", text.lower().replace("’", "'"))
    split = (re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*", sentence) for sentence in re.split(r"[.!?;]+|\n\s*\n", text))
    return [[sys.intern(word) for word in words] for words in split if len(words) > 1]


def by_decade(novels):
    """Gather novels by decade; one with too little text joins the next, the last one the decade before."""
    decades = {}
    for novel in novels:
        decades.setdefault(novel[1] // 10 * 10, []).append(novel)
    for decade in sorted(decades):
        if len(decades) > 1 and n_tokens(decades[decade]) < MINIMUM_TOKENS:
            poor = decades.pop(decade)
            heir = min((other for other in decades if other > decade), default=max(decades))
            decades[heir] = poor + decades[heir]
    return dict(sorted(decades.items()))


def n_tokens(novels):
    return sum(len(words) for _, _, sentences in novels for words in sentences)


def counts_of(novels):
    return Counter(word for _, _, sentences in novels for words in sentences for word in words)


def choose_words(novels):
    """Choose the words of association tests, then the commonest of many titles, which keeps characters' names out."""
    wanted = (HERE / "wanted_words.txt").read_text(encoding="utf-8").split()
    by_title = [counts_of([novel]) for novel in novels]
    total = sum(by_title, Counter())
    n_titles = Counter(word for counts in by_title for word in counts)
    chosen = {word for word in wanted if total[word] >= MINIMUM_COUNT}
    common = (word for word, _ in total.most_common() if n_titles[word] >= MINIMUM_TITLES and word not in chosen)
    chosen.update(islice(common, VOCABULARY - len(chosen)))
    return sorted(chosen, key=lambda word: (-total[word], word))


def train_further(together, novels):
    """Train a copy of the common model on a decade's novels."""
    model = copy.deepcopy(together)
    sentences = [words for _, _, own in novels for words in own]
    model.train(sentences, total_examples=len(sentences), epochs=EPOCHS_BY_DECADE)
    return model.wv


def only(words, vectors, counts):
    """Keep the chosen words; as in HistWords, a word too rare in the decade has a row of zeros."""
    kept = KeyedVectors(vectors.vector_size)
    rows = [vectors[word] if counts[word] >= MINIMUM_COUNT else np.zeros(vectors.vector_size) for word in words]
    kept.add_vectors(words, np.array(rows, dtype=np.float32))
    return kept


def write_decades(folder, trained):
    """Write each decade in the format of HistWords, in half precision."""
    folder.mkdir(parents=True, exist_ok=True)
    for decade, vectors in trained.items():
        np.save(folder / f"{decade}-w.npy", vectors.vectors.astype("float16"))
        with (folder / f"{decade}-vocab.pkl").open("wb") as file:
            pickle.dump(vectors.index_to_key, file, protocol=2)


def write_account(path, decades, absent):
    """Say what each decade was trained on."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["decade", "first_year", "last_year", "n_titles", "n_tokens", "n_words_absent", "titles"])
        for decade, novels in decades.items():
            years = [year for _, year, _ in novels]
            titles = " ".join(sorted(title for title, _, _ in novels))
            table.writerow([decade, min(years), max(years), len(novels), n_tokens(novels), absent[decade], titles])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("novels", type=Path)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    start = time.perf_counter()
    novels = list(read_novels(options.novels))
    if not novels:
        sys.exit(f"no Author_Title_Year.txt in {str(options.novels)!r}")
    words, decades = choose_words(novels), by_decade(novels)
    together = Word2Vec([words for _, _, own in novels for words in own], epochs=EPOCHS_TOGETHER, **SETTINGS)
    print(f"{n_tokens(novels):,} words of {len(novels)} novels: {time.perf_counter() - start:.0f} s", flush=True)
    trained, absent = {}, {}
    for decade, own in decades.items():
        counts = counts_of(own)
        absent[decade] = sum(counts[word] < MINIMUM_COUNT for word in words)
        trained[decade] = only(words, train_further(together, own), counts)
        print(f"{decade}s: {absent[decade]} words absent: {time.perf_counter() - start:.0f} s", flush=True)
    write_decades(options.out, trained)
    write_account(options.out / "decades.csv", decades, absent)


if __name__ == "__main__":
    main()
