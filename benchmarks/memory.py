"""Measure peak memory above the loaded model: PLL with a large vocabulary, AULA with few and many layers.

Run ``python benchmarks/memory.py``; each figure comes from a process of its own.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

CASES = {
    "PLL, 500 tokens, 250,000 entries": ("pll", 2, 250_000),
    "AULA, 500 tokens, 2 layers": ("aula", 2, 30_522),
    "AULA, 500 tokens, 24 layers": ("aula", 24, 30_522),
    "AULA, 500 tokens, 250,000 entries": ("aula", 2, 250_000),
}


def memory(field: str) -> float:
    """Return a figure of this process in MB: VmRSS, held now, or VmHWM, the most since the last reset (Linux)."""
    return int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def measure(score: str, layers: int, entries: int) -> float:
    """Return the MB that one score takes above the loaded model."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    from biaslib import scoring

    tokenizer = scoring.load_masked_lm("demo", device="cpu").tokenizer
    sizes = {
        "hidden_size": 128,
        "intermediate_size": 512,
        "num_attention_heads": 8,
        "num_hidden_layers": layers,
    }
    torch.manual_seed(0)
    lm = scoring.load_masked_lm((BertForMaskedLM(BertConfig(vocab_size=entries, **sizes)).eval(), tokenizer))
    call = {"pll": scoring.pseudo_log_likelihood, "aula": scoring.all_unmasked_likelihood}[score]
    call(lm, ["He is here."])
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before = memory("VmRSS")
    frame = call(lm, ["the dog " * 249] if score == "pll" else [f"{'the dog ' * 245} {n}" for n in range(8)])
    if not frame.reason.eq("").all():
        raise RuntimeError(frame.reason.tolist())
    return memory("VmHWM") - before


def main() -> None:
    """Print the table, or one figure when called with --case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES)
    chosen = parser.parse_args()
    if chosen.case:
        print(f"{measure(*CASES[chosen.case]):.0f}")
        return
    for name in CASES:
        done = subprocess.run([sys.executable, __file__, "--case", name], capture_output=True, text=True, check=True)
        print(f"{name:36} {int(done.stdout.strip().splitlines()[-1]):5} MB above the model")


if __name__ == "__main__":
    main()
