"""Tiny random masked language models of every family, with tokenizers trained on a few sentences of our own."""

import re
from pathlib import Path

TEXTS = [
    "She is a doctor who is kind, and he is a nurse that was tired.",
    "He said that the dog which is old barked at the cat; her cat was asleep.",
    "It is a horse that is strong. This is a rabbit which is small. That is a human who is clever.",
    "They've done it before, and I've seen it done well in the city of London.",
    "The unbelievable story of his teacher was told by the engineer and by her brother.",
    "We went there (with him) on Monday, didn't we? Yes: she and his friends had come.",
    "Most people who live in the old town walk to their work every day.",
    "Der Arzt und die Ärztin sprechen; le médecin est arrivé, la infirmière aussi.",
]
WORDS = ["he", "she", "his", "her", "him", "hers", "they", "that", "which", "who", "whose", "whom"]
WORDS += ["is", "was", "a", "the", "He", "She", "done", "good", "bad"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
FAMILIES = (
    "bert_cased",
    "bert_uncased",
    "distilbert",
    "electra",
    "roberta",
    "modernbert",
    "xlm_roberta",
    "camembert",
    "albert",
)
# One of each kind of tokenizer: WordPiece cased and uncased, byte-level BPE, unigram.
TOKENIZER_FAMILIES = ("bert_cased", "bert_uncased", "roberta", "xlm_roberta")


def _texts():
    return TEXTS + [f"{word} {word} {word.title()}" for word in WORDS]


def _wordpiece(lower: bool):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import BertTokenizer

    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=lower)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained.train_from_iterator(_texts(), trainers.WordPieceTrainer(vocab_size=260, special_tokens=special))
    return BertTokenizer(vocab=trained.get_vocab(), do_lower_case=lower, model_max_length=64)


def _byte_level(special: dict):
    import json

    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
    from transformers import RobertaTokenizer

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    order = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=520, special_tokens=order, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    trained.train_from_iterator(_texts(), trainer)
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    mask = AddedToken("<mask>", lstrip=True, normalized=False, special=True)
    return RobertaTokenizer(vocab=model["vocab"], merges=merges, mask_token=mask, model_max_length=64, **special)


def _unigram(kind: str):
    import json

    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
    from transformers import AlbertTokenizer, CamembertTokenizer, XLMRobertaTokenizer

    heads = {
        "albert": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
        "camembert": ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>", "<mask>"],
        "xlm_roberta": ["<s>", "<pad>", "</s>", "<unk>"],
    }
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=260, unk_token="<unk>", special_tokens=["<unk>"])
    texts = [text.lower() for text in _texts()] if kind == "albert" else _texts()
    trained.train_from_iterator(texts, trainer)
    pieces = {f"▁{word}": -4.0 for word in [*WORDS, "dog", "nurse", "doctor", "kind"]}
    pieces |= {piece: score for piece, score in json.loads(trained.to_str())["model"]["vocab"] if piece not in pieces}
    pieces.pop("<unk>")
    vocabulary = [(token, 0.0) for token in heads[kind]] + list(pieces.items())
    make = {"albert": AlbertTokenizer, "camembert": CamembertTokenizer, "xlm_roberta": XLMRobertaTokenizer}[kind]
    mask = AddedToken("[MASK]" if kind == "albert" else "<mask>", lstrip=True, special=True)
    return make(vocab=vocabulary, mask_token=mask, model_max_length=64)


def build(family: str):
    """Return a random (model, tokenizer) of a family, the same each time."""
    import torch
    import transformers as t

    if family in ("bert_cased", "bert_uncased", "distilbert", "electra"):
        tokenizer = _wordpiece(lower=family != "bert_cased")
    elif family in ("roberta", "modernbert"):
        tokenizer = _byte_level({})
    else:
        tokenizer = _unigram(family)
    special = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
    }
    config, make = {
        "bert_cased": lambda: (
            t.BertConfig(**special, **SIZES, max_position_embeddings=64),
            t.BertForMaskedLM,
        ),
        "bert_uncased": lambda: (
            t.BertConfig(**special, **SIZES, max_position_embeddings=64),
            t.BertForMaskedLM,
        ),
        "distilbert": lambda: (
            t.DistilBertConfig(**special, dim=32, n_layers=3, n_heads=4, hidden_dim=48, max_position_embeddings=64),
            t.DistilBertForMaskedLM,
        ),
        "electra": lambda: (
            t.ElectraConfig(**special, **SIZES, embedding_size=16, max_position_embeddings=64),
            t.ElectraForMaskedLM,
        ),
        "roberta": lambda: (
            t.RobertaConfig(**special, **SIZES, max_position_embeddings=66),
            t.RobertaForMaskedLM,
        ),
        "modernbert": lambda: (
            t.ModernBertConfig(
                **special,
                **SIZES,
                cls_token_id=tokenizer.cls_token_id,
                sep_token_id=tokenizer.sep_token_id,
                max_position_embeddings=64,
                local_attention=8,
                global_attn_every_n_layers=2,
            ),
            t.ModernBertForMaskedLM,
        ),
        "xlm_roberta": lambda: (
            t.XLMRobertaConfig(**special, **SIZES, max_position_embeddings=66),
            t.XLMRobertaForMaskedLM,
        ),
        "camembert": lambda: (
            t.CamembertConfig(**special, **SIZES, max_position_embeddings=66),
            t.CamembertForMaskedLM,
        ),
        "albert": lambda: (
            t.AlbertConfig(**special, **SIZES, embedding_size=16, max_position_embeddings=64),
            t.AlbertForMaskedLM,
        ),
    }[family]()
    torch.manual_seed(sum(map(ord, re.sub(r"\W", "", family))))
    model = make(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Freshly made weights are so small that every score is that of a uniform guess.
            if parameter.ndim > 1:
                parameter.mul_(4)
    return model, tokenizer


def save(family: str, folder: Path) -> Path:
    """Save a random model of a family as save_pretrained does."""
    model, tokenizer = build(family)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
