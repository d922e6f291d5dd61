"""The grammar of relative clauses: which word of a parsed sentence a relative pronoun refers to.

The parse's own answer comes first; the rules here correct what small parsers often get wrong.
"""

import re
from functools import lru_cache

from biaslib._files import DATA, read_yaml

OBJECT_PRONOUNS = ("that", "which")
HUMAN_PRONOUNS = ("who", "whose", "whom")
PRONOUNS = OBJECT_PRONOUNS + HUMAN_PRONOUNS
KIND_OF = dict.fromkeys(OBJECT_PRONOUNS, "object") | dict.fromkeys(HUMAN_PRONOUNS, "human")
_NOUN_TAGS = ("NN", "NNS", "NNP", "NNPS")
_FINITE_TAGS = ("VBD", "VBP", "VBZ", "MD")
_PLURAL_VERBS, _SINGULAR_VERBS = ("are", "were", "have", "'re", "'ve", "do"), ("is", "was", "has", "does")
_DEGREES = ("JJ", "RB")
_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "pobj", "dative")
_SEPARATORS = frozenset((",", "-", "--", "---", "–", "—", "(", '"', "'", "''", "``", "“", "”", "‘", "’"))
_CALLED = ("called", "named")


@lru_cache
def _word_list(which):
    """Return one of the embedded word lists."""
    words = read_yaml(DATA / "relative_pronoun_words.yaml")[which]
    return words if isinstance(words, dict) else frozenset(words)


def plurals_of(noun):
    """Return the plurals of a noun in lower case, by rule if it is not irregular."""
    if noun in (irregular := _word_list("irregular_plurals")):
        return irregular[noun]
    if re.search(r"(?:[sxz]|ch|sh)$", noun):
        return (noun + "es",)
    if re.search(r"[^aeiou]y$", noun):
        return (noun[:-1] + "ies",)
    return (noun + "s",)


def relatives_in(doc, forms):
    """Yield the relative pronouns of a parsed sentence that refer to a name, with that name's token."""
    for token in doc:
        if token.lower_ in KIND_OF:
            antecedent = _named_antecedent(token, forms)
            if antecedent is not None:
                yield token, antecedent


def is_proper_name(noun):
    """Whether a noun is written like a proper name: capitalised, without an article."""
    if not noun.text[0].isupper():
        return False
    before = noun.nbor(-1) if noun.i else None
    if before is not None and before.lower_.rstrip(".") in _word_list("titles"):
        return True
    if any(child.tag_ in ("DT", "PDT", "CD") for child in noun.lefts):
        return False
    first = next(token.i for token in noun.doc if token.is_alpha)
    return _number_of_noun(noun) == "singular" if first == noun.i or noun.is_upper else True


def _named_antecedent(pronoun, forms):
    """Return the name that a pronoun refers to, or None."""
    first = _first_of_phrase(pronoun)
    before = _word_before(first)
    verb = _relative_verb(pronoun, first)
    if verb is None:
        return before if _refers_to_the_word_before(pronoun, before, forms) else None
    wanted = _number_of_verb(pronoun, pronoun.head if _is_verb(pronoun.head) else verb)
    noun = _noun_of(verb, wanted, before)
    named = _through_amounts_and_names(noun, pronoun, forms)
    if named is None or _is_of_another(named, pronoun) or _is_result(pronoun, named):
        return None
    if before is not None and before.i > named.i and _is_nearer(before, noun, pronoun, wanted):
        return None
    return named


def _is_name(token, forms):
    """Whether a token is a name and not a verb ("bear", "fly"); taggers often err on the rarer names."""
    if token.lower_ not in forms or _is_verb(token):
        return False
    if token.tag_ in _NOUN_TAGS or token.is_title or token.dep_ in (*_SUBJECTS, *_OBJECTS):
        return True
    return token.i > 0 and token.nbor(-1).tag_ in ("DT", "PRP$")


def _is_verb(token):
    return token.tag_.startswith("VB") or token.tag_ == "MD"


def _first_of_phrase(pronoun):
    """Return the first word of the phrase that a pronoun opens a clause with: "with whom", "two of which"."""
    doc, place = pronoun.doc, pronoun.i
    if place == 0 or doc[place - 1].lower_ not in _word_list("prepositions"):
        return pronoun
    preposition = doc[place - 1]
    head = preposition.head
    if preposition.lower_ != "of" or head.i >= preposition.i:
        return preposition
    left = head.left_edge
    after_separator = left.i > 0 and doc[left.i - 1].text in _SEPARATORS
    return left if after_separator or head.lower_ in _word_list("amounts") else preposition


def _word_before(first):
    """Return the word before a relative clause, across a comma, dash, bracket or quotation mark."""
    place = first.i - 1
    while place >= 0 and first.doc[place].text in _SEPARATORS:
        place -= 1
    return first.doc[place] if place >= 0 else None


def _relative_verb(pronoun, first):
    """Return the verb of the relative clause that a pronoun opens, or None."""
    # "Swans that nest": parsed as a determiner where the verb is mistaken for a noun.
    if pronoun.dep_ == "mark" or (pronoun.dep_ == "det" and pronoun.head.dep_ != "relcl"):
        return None
    for head in pronoun.ancestors:
        if head.i < pronoun.i:
            continue
        if not _opens(head, first):
            return None
        if head.dep_ == "relcl":
            has_verb = pronoun.dep_ == "det" or any(_is_verb(token) for token in (head, *head.children))
            return head if has_verb and head.head.i < pronoun.i else None
        if head.dep_ == "conj":
            return _joined_relative_verb(head, first)
    return None


def _opens(head, first):
    """Whether no verb and no other relative pronoun of the clause stands before the pronoun's phrase."""
    before = first.doc[min(head.left_edge.i, first.i) : first.i]
    return not any(_is_verb(token) or token.lower_ in KIND_OF for token in before)


def _joined_relative_verb(verb, first):
    """Return the verb of the first of two joined relative clauses: "a bird that flew, and which sang"."""
    while verb.dep_ == "conj":
        verb = verb.head
    follows_conjunction = first.i > 0 and first.doc[first.i - 1].tag_ == "CC"
    return verb if verb.dep_ == "relcl" and follows_conjunction else None


def _noun_of(verb, wanted, before):
    """Return the noun that the parse attaches a relative clause to, or another if only that agrees with the verb."""
    noun = verb.head
    if noun.lower_ in _word_list("prepositions") and before is not None:
        return before
    if not wanted or noun.tag_ not in _NOUN_TAGS or _number_of_noun(noun) in ("", wanted):
        return noun
    others = [other for other in _nouns_above(noun) if _number_of_noun(other) in ("", wanted)]
    if before is not None and before.tag_ in _NOUN_TAGS and _number_of_noun(before) == wanted:
        others.append(before)
    return others[0] if others else noun


def _nouns_above(noun):
    """Yield the nouns whose phrases contain a noun: cage → rabbits, in "the rabbits in the cage"."""
    for head in noun.ancestors:
        if head.i > noun.i or not (
            head.tag_ in (*_NOUN_TAGS, "VBN", "VBG") or head.lower_ in _word_list("prepositions")
        ):
            return
        if head.tag_ in _NOUN_TAGS:
            yield head


def _number_of_noun(noun):
    """Return "plural", "singular", or "" for words such as sheep."""
    if any(child.dep_ == "conj" for child in noun.children):
        return "plural"
    if noun.lower_ in _word_list("irregular_plurals").get(noun.lower_, ()):
        return ""
    return "plural" if noun.tag_ in ("NNS", "NNPS") else "singular"


def _number_of_verb(pronoun, verb):
    """Return the grammatical number that a verb shows if the pronoun is its subject, else ""."""
    if pronoun.dep_ not in _SUBJECTS:
        return ""
    parts = [verb, *(child for child in verb.children if child.dep_ in ("aux", "auxpass"))]
    finite = [part for part in parts if part.tag_ in _FINITE_TAGS and part.i > pronoun.i]
    if not finite:
        return ""
    first = min(finite, key=lambda part: part.i)
    if first.lower_ in _PLURAL_VERBS or first.tag_ == "VBP":
        return "plural"
    return "singular" if first.lower_ in _SINGULAR_VERBS or first.tag_ == "VBZ" else ""


def _through_amounts_and_names(noun, pronoun, forms):
    """Go from pair to horses in "a pair of horses that", and from Rex to dog in "the dog Rex, who"."""
    if _is_name(noun, forms):
        return noun
    if noun.lower_ in _word_list("amounts") or noun.lower_ in _word_list("sorts"):
        return _name_after_of(noun, pronoun, forms)
    if noun.tag_ not in ("NNP", "NNPS"):
        return None
    before = noun.nbor(-1) if noun.i > noun.doc[0].i else None
    if before is not None and before.tag_ == "NN" and _is_name(before, forms):
        return before
    called = noun.head
    return called.head if called.lower_ in _CALLED and _is_name(called.head, forms) else None


def _name_after_of(amount, pronoun, forms):
    after_of = [
        noun
        for child in amount.children
        if child.lower_ == "of" and child.i < pronoun.i
        for noun in child.children
        if noun.dep_ == "pobj" and _is_name(noun, forms)
    ]
    # An amount is of several: "a body of horse" is soldiers.
    return next(
        (noun for noun in after_of if amount.lower_ in _word_list("sorts") or _number_of_noun(noun) != "singular"), None
    )


def _is_nearer(other, noun, pronoun, wanted):
    """Whether another noun stands between a noun and the pronoun, and is not ruled out by its number."""
    if other.i <= noun.i or not (other.tag_ in _NOUN_TAGS or other.is_title):
        return False
    if other.head.lower_ in _CALLED or other.lower_ in _word_list("addresses"):
        return False
    if other.i in [joined.i for joined in noun.conjuncts]:
        # Two nouns joined by "and" are meant together; in "a horse or a carriage which" it may be either.
        return any(child.lower_ in ("or", "nor") for child in noun.children)
    if pronoun.lower_ in ("who", "whom"):
        return other.is_title or other.lower_ in _word_list("persons")
    return not (wanted and _number_of_noun(noun) == wanted != _number_of_noun(other) != "")


def _is_of_another(noun, pronoun):
    """Whether a noun belongs to the phrase of another noun to which the pronoun more likely refers."""
    if noun.dep_ != "pobj":
        return False
    preposition, other = noun.head, noun.head.head
    if preposition.lower_ in _word_list("comparisons") and any(
        token.text == "," for token in noun.doc[noun.i + 1 : pronoun.i]
    ):
        # "It lay like a dog, which …" means the lying or what lay; "folk like flies, among whom" the folk.
        return pronoun.lower_ == "which" or other.tag_ in _NOUN_TAGS
    return preposition.lower_ == "of" and pronoun.lower_ in HUMAN_PRONOUNS and other.lower_ in _word_list("persons")


def _is_result(pronoun, noun):
    """Whether a clause states a result: "so fond of the dog that he stayed", "such a dog that nobody came"."""
    if pronoun.lower_ != "that" or pronoun.dep_ in _SUBJECTS:
        return False
    before = noun.doc[max(0, noun.i - 6) : noun.i]
    return any(token.lower_ == "such" or (token.lower_ == "so" and token.head.tag_ in _DEGREES) for token in before)


def _refers_to_the_word_before(pronoun, before, forms):
    """Whether a pronoun outside any relative clause of the parse nevertheless refers to the word before it."""
    if before is None or not _is_name(before, forms) or pronoun.dep_ in ("mark", "det"):
        return False
    wanted = _number_of_verb(pronoun, pronoun.head) if _is_verb(pronoun.head) else ""
    if wanted and _number_of_noun(before) not in ("", wanted):
        return False
    if pronoun.lower_ != "that":
        return True
    if pronoun.tag_ != "WDT" or pronoun.i + 1 == len(pronoun.doc):
        return False
    following = pronoun.nbor()
    if pronoun.dep_ in _SUBJECTS:
        return _is_verb(following) or following.tag_ == "RB"
    is_close = before.i == pronoun.i - 1
    return pronoun.dep_ in _OBJECTS and is_close and following.tag_ in ("PRP", "PRP$", "DT")
