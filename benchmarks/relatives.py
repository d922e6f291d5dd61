"""Measure how fast relative pronouns are found in a folder of texts, and that the filter before the parser loses none.

Run ``python benchmarks/relatives.py FOLDER``: time of reading and filtering, of parsing, peak memory, and, on sampled
sentences, what the parser finds without the filter and with it. One process on one core is meant:
``OMP_NUM_THREADS=1``.
"""

import argparse
import random
import re
import time
from pathlib import Path

from biaslib import metrics
from biaslib.io import read_names, read_texts, sentence_spans
from biaslib.metrics import relative_clauses
from biaslib.scoring import load_parser

SAMPLED = 5_000


def peak_memory() -> int:
    """Return the most memory that this process has held, in MB (Linux)."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) // 1024


def time_filter(paths, forms):
    """Return the seconds that reading and filtering take, without parsing, and how many sentences pass."""
    counts = dict.fromkeys(("n_texts", "n_characters", "n_too_long"), 0)
    start = time.perf_counter()
    texts = relative_clauses._counted(read_texts(paths), counts, progress=False)
    n = sum(1 for _ in relative_clauses._candidates(texts, forms, counts))
    return time.perf_counter() - start, n


def without_filter(nlp, sentences, forms):
    """Parse every sentence; return (sentence, place of the pronoun) of what is found."""
    everything = ((number, 0, sentence, 0) for number, sentence in enumerate(sentences))
    return {
        (candidate[0], pronoun.idx)
        for candidate, doc in relative_clauses._parsed(nlp, everything)
        for pronoun, _ in relative_clauses.relatives_in(doc, forms)
    }


def sample_sentences(paths, seed=0):
    """Draw sentences of all texts: a draw from all, and one from those with a relative pronoun."""
    pronoun = relative_clauses._any_word_of(metrics.PRONOUNS)
    sentences = [text[start:end] for text in read_texts(paths) for start, end in sentence_spans(text)]
    rng = random.Random(seed)
    with_pronoun = [sentence for sentence in sentences if pronoun.search(sentence.lower())]
    return {
        "any": rng.sample(sentences, min(SAMPLED, len(sentences))),
        "with a relative pronoun": rng.sample(with_pronoun, min(SAMPLED, len(with_pronoun))),
    }


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    paths = sorted(path for path in parser.parse_args().folder.iterdir() if path.is_file())
    names = read_names("animals")["name"].tolist()
    forms = metrics.word_forms(names)
    nlp = load_parser(metrics.PARSER)
    filtering, n_candidates = time_filter(paths, forms)
    start = time.perf_counter()
    found = metrics.find_relatives(read_texts(paths), names, parser=nlp)
    seconds = time.perf_counter() - start
    print(f"{found.attrs['n_characters'] / 1e6:.1f} million characters in {len(paths)} files")
    print(f"reading and filtering {filtering:.1f} s, {n_candidates} sentences parsed, {len(found)} pronouns found")
    print(f"all together {seconds:.1f} s, peak memory {peak_memory()} MB")
    for which, sentences in sample_sentences(paths).items():
        alone = without_filter(nlp, sentences, forms)
        filtered = metrics.find_relatives(sentences, names, parser=nlp, proper_names=True)
        lost = alone - set(zip(filtered["text_id"], filtered["start"], strict=True))
        print(f"{len(sentences)} sentences ({which}): {len(alone)} found by the parser alone, {len(lost)} lost")


if __name__ == "__main__":
    main()
