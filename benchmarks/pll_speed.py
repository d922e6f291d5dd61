"""Time pseudo-log-likelihoods: one token a forward, one sentence's masks a forward, as minicons does, and ours.

Run ``python benchmarks/pll_speed.py``. All score the same sentences with the same random model of
bert-base size, under ``inference_mode`` and with the same threads; rounds alternate, and the medians of the
rounds are compared, because machines are noisy. The last figure of a line tells how many times the needed matrix
products (no padding, nothing twice, the head at the masks alone) would fit in, at the rate that a large product
reaches in the same round: no ratio to ours can be above it.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import BertConfig, BertForMaskedLM

from biaslib.scoring import MaskedLM, encode, load_masked_lm, pseudo_log_likelihood

SENTENCES = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()


def random_bert_base() -> MaskedLM:
    """Build a random BERT of base size that reads the demo model's vocabulary."""
    torch.manual_seed(0)
    tokenizer = load_masked_lm("demo", device="cpu").tokenizer
    model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer))).eval()
    return load_masked_lm((model, tokenizer))


def one_token_a_forward(lm, sentences) -> list[float]:
    """Score as the released CrowS-Pairs code does: a forward of one sentence for each masked token."""
    scores = []
    for item in encode(lm, sentences):
        total = 0.0
        for place in range(item.first, item.last):
            ids = torch.tensor([item.ids])
            ids[0, place] = lm.tokenizer.mask_token_id
            logits = lm.model(input_ids=ids).logits[0]
            total += logits[place].log_softmax(-1)[item.ids[place]].item()
        scores.append(total)
    return scores


def masked_copies(lm, item, width: int):
    """Copy a sentence once for each of its tokens, that token masked; pad to a width."""
    places = torch.arange(item.first, item.last)
    ids = torch.full((len(places), width), lm.tokenizer.pad_token_id)
    ids[:, : len(item.ids)] = torch.tensor(item.ids)
    wanted = ids[0, places]
    ids[torch.arange(len(places)), places] = lm.tokenizer.mask_token_id
    attention_mask = (torch.arange(width) < len(item.ids)).long().expand(len(places), -1)
    return ids, attention_mask, places, wanted


def score_copies(lm, ids, attention_mask, places, wanted):
    """Run copies through the model, its head at every place, and take the logarithm at the masks."""
    rows = torch.arange(len(ids))
    logits = lm.model(input_ids=ids, attention_mask=attention_mask).logits
    return logits[rows, places].log_softmax(-1)[rows, wanted]


def one_sentence_a_forward(lm, sentences) -> list[float]:
    """Score the masked copies of one sentence as a batch, unpadded: minicons given one sentence at a time."""
    return [score_copies(lm, *masked_copies(lm, item, len(item.ids))).sum().item() for item in encode(lm, sentences)]


def minicons_batches(lm, sentences, size: int = 10) -> list[float]:
    """Score lists of sentences as minicons 0.3.39 does: all copies of a list, padded to its longest, in one forward."""
    scores = []
    items = encode(lm, sentences)
    for start in range(0, len(items), size):
        batch = items[start : start + size]
        width = max(len(item.ids) for item in batch)
        copies = [masked_copies(lm, item, width) for item in batch]
        values = score_copies(lm, *(torch.cat(part) for part in zip(*copies, strict=True)))
        scores += [part.sum().item() for part in values.split([len(part[0]) for part in copies])]
    return scores


def ours(lm, sentences) -> list[float]:
    """Score with :func:`biaslib.scoring.pseudo_log_likelihood`."""
    return pseudo_log_likelihood(lm, sentences).pll.tolist()


def matrix_product_rate(size: int = 2048, rounds: int = 5) -> float:
    """Measure float32 operations a second of a large matrix product."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    torch.mm(a, b)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        torch.mm(a, b)
        times.append(time.perf_counter() - start)
    return 2 * size**3 / min(times)


def operations(lm, sentences) -> float:
    """Count the operations that the different masked sentences need: no padding, the head at one place each."""
    config = lm.model.config
    hidden, layers, inner = config.hidden_size, config.num_hidden_layers, config.intermediate_size
    different = {
        (item.ids[:place], item.ids[place + 1 :])
        for item in encode(lm, sentences)
        for place in range(item.first, item.last)
    }
    total = 0.0
    for before, after in different:
        length = len(before) + 1 + len(after)
        per_token = 2 * layers * (4 * hidden**2 + 2 * hidden * inner + 2 * length * hidden)
        total += length * per_token + 2 * (hidden**2 + hidden * lm.vocabulary_size)
    return total


def workloads(n: int) -> dict[str, list[str]]:
    """Collect what is scored: varied sentences of ours and, where BIASLIB_DATA has them, rows of real benchmarks."""
    found = {"varied sentences": SENTENCES[:n]}
    folder = os.environ.get("BIASLIB_DATA")
    if folder:
        for name, file, columns in (
            ("CrowS-Pairs", "crows_pairs/crows_pairs_anonymized.csv", ["sent_more", "sent_less"]),
            ("WinoQueer-v0", "winoqueer_v0/winoqueer_benchmark.csv", ["sent_more", "sent_less"]),
        ):
            rows = pd.read_csv(Path(folder) / file, skipinitialspace=True)
            chosen = rows.sample(n // 2, random_state=0)[columns].astype(str)
            found[f"{name}, {n // 2} random pairs"] = chosen.to_numpy().ravel().tolist()
    return found


def compare(lm, sentences: list[str], rounds: int) -> None:
    """Print times, ratios, the largest difference and the share of the machine's rate."""
    methods = {
        "one token a forward": one_token_a_forward,
        "one sentence a forward": one_sentence_a_forward,
        "minicons, lists of 10": minicons_batches,
        "ours": ours,
    }
    seconds = {name: [] for name in methods}
    rates, scores = [], {}
    ours(lm, sentences[:2])
    with torch.inference_mode():
        for _ in range(rounds):
            for name, method in methods.items():
                start = time.perf_counter()
                scores[name] = method(lm, sentences)
                seconds[name].append(time.perf_counter() - start)
            rates.append(matrix_product_rate())
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    tokens = sum(item.last - item.first for item in encode(lm, sentences))
    print(f"{len(sentences)} sentences, {tokens} masks")
    rate, needed = statistics.median(rates), operations(lm, sentences)
    for name, time_taken in middle.items():
        ratio, bound = time_taken / middle["ours"], time_taken * rate / needed
        print(f"{name:24} {time_taken:7.2f} s   {ratio:5.2f} x ours   {bound:5.2f} x the time of the products alone")
    mine = np.array(scores["ours"])
    for name in list(methods)[:-1]:
        print(f"{name}: at most {np.abs(mine - scores[name]).max():.1e} off, of {np.abs(mine).max():.0f}")
    reached = needed / middle["ours"]
    print(
        f"matrix products: {rate / 1e9:.0f} GFLOP/s; ours, without padding: {reached / 1e9:.0f} ({reached / rate:.0%})"
    )


def main() -> None:
    """Compare the three ways on each workload."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=len(SENTENCES))
    chosen = parser.parse_args()
    lm = random_bert_base()
    print(f"bert-base size, float32, {torch.get_num_threads()} threads")
    for name, sentences in workloads(chosen.sentences).items():
        print(f"\n{name}")
        compare(lm, sentences, chosen.rounds)


if __name__ == "__main__":
    main()
