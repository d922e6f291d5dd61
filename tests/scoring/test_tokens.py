import pandas as pd
import pytest
import tiny_models

from biaslib import scoring
from biaslib.io import read_gap
from biaslib.metrics import relative_probabilities, resolve_by_likelihood
from biaslib.scoring import load_masked_lm


def entry(lm, sentence, word):
    row = scoring.resolve_words(lm, sentence, [word]).iloc[0]
    return row.token if not row.reason else row.reason


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_a_word_is_the_entry_that_the_tokenizer_writes_in_its_place(tiny, family):
    lm = tiny(family)
    start = {"roberta": "", "modernbert": ""}.get(
        family, "▁" if family in ("xlm_roberta", "camembert", "albert") else ""
    )
    inside = {"roberta": "Ġ", "modernbert": "Ġ"}.get(family, start)
    assert entry(lm, "[MASK] is a nurse.", "he") == f"{start}he"
    assert entry(lm, "I've [MASK] it.", "done") == f"{inside}done"
    assert entry(lm, "She is a dog who is [MASK].", "bad") == f"{inside}bad"
    assert entry(lm, "She is [MASK], is he?", "good") == f"{inside}good"


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_the_probability_of_a_byte_level_word_is_that_of_its_place(tiny, family):
    """P("done") and P("Ġdone") differ by thousands: the one in place counts."""
    lm = tiny(family)
    sentence = "I've [MASK] it."
    token_id = int(scoring.resolve_words(lm, sentence, ["done"]).token_id.item())
    probability = scoring.mask_probabilities(lm, [sentence], ["done"]).probability.item()
    assert probability == pytest.approx(scoring.mask_distributions(lm, [sentence])[0, token_id], rel=1e-6)
    assert lm.tokenizer.decode([token_id]).strip() == "done"


@pytest.mark.parametrize("family", ["xlm_roberta", "camembert", "albert"])
def test_what_touches_the_mask_is_encoded_as_after_a_word(tiny, family):
    lm = tiny(family)
    for sentence in ("She is a dog who is [MASK].", "[MASK], she is.", "Is it [MASK]?"):
        masked, places, _ = scoring.locate_masks(lm, [sentence])
        written = lm.tokenizer(sentence.replace("[MASK]", "bad"))["input_ids"]
        written[places[0]] = lm.tokenizer.mask_token_id
        assert list(masked[0].ids) == written


@pytest.mark.parametrize("family", ["xlm_roberta", "camembert", "albert"])
def test_an_opening_bracket_before_the_mask(tiny, family):
    lm = tiny(family)
    masked, places, _ = scoring.locate_masks(lm, ["It is ([MASK])."])
    written = lm.tokenizer("It is (on).")["input_ids"]
    written[places[0]] = lm.tokenizer.mask_token_id
    assert list(masked[0].ids) == written
    assert scoring.resolve_words(lm, "It is ([MASK]).", ["on"]).token.item() == "on"


@pytest.mark.parametrize("family", ["xlm_roberta", "camembert", "albert"])
def test_an_unknown_word_is_no_lone_piece(tiny, family):
    frame = scoring.resolve_words(tiny(family), "[MASK]。 his", ["猫", "é"])
    assert frame.token_id.isna().all() and frame.reason.ne("").all()


@pytest.mark.parametrize("before", ["dog  ", "dog\t", "dog\n", "dog\u00a0", " ", "  "])
def test_odd_white_space_before_the_mask_is_said_where_it_is_a_piece(tiny, before):
    with pytest.raises(ValueError, match="write one space before the mask"):
        scoring.locate_masks(tiny("roberta"), [f"{before}[MASK] is."])
    assert scoring.resolve_words(tiny("bert_cased"), f"{before}[MASK] is.", ["he"]).reason.item() == ""


def test_pieces_that_are_marked_at_their_end():
    """BERTweet writes kill@@ for a piece, XLM killed</w> for the end of a word."""
    import transformers
    from tokenizers import Tokenizer, models

    for vocabulary, piece, word in (
        (["kill@@", "kick@@", "ing", "he"], "kill@@", "he"),
        (["kill", "kick", "ed</w>", "he</w>"], "kill", "he</w>"),
    ):
        entries = {token: i for i, token in enumerate(["<unk>", "<mask>", "<pad>", *vocabulary])}
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(models.WordLevel(entries, unk_token="<unk>")),
            unk_token="<unk>",
            mask_token="<mask>",
            pad_token="<pad>",
        )
        config = transformers.BertConfig(**tiny_models.SIZES, vocab_size=len(entries), pad_token_id=2)
        lm = load_masked_lm((transformers.BertForMaskedLM(config), tokenizer))
        frame = scoring.describe_vocabulary(lm).set_index("token")
        assert (frame.kind[piece], frame.kind[word]) == ("piece", "word")
        assert (frame.word[piece], frame.word[word]) == ("##kill", "he")


def test_a_word_of_several_pieces_or_unknown_is_reported_never_replaced(tiny):
    lm = tiny("bert_uncased")
    frame = scoring.resolve_words(lm, "[MASK] is here.", ["unbelievably", "☃", "", "[SEP]", "[UNK]", "two words"])
    assert frame.reason.tolist() == [
        "not one token",
        "not in the vocabulary",
        "empty",
        "a special token",
        "not in the vocabulary",
        "not one token",
    ]
    assert frame.token_id.isna().all() and frame.token.isna().all()


def test_spellings_that_lead_to_one_entry_are_all_told(demo, tiny):
    cases = ("as_is", "lower", "title")
    uncased = scoring.resolve_words(demo, "[MASK] is.", ["he"], cases=cases)
    assert uncased.columns.tolist() == ["word", "spelling", "token_id", "token", "reason"]
    assert uncased.spelling.tolist() == ["he", "He"] and uncased.token_id.nunique() == 1
    cased = scoring.resolve_words(tiny("bert_cased"), "[MASK] is.", ["he"], cases=cases)
    assert cased.token.tolist() == ["he", "He"]


def test_any_models_own_mask_token_is_taken_too(tiny):
    lm = tiny("roberta")
    own = scoring.mask_probabilities(lm, ["It is <mask>."], ["good"])
    marker = scoring.mask_probabilities(lm, ["It is [MASK]."], ["good"])
    assert own.probability.item() == marker.probability.item()


def test_a_piece_left_alone_before_the_mask_is_said():
    from tokenizers import AddedToken

    model, tokenizer = tiny_models.build("roberta")
    tokenizer.backend_tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=False, normalized=False)])
    lm = load_masked_lm((model, tokenizer))
    assert "Ġ" in tokenizer.convert_ids_to_tokens(tokenizer("It is <mask>.")["input_ids"])
    with pytest.raises(ValueError, match=r"left alone before the mask of 'It is \[MASK\]\.'"):
        scoring.mask_distributions(lm, ["It is [MASK]."])
    assert scoring.mask_probabilities(lm, ["[MASK] is."], ["he"]).reason.item() == ""


def test_bad_input_is_named(demo):
    with pytest.raises(ValueError, match="as_is, lower, title"):
        scoring.resolve_words(demo, "[MASK] is.", ["he"], cases=["upper"])
    with pytest.raises(TypeError, match="words must be a list of strings, not one string"):
        scoring.resolve_words(demo, "[MASK] is.", "he")
    with pytest.raises(TypeError, match="words must be a list of strings, but it has False; put it in quotes"):
        scoring.resolve_words(demo, "[MASK] is.", [False])


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_vocabulary_reads_the_same_in_every_family(tiny, family):
    lm = tiny(family)
    frame = scoring.describe_vocabulary(lm).set_index("token")
    assert len(frame) == lm.vocabulary_size and frame.token_id.tolist() == list(range(len(frame)))
    assert frame.word.is_unique
    assert set(frame.kind) <= {"word", "piece", "special", "not a word"}
    assert frame.kind[lm.tokenizer.mask_token] == "special" and frame.kind[lm.tokenizer.pad_token] == "special"
    whole = frame[frame.kind == "word"].word
    assert {"he", "dog"} <= set(whole) and not whole.str.contains("[#Ġ▁]").any()
    pieces = frame[frame.kind == "piece"].word
    assert pieces.str.startswith("##").all() and len(pieces)


def test_unused_entries_of_the_demo_model_are_special(demo):
    frame = scoring.describe_vocabulary(demo).set_index("token")
    assert frame.kind[["[unused3]", "[CLS]", "##s", "!", "dog"]].tolist() == [
        "special",
        "special",
        "piece",
        "not a word",
        "word",
    ]


def test_a_name_in_the_place_of_a_model_is_named():
    found = pd.DataFrame({"sentence": ["The dog who slept."], "start": [8], "end": [11]})
    for call in (
        lambda: scoring.describe_vocabulary("demo"),
        lambda: relative_probabilities("demo", found),
        lambda: resolve_by_likelihood("demo", read_gap()),
    ):
        with pytest.raises(TypeError, match=r"give load_masked_lm\('demo'\)"):
            call()
