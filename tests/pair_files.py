"""Files and frames of pairs and of StereoSet's items for tests."""

import json

import pandas as pd


def write(path, content):
    """Write a file, lists and dicts as JSON, and tell where."""
    content = json.dumps(content) if isinstance(content, list | dict) else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def frame_of(*rows, columns=("sent_more", "sent_less")):
    return pd.DataFrame(list(rows), columns=list(columns))


def item(number, target, bias_type, context, *sentences, labels=("stereotype", "anti-stereotype", "unrelated")):
    published = [
        {"sentence": sentence, "id": f"{number}-{label}", "labels": [], "gold_label": label}
        for sentence, label in zip(sentences, labels, strict=True)
    ]
    return {"id": f"i{number}", "target": target, "bias_type": bias_type, "context": context, "sentences": published}


ITEMS = [
    item(0, "nurse", "profession", "BLANK was a nurse.", "She was a nurse.", "He was a nurse.", "It was a nurse."),
    item(
        1,
        "nurse",
        "profession",
        "The nurse is (BLANK).",
        "The nurse is (kind)",
        "the nurse is (old)!",
        "The nurse is (city)",
    ),
    item(
        2,
        "dog",
        "animal",
        "A BLANK dog is a  BLANK dog.",
        "A good dog is a good dog.",
        "A bad dog is a bad dog.",
        "A city dog is a city dog.",
    ),
    item(
        3, "dog", "animal", "The dog is BLANK", "The dog is kindness itself.", "The dog is bad.", "The dog is London."
    ),
    item(
        4,
        "dog",
        "animal",
        "The dog's colour is BLANK.",
        "The dog's color is old.",
        "The dog's color is bad.",
        "The dog's colour is city.",
    ),
    item(5, "dog", "animal", "BLANK's dog, BLANK", "She's dog, Her", "He's dog, his", "It's dog, it"),
]
UNUSABLE = [
    item(6, "dog", "animal", "The dog is old.", "a", "b", "c"),
    item(7, "dog", "animal", "A BLANK dog", "A good dog", "A bad cat", "A dog"),
    item(
        8,
        "dog",
        "animal",
        "A BLANK dog",
        "A good dog",
        "A bad dog",
        "A old dog",
        labels=("stereotype", "stereotype", "related"),
    ),
    {"id": "i9", "target": "dog"},
]


def stereoset(items=ITEMS + UNUSABLE):
    """Lay out items as the published file does."""
    return {"version": "1.1", "data": {"intersentence": [{}, {}], "intrasentence": items}}
