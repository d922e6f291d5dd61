"""Parallel text: read from the usual formats, and searched for English sentences with words of one gender.

The extraction is that of Kaneko, Imankulova, Bollegala & Okazaki (2022), "Gender Bias in Masked Language Models for
Multiple Languages", NAACL: a target sentence is called male or female after the words of its English original.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import pandas as pd

from biaslib.io._sources import find_source
from biaslib.io._text_files import DAMAGED_GZIP, iterate_lines, iterate_records, open_bytes

_CHUNK_BYTES = 2**16
# Files that lie beside the two sides of a Moses pair.
_NOT_A_SIDE = {"xml", "ids", "scores", "txt", "tsv", "csv", "tmx", "md", "json", "zip"}


def read_parallel(
    source: str | Path, target: str | Path | None = None, *, languages: Sequence[str | None] = ("en", None)
) -> pd.DataFrame:
    """Read parallel text, English and one other language.

    Parameters
    ----------
    source : str or Path
        With `target`, the English one of two line-aligned files (Moses). Alone, a ``.tsv`` file (two columns, English
        first) or a ``.tmx`` file, each also compressed by gzip; a folder that holds one Moses pair
        (``TED2020.de-en.en`` and ``TED2020.de-en.de``); ``"parallel_en_de"``, the embedded sample; or the name of a
        data set such as ``"ted2020-de"``, which is downloaded once.
    target : str or Path, optional
        The other one of two line-aligned files.
    languages : (str, str or None)
        The codes of English and of the other language, which a TMX file or a folder with several needs; ``"en"`` takes
        ``en-GB`` too.

    Returns
    -------
    pandas.DataFrame
        ``english target``, all pairs in order, also empty ones. The index, called ``line``, counts the lines of the
        file (in a TMX file, the translation units) from 1, including a header.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the two files differ in their number of lines, a row of a table does not have two fields, a file is damaged
        or not UTF-8, or a TMX file declares entities, which are refused.

    Notes
    -----
    A line ends with ``\\n`` or ``\\r\\n``; U+2028, U+0085 or a form feed are part of it. Nothing is removed but a byte
    order mark. The first row of a table is its header if it begins with "english" or the code of English. Text in a TMX
    file is joined across line breaks, and leaves out what its inline elements hold of another program's codes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.tsv"
    ...     _ = path.write_text("She sings.\\tSie singt.\\nIt rains.\\tEs regnet.\\n", encoding="utf-8")
    ...     read_parallel(path)
              english       target
    line
    1      She sings.  Sie singt.
    2       It rains.  Es regnet.
    """
    english, other = _check_languages(languages)
    path = _find(source)
    if path.is_dir():
        if target is not None:
            raise ValueError(f"{str(path)!r} is a folder: give the English file, or no target")
        path, target = _pair_in(path, english, other)
    if target is not None:
        return _frame(_read_two(path, _find(target)))
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".tsv"):
        return _frame(_read_table(path, english))
    if name.endswith(".tmx"):
        return _frame(_read_tmx(path, english, other))
    raise ValueError(f"{str(path)!r} is not parallel text: give two line-aligned files, a .tsv or a .tmx file")


def _find(source):
    return find_source(source, "parallel text", ["parallel_en_de.tsv"], data_sets=True)


def _check_languages(languages):
    if isinstance(languages, str) or len(languages) != 2 or not isinstance(languages[0], str):
        raise ValueError(f"languages must be two codes, English first, such as ('en', 'de'), not {languages!r}")
    return tuple(_code(language) if language is not None else None for language in languages)


def _code(language):
    return language.strip().lower().replace("_", "-")


def _is_of(tag, language):
    return tag == language or tag.startswith(f"{language}-")


def _pair_in(folder, english, other):
    """Find the two sides of the one Moses pair in a folder."""
    sides = {}
    for path in sorted(folder.iterdir()):
        stem, _, code = path.name.removesuffix(".gz").rpartition(".")
        if path.is_file() and stem and code.lower() not in _NOT_A_SIDE:
            sides.setdefault(stem, {})[_code(code)] = path
    pairs = [
        (codes[english], path)
        for codes in sides.values()
        if english in codes
        for code, path in codes.items()
        if code != english and (other is None or _is_of(code, other))
    ]
    if len(pairs) == 1:
        return pairs[0]
    wanted = f"name.{english} and name.{other or 'CODE'}"
    found = ", ".join(path.name for codes in sides.values() for path in codes.values()) or "no such file"
    raise ValueError(f"{str(folder)!r} has {len(pairs)} pairs of {wanted} ({found}): give the two files")


def _frame(rows):
    """Make a frame of (line, english, target)."""
    frame = pd.DataFrame(list(rows), columns=["line", "english", "target"])
    return frame.astype({"line": "int64", "english": str, "target": str}).set_index("line")


def _read_two(source, target):
    one, other = iterate_lines(source), iterate_lines(target)
    for line, (text, translation) in enumerate(zip_longest(one, other), start=1):
        if text is None or translation is None:
            longer = line + sum(1 for _ in (other if text is None else one))
            counts = (line - 1, longer) if text is None else (longer, line - 1)
            raise ValueError(
                f"{str(source)!r} has {counts[0]} lines and {str(target)!r} {counts[1]}: give two files that are "
                "aligned line by line"
            )
        yield line, text, translation


def _read_table(path, english):
    for line, fields in iterate_records(path, "\t", quoting=False):
        if len(fields) not in (0, 2):
            raise ValueError(
                f"line {line} of {str(path)!r}: expected English, a tab and the target, found {len(fields)} field(s)"
            )
        if line == 1 and fields and fields[0].strip().casefold() in ("english", english):
            continue
        yield line, *(fields or ["", ""])


def _read_tmx(path, english, other):
    """Read a TMX file piece by piece."""
    from xml.parsers import expat

    units = _Units(path)
    number, chosen, tags = 0, other, set()
    try:
        with open_bytes(path) as file:
            while piece := file.read(_CHUNK_BYTES):
                for texts in units.feed(piece):
                    number += 1
                    tags.update(tag for tag, _ in texts)
                    chosen = chosen or _other_language(path, texts, english)
                    yield number, _text_in(path, number, texts, english), _text_in(path, number, texts, chosen)
                    if other is None:
                        _check_only_one(path, texts, english, chosen)
        units.parser.Parse(b"", True)
    except LookupError as error:
        raise ValueError(f"{str(path)!r} cannot be read ({error}): save it as UTF-8") from None
    except expat.ExpatError as error:
        raise ValueError(f"{str(path)!r} is not well-formed XML ({error}): export it again as TMX") from None
    except DAMAGED_GZIP as error:
        raise ValueError(f"{str(path)!r} is damaged ({error}): download it again") from None
    for language in (english, chosen or "another language"):
        if not any(_is_of(tag, language) for tag in tags):
            raise ValueError(f"{str(path)!r} has no text in {language}: it has {', '.join(sorted(tags)) or 'none'}")


class _Units:
    """The translation units of a TMX file, as they become complete; every entity beyond XML's own is refused."""

    def __init__(self, path):
        from xml.parsers import expat

        self.path, self.done, self.texts = path, [], []
        self.language, self.pieces, self.foreign = None, None, 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse
        self.parser.SkippedEntityHandler = self._refuse

    def feed(self, piece):
        self.parser.Parse(piece, False)
        done, self.done = self.done, []
        return done

    def _refuse(self, name, *_):
        raise ValueError(f"{str(self.path)!r} uses the XML entity {name!r}, which is refused: export it without one")

    def _start(self, name, attributes):
        if name == "tuv":
            self.language = _code(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg":
            self.pieces, self.foreign = [], 0
        elif self.pieces is not None and name != "hi":
            # bpt, ept, it, ph, ut and what stands in them are codes of another program; only hi marks text.
            self.foreign += 1

    def _end(self, name):
        if name == "seg":
            self.texts.append((self.language, " ".join(re.split(r"[\t\r\n ]+", "".join(self.pieces))).strip()))
            self.pieces = None
        elif name == "tu":
            self.done.append(self.texts)
            self.texts = []
        elif self.pieces is not None and name != "hi":
            self.foreign -= 1

    def _text(self, text):
        if self.pieces is not None and not self.foreign:
            self.pieces.append(text)


def _other_language(path, texts, english):
    return next((tag.partition("-")[0] for tag, _ in texts if not _is_of(tag, english)), None)


def _check_only_one(path, texts, english, chosen):
    more = [tag for tag, _ in texts if not _is_of(tag, english) and not _is_of(tag, chosen)]
    if more:
        raise ValueError(
            f"{str(path)!r} has {chosen!r} and {more[0]!r} beside {english!r}: say which, "
            f"languages=({english!r}, {chosen!r})"
        )


def _text_in(path, number, texts, language):
    """Give the text of a unit in a language; an empty one if it has none."""
    if language is None:
        return ""
    found = [(tag, text) for tag, text in texts if _is_of(tag, language)]
    if len(found) > 1:
        tags = " and ".join(tag for tag, _ in found)
        raise ValueError(f"{str(path)!r} has several texts in unit {number} ({tags}): say which language, in full")
    return found[0][1] if found else ""
