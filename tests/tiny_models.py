"""Tiny random masked language models of every family, with small vocabularies of our own; the same each time."""

import re
from pathlib import Path

WORDS = ["he", "she", "his", "her", "him", "hers", "they", "that", "which", "who", "whose", "whom", "it", "we", "you"]
WORDS += ["is", "was", "a", "the", "and", "not", "of", "in", "to", "with", "done", "good", "bad", "kind", "old", "city"]
WORDS += ["dog", "cat", "horse", "rabbit", "human", "nurse", "doctor", "before", "seen", "London", "He", "She", "It"]
PIECES = ["s", "ed", "er", "ing", "ly", "ness", "able", "un", "be", "lie", "ve", "on"]
CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:?!'()0123456789"
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


def _numbered(tokens) -> dict:
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def _wordpiece(lower: bool):
    from transformers import BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [f"##{piece}" for piece in (*PIECES, *CHARACTERS)]
    tokens = [*special, *(word.lower() if lower else word for word in WORDS), *CHARACTERS, *pieces]
    return BertTokenizer(vocab=_numbered(tokens), do_lower_case=lower, model_max_length=64)


def _byte_level():
    from tokenizers import AddedToken, pre_tokenizers
    from transformers import RobertaTokenizer

    order = ["<s>", "<pad>", "</s>", "<unk>"]
    # Words grow letter by letter; those inside a sentence come first, so that nothing cuts into them.
    merges = [(start + word[:n], word[n]) for start in ("Ġ", "") for word in WORDS for n in range(not start, len(word))]
    merges = list(dict.fromkeys(merges))
    tokens = [*order, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(left + right for left, right in merges), "<mask>"]
    mask = AddedToken("<mask>", lstrip=True, normalized=False, special=True)
    return RobertaTokenizer(vocab=_numbered(tokens), merges=merges, mask_token=mask, model_max_length=64)


def _unigram(kind: str):
    from tokenizers import AddedToken
    from transformers import AlbertTokenizer, CamembertTokenizer, XLMRobertaTokenizer

    heads = {
        "albert": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
        "camembert": ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>", "<mask>"],
        "xlm_roberta": ["<s>", "<pad>", "</s>", "<unk>"],
    }
    scores = dict.fromkeys((f"▁{word.lower() if kind == 'albert' else word}" for word in WORDS), -4.0)
    scores |= {"▁": -5.0} | dict.fromkeys(PIECES, -6.0)
    scores |= {character: -9.0 for character in CHARACTERS if character not in scores}
    vocabulary = [(token, 0.0) for token in heads[kind]] + list(scores.items())
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
        tokenizer = _byte_level()
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
