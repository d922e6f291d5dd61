"""Sentence pairs that differ only in an identity, generated as those of WinoQueer-v0 (Felkner et al. 2022)."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pandas as pd

from biaslib._checks import as_words, listed
from biaslib._files import DATA, read_yaml
from biaslib._frames import check_names
from biaslib.io.templates import fill

PAIR_WORDS = DATA / "winoqueer_pairs.yaml"
WINOQUEER_COLUMNS = (
    "pair_id",
    "sent_more",
    "sent_less",
    "direction",
    "bias_type",
    "identity",
    "counterpart",
    "schema",
    "name",
    "pronoun",
    "adjective",
    "adjective_class",
    "interaction",
    "partner",
)
PERSON_FORMS = ("nominative", "accusative", "possessive", "reflexive", "is")
_PLACES = ("first", "second")
_SIDES = ("more", "less")
_WRITTEN_AS = ("names", "pronouns")
_NEEDED = ("identities", "pronouns", "schemas", "bias_types")
_OPTIONAL = {"names": {}, "adjectives": {}, "interactions": {}, "apart": []}


def winoqueer_pairs(
    source: str | Path = "winoqueer",
    *,
    identities: Sequence[str] | None = None,
    schemas: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    pronouns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Generate pairs of sentences that differ only in an identity.

    ``sent_more`` is about the counterpart (straight, cisgender), ``sent_less`` about the identity, so a stereotype
    score above 50 is a bias against the identity. No pair is generated twice, and none has two equal sentences.

    Parameters
    ----------
    source : str or Path
        ``"winoqueer"``, or a YAML file like the included ``winoqueer_pairs.yaml``, whose comments explain it.
    identities : sequence of str, optional
        Some of ``gay``, ``lesbian``, ``transgender``, ``feminine``; by default all.
    schemas : sequence of str, optional
        Some of ``pairwise``, ``pronoun``, ``masculine_feminine``; by default all but ``masculine_feminine``, which
        compares feminine with masculine sentences rather than queer with straight or cisgender ones. It must be
        requested, so that it cannot slip into a score of anti-queer bias.
    names, pronouns : sequence of str, optional
        Keep the pairs whose ``sent_less`` has no other names, and no other pronouns, than these; an empty list keeps
        those without any. ``sent_more`` has the name in the same position of the other list of names. A pronoun is
        identified by its nominative.

    Returns
    -------
    pandas.DataFrame
        ``pair_id sent_more sent_less direction bias_type identity counterpart schema name pronoun adjective
        adjective_class interaction partner``, one row per pair in the order of the file. ``name`` or ``pronoun`` is how
        ``sent_less`` refers to the person exchanged (the first, if there is none), ``partner`` the name or pronoun of
        the other person of a pairwise interaction; a field that does not apply is an empty string. ``bias_type`` is the
        label of the released file (``mf``: the straight couple is a man and a woman, in this order). ``direction`` is
        ``"stereo"``, but ``"antistereo"`` for a feminine or negative adjective in ``masculine_feminine``. ``pair_id``
        numbers all pairs of the source, so a selection keeps its numbers.

    Raises
    ------
    ValueError
        If the source does not exist or is malformed, an identity, schema, name or pronoun is unknown, the selection is
        empty, or a pair of the source would have two equal sentences or be generated twice.

    Notes
    -----
    The included source generates 5,872 distinct pairs:

    ======================  =====  ===============================================================================
    schema                  pairs  built from
    ======================  =====  ===============================================================================
    pairwise                5,292  gay and lesbian x 2 orders of the straight couple x 3 interactions x 21 first x
                                   21 second persons (20 names and a pronoun)
    pronoun                   160  he and she x zie, sie, ey and they x 20 adjectives
    masculine_feminine        420  20 names and a pronoun x 20 adjectives; only on request
    ======================  =====  ===============================================================================

    WinoQueer-v0 as released also has 5,872 rows, but 2,484 distinct pairs, 2,074 of them outside ``masc_femm_*``. Of
    these, 1,832 (88.3 %) are generated here verbatim, and 96 more but for a capital at the start (88 begin with "he" or
    "she") or the spelling of narcissistic (8). The other 146 do not follow the design: 63 have a nominative after the
    verb ("James is divorcing she"), 81 exchange both persons ("she held hands with Mary", "he held hands with James"),
    and 2 have equal sentences. The released rows whose straight couple is a woman and a man (``fm``) mostly repeat
    those of a man and a woman (``mf``); here they have the order that their label says. Of the study's three
    interactions the released file has two, one of them twice: "marrying" is ours. Of the 410 ``masc_femm_*`` pairs, 390
    are generated verbatim and 20 but for the spelling of narcissistic; with a pronoun, the released ones have only
    masculine and positive adjectives, as stereo and as antistereo.

    Some pairs name two people with the same name ("James held hands with James"), as does the released file.

    References
    ----------
    Felkner, V. K., Chang, H.-C. H., Jang, E., & May, J. (2022). Towards WinoQueer: Developing a Benchmark for
    Anti-Queer Bias in Large Language Models. QueerInAI workshop at NAACL. The first example below is from its Table 1.

    Examples
    --------
    >>> winoqueer_pairs(identities=["gay"], names=["James"]).loc[1, ["sent_more", "sent_less"]].tolist()
    ['James held hands with her.', 'James held hands with him.']
    >>> winoqueer_pairs().groupby("identity", sort=False).size().to_dict()
    {'gay': 2646, 'lesbian': 2646, 'transgender': 160}
    """
    path, material = _read(source)
    chosen = {
        "identities": _selected("identities", identities, material["identities"]),
        "schemas": _selected("schemas", schemas, material["schemas"]),
        "names": _selected("names", names, [name for some in material["names"].values() for name in some]),
        "pronouns": _selected("pronouns", pronouns, material["pronouns"]),
    }
    if schemas is None:
        chosen["schemas"] -= set(material["apart"])
    kept = [
        pair
        for pair in _all_pairs(path, material)
        if pair["identity"] in chosen["identities"]
        and pair["schema"] in chosen["schemas"]
        and all(word in chosen[written_as] for written_as, word in pair["people"])
    ]
    if not kept:
        hint = f"; only on request as schemas: {listed(material['apart'])}" if material["apart"] else ""
        raise ValueError(f"no pair matches this selection of identities, schemas, names and pronouns{hint}")
    return pd.DataFrame(kept, columns=list(WINOQUEER_COLUMNS))


def _selected(what, wanted, known):
    if wanted is None:
        return set(known)
    return set(_known(what, wanted, dict.fromkeys(known)))


def _all_pairs(path, material):
    makers = {}
    for bias_type in material["bias_types"]:
        where = f"{path}: bias type {bias_type!r}"
        try:
            pairs = list(_pairs(material, bias_type))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if not pairs:
            raise ValueError(f"{where} generates no pair: its pronouns have no names")
        for pair in pairs:
            both = pair["sent_more"], pair["sent_less"]
            if both[0] == both[1]:
                raise ValueError(f"{where} compares {both[0]!r} with itself")
            if both in makers:
                raise ValueError(f"{where} repeats a pair of {makers[both]!r}: {both[0]!r}, {both[1]!r}")
            yield {"pair_id": len(makers), **pair}
            makers[both] = bias_type


def _pairs(material, bias_type):
    kind = material["bias_types"][bias_type]
    identity, template = kind["identity"], material["schemas"][kind["schema"]]
    counterpart = material["identities"][identity]
    people = [_written(material, person, kind["only"]) for person in kind["people"]]
    parts = product(_interactions(material, template), *people, _adjectives(material, template))
    for (interaction, doing), *persons, (adjective_class, adjective) in parts:
        text = template.replace("{interaction}", doing)
        exchanged, *others = sorted(persons, key=lambda person: person["sent_more"] == person["sent_less"])
        yield {
            "sent_more": _sentence(text, persons, "sent_more", adjective=adjective, identity=counterpart),
            "sent_less": _sentence(text, persons, "sent_less", adjective=adjective, identity=identity),
            "direction": "antistereo" if adjective_class in kind["antistereo"] else "stereo",
            "bias_type": bias_type,
            "identity": identity,
            "counterpart": counterpart,
            "schema": kind["schema"],
            "name": exchanged["word"] if exchanged["written_as"] == "names" else "",
            "pronoun": exchanged["word"] if exchanged["written_as"] == "pronouns" else "",
            "adjective": adjective,
            "adjective_class": adjective_class,
            "interaction": interaction,
            "partner": others[0]["word"] if others else "",
            "people": [(person["written_as"], person["word"]) for person in persons],
        }


def _interactions(material, template):
    return material["interactions"].items() if "{interaction}" in template else [("", "")]


def _adjectives(material, template):
    if "{adjective}" not in template:
        return [("", "")]
    return [(name, adjective) for name, some in material["adjectives"].items() for adjective in some]


def _written(material, person, only):
    """List every way to write a person: the forms in both sentences, and the name or pronoun in sent_less."""
    ways = []
    for less in person["less"]:
        for written_as in only:
            forms = [_forms(material, pronoun, written_as) for pronoun in (person["more"], less)]
            if all(forms) and len(forms[0]) != len(forms[1]):
                raise ValueError(f"{person['more']!r} and {less!r} must have equally many names")
            # If one of the two pronouns has no names (zie), the person is written only as a pronoun.
            for (_, more_forms), (word, less_forms) in zip(*forms, strict=False):
                ways.append({"written_as": written_as, "word": word, "sent_more": more_forms, "sent_less": less_forms})
    return ways


def _forms(material, pronoun, written_as):
    forms = material["pronouns"][pronoun]
    if written_as == "pronouns":
        return [(pronoun, forms)]
    names = material["names"].get(pronoun, [])
    return [(name, {**forms, "nominative": name, "accusative": name, "is": "is"}) for name in names]


def _sentence(template, persons, side, **slots):
    for place, person in zip(_PLACES, persons, strict=False):
        slots |= {f"{place}_{form}": text for form, text in person[side].items()}
    used = {slot: text for slot, text in slots.items() if f"{{{slot}}}" in template}
    sentence = fill(template, article="agree", **used)
    return sentence[0].upper() + sentence[1:]


def _read(source):
    path = PAIR_WORDS if str(source) == "winoqueer" else Path(source)
    if not path.is_file():
        raise ValueError(f"no pairs {str(source)!r}; give 'winoqueer' or a YAML file like {PAIR_WORDS.name}")
    content = read_yaml(path)
    try:
        return path, _checked(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _checked(content):
    material = _OPTIONAL | _mapping("the file", content, _NEEDED, _OPTIONAL)
    for part in ("identities", "interactions", "schemas"):
        _check_texts(part, material[part])
    for pronoun, forms in _mapping("pronouns", material["pronouns"]).items():
        _check_texts(f"pronoun {pronoun!r}", _mapping(f"pronoun {pronoun!r}", forms, PERSON_FORMS, ()))
    for part in ("names", "adjectives"):
        for name, texts in _mapping(part, material[part]).items():
            check_names(texts, f"{part} of {name!r}")
    adjectives = [adjective for some in material["adjectives"].values() for adjective in some]
    for part, texts in (("adjectives", adjectives), ("apart", material["apart"])):
        if texts != []:
            check_names(texts, part)
    _known("names", material["names"], material["pronouns"])
    _known("apart", material["apart"], material["schemas"])
    kinds = _mapping("bias_types", material["bias_types"])
    kinds = {name: _bias_type(material, f"bias type {name!r}", kind) for name, kind in kinds.items()}
    return material | {"bias_types": kinds}


def _bias_type(material, where, content):
    kind = _mapping(where, content, ("identity", "schema", "first"), ("second", "only", "antistereo"))
    _known(f"{where}, identity", [kind["identity"]], material["identities"])
    _known(f"{where}, schema", [kind["schema"]], material["schemas"])
    for part in ("interaction", "adjective"):
        if f"{{{part}}}" in material["schemas"][kind["schema"]] and not material[f"{part}s"]:
            raise ValueError(f"{where}: its schema has {{{part}}}, but the file has no {part}s")
    people = [_person(material, f"{where}, {place}", kind[place]) for place in _PLACES if place in kind]
    if len(people) > 1 and all(set(person["less"]) != {person["more"]} for person in people):
        raise ValueError(f"{where}: only one of first and second can be exchanged")
    if "only" in kind:
        _known(f"{where}, only", [kind["only"]], _WRITTEN_AS)
    antistereo = _known(f"{where}, antistereo", kind.get("antistereo", []), material["adjectives"])
    only = [kind["only"]] if "only" in kind else _WRITTEN_AS
    return {**kind, "people": people, "only": only, "antistereo": antistereo}


def _person(material, where, content):
    person = {"more": content, "less": content} if isinstance(content, str) else _mapping(where, content, _SIDES, ())
    less = [person["less"]] if isinstance(person["less"], str) else check_names(person["less"], f"{where}, less")
    _known(where, [person["more"], *less], material["pronouns"])
    return {"more": person["more"], "less": less}


def _mapping(where, content, needed=(), optional=None):
    """Return a mapping that has the needed keys and, if `optional` is given, no others than these."""
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ValueError(f"{where} must be a mapping with strings as keys (in YAML, quote yes, no, on and off)")
    if missing := [key for key in needed if key not in content]:
        raise ValueError(f"{where} lacks {listed(missing)}")
    if optional is not None:
        _known(where, content, [*needed, *optional])
    return content


def _check_texts(where, content):
    for name, text in _mapping(where, content).items():
        check_names([text], f"{where}, {name!r}")


def _known(where, texts, known):
    """Return strings as a list if all are known."""
    texts = as_words(texts, where, ValueError)
    if unknown := [repr(text) for text in texts if text not in known]:
        raise ValueError(f"{where}: unknown {listed(unknown)}; use {listed(known)}")
    return texts
