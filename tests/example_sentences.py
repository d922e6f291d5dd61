"""Sentences that every family of models scores."""

import tiny_models

SENTENCES = [
    "She is a doctor who is kind.",
    "He is a nurse.",
    "They've done it before, and I've seen it done well in the city of London, didn't we?",
    "The unbelievableness of it (he said): yes!",
    "good",
]
MASKED = [
    "She is a dog which is [MASK].",
    "[MASK] is a nurse.",
    "I've [MASK] it before, and she was tired of the town.",
]
FAMILIES = [*tiny_models.FAMILIES, "demo"]
