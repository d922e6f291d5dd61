import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from biaslib._files import (
    DATA,
    folder_name,
    locked,
    read_json,
    read_yaml,
    replacing,
    write_bytes,
    write_json,
    write_text,
)


class OwnError(ValueError):
    pass


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("text", ["", "a\nb\r\nc\r", "é 😀"])
def test_text_is_written_as_it_is(tmp_path, text):
    write_text(tmp_path / "a.txt", text)
    write_text(str(tmp_path / "a.txt"), text)
    assert (tmp_path / "a.txt").read_bytes() == text.encode()
    assert names(tmp_path) == ["a.txt"]


def test_a_file_has_the_rights_that_any_new_file_has(tmp_path):
    (tmp_path / "usual").touch()
    write_bytes(tmp_path / "ours", b"")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_the_longest_name_can_be_written(tmp_path):
    write_bytes(tmp_path / ("n" * 255), b"x")
    assert names(tmp_path) == ["n" * 255]


def test_what_fails_leaves_the_earlier_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "earlier")
    with pytest.raises(KeyboardInterrupt), replacing(path) as beside:
        beside.write_text("half", encoding="utf-8")
        raise KeyboardInterrupt
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert path.read_text(encoding="utf-8") == "earlier"
    assert names(tmp_path) == ["a.txt"]


def test_the_earlier_file_stays_until_the_block_ends(tmp_path):
    path = tmp_path / "a.txt.gz"
    write_text(path, "earlier")
    with replacing(path) as beside, replacing(path) as another:
        assert beside != another
        assert beside.parent == tmp_path
        assert beside.name.startswith(".part-")
        assert beside.suffix == ".gz"
        for place in (beside, another):
            place.write_text("new", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "earlier"
    assert path.read_text(encoding="utf-8") == "new"
    assert names(tmp_path) == ["a.txt.gz"]


def test_errors_of_the_disk_name_the_file(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(OSError, match=r"No space left on device.*a\.txt"), replacing(path):
        raise OSError(28, "No space left on device")
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "absent" / "a.txt", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_text(tmp_path / "folder", "")
    assert names(tmp_path) == ["folder"]


def test_json_as_the_library_writes_it(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"é": [1, Path("a")]}, default=str)
    assert path.read_bytes() == '{\n  "é": [\n    1,\n    "a"\n  ]\n}\n'.encode()
    write_json(path, {"a": 1}, indent=1)
    assert path.read_bytes() == b'{\n "a": 1\n}\n'
    write_json(path, "\ud800", errors="surrogatepass")
    assert path.read_bytes() == b'"\xed\xa0\x80"\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, float("nan"), allow_nan=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(st.characters(codec="utf-8")), inside),
    max_leaves=10,
)


@given(JSON)
def test_json_comes_back(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "again.json"
    write_json(path, content)
    assert read_json(path) == content


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_a_value_error(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("name", "keep", "folder"),
    [
        ("google-bert/bert-base-cased", "-", "google-bert-bert-base-cased"),
        ("a--b_c.d", "-", "a--b_c.d"),
        ("a--b", "", "a-b"),
        ("é ü", "-", "-"),
        ("demo--models=a+b@c d", "+=@-", "demo--models=a+b@c-d"),
        ("a\n", "-", "a-"),
    ],
)
def test_names_of_folders(name, keep, folder):
    assert folder_name(name, keep) == folder


@given(st.text())
def test_a_folder_name_is_plain_and_stays_itself(name):
    folder = folder_name(name)
    assert not folder.encode("ascii").translate(
        None, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
    )
    assert folder_name(folder) == folder


def test_a_lock_is_held_and_given_back(tmp_path):
    path = tmp_path / "a.lock"
    with locked(path), pytest.raises(TimeoutError), locked(path):
        raise AssertionError("two hold the lock")
    with pytest.raises(KeyError), locked(path):
        raise KeyError
    with FileLock(path, timeout=0):
        pass


def test_a_lock_that_another_holds_is_waited_for(tmp_path, capsys):
    path, entered, done = tmp_path / "a.lock", threading.Event(), []

    def hold():
        with locked(path):
            entered.set()
            give_up = time.monotonic() + 20
            while not (said := capsys.readouterr().err) and time.monotonic() < give_up:
                time.sleep(0.01)
            done.append(said)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    with locked(path, "waiting for the other"):
        assert done == ["waiting for the other\n"]
    holder.join()


def written(folder, text):
    path = folder / "values.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_embedded_files_are_read_as_plain_yaml(path):
    assert read_yaml(path) == yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("", None),
        ("# nothing\n", None),
        ("- a\n- no\n", ["a", False]),
        ("\ufeffk: 3\n", {"k": 3}),
        ("min_z: 1e-3\ntop_k: 007\nlabel: 'no'\n", {"min_z": "1e-3", "top_k": 7, "label": "no"}),
        ("a: &a [1, 2]\nb: *a\n", {"a": [1, 2], "b": [1, 2]}),
        (
            "a: &a {x: 1, y: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: [*a, *b], y: 3}\n",
            {"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 1}, "c": {"x": 1, "y": 3}},
        ),
        ("d: 2020-01-02T03:04:05\n", yaml.safe_load("d: 2020-01-02T03:04:05\n")),
    ],
)
def test_yaml_is_read(tmp_path, text, content):
    assert read_yaml(written(tmp_path, text)) == content


def test_a_mapping_is_given_or_refused(tmp_path):
    assert read_yaml(written(tmp_path, ""), mapping=True) == {}
    assert read_yaml(written(tmp_path, "a: 1"), mapping=True) == {"a": 1}
    for text in ("- a", "a", "[]", "0", "''"):
        with pytest.raises(ValueError, match=r"values\.yaml: must be a mapping"):
            read_yaml(written(tmp_path, text), mapping=True)


def laughs(line):
    """Write lists or mappings that hold nine of the one before each."""
    lines = ["a0: &a0 {k: 1}", *(f"a{n}: &a{n} " + line(", ".join([f"*a{n - 1}"] * 9)) for n in range(1, 30))]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1, 2", "not valid YAML: line 1"),
        ("a: 1\nb: 2\na: 3\n", "line 3: 'a' is given twice; keep one"),
        ("x:\n  {b: 1,\n   b: 2}", "line 3: 'b' is given twice"),
        ("1: a\n0x1: b\n", "line 2: 1 is given twice"),
        ("k: 010", 'line 1: YAML reads 010 as the number 8; write 8 if that is meant, or quote it: "010"'),
        ("a: 1\nk: 12:30", "line 2: YAML reads 12:30 as the number 750"),
        ("k: 1:30.5", "line 1: YAML reads 1:30.5 as a number of base 60"),
        (
            "a: 1\nd: 2020-99-99",
            'line 2: YAML takes 2020-99-99 for a timestamp, but it is none; quote it: "2020-99-99"',
        ),
        ("a: !!bool maybe", "line 1: YAML takes maybe for a bool"),
        ("a: !!timestamp then", "line 1: YAML takes then for a timestamp"),
        ("a: " + "9" * 5000, "line 1: YAML takes 999"),
        ("k: !!python/object/apply:os.system ['true']", "not valid YAML: line 1"),
        ("? [a, b]\n: 1", "not valid YAML: line 1"),
        ("? !!set a\n: 1", "not valid YAML"),
        ("a: *b", "line 1: found undefined alias"),
        ("a: 1\n---\nb: 2", "not valid YAML: line 2"),
        ("\0", "not valid YAML"),
        (b"\xff\xfe\x00", "not text in UTF-8; save it as UTF-8"),
        ("[" * 2000 + "]" * 2000, "nested too deeply"),
        ("a: &a [*a]", "an alias (*name) stands within what it names"),
        ("a: &a {b: {c: *a}}", "an alias (*name) stands within what it names"),
        (laughs("[{}]".format), "aliases (*name) repeat more than 100,000 entries"),
        (laughs("{{<<: [{}]}}".format), "aliases (*name) repeat more than 100,000 entries"),
    ],
)
def test_yaml_that_misleads_is_refused_in_one_line(tmp_path, text, says):
    path = written(tmp_path, text)
    with pytest.raises(OwnError) as caught:
        read_yaml(path, OwnError)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert says in message
    assert "\n" not in message
    assert len(message) < 300 + len(str(path))


def test_a_long_file_without_aliases_is_read(tmp_path):
    assert len(read_yaml(written(tmp_path, "[" + "1," * 5_000 + "]"))) == 5_000


def test_a_yaml_file_that_cannot_be_opened_is_said(tmp_path):
    for path in (tmp_path / "absent.yaml", tmp_path):
        with pytest.raises(OwnError, match="cannot be read"):
            read_yaml(path, OwnError)


@given(JSON)
def test_what_yaml_writes_is_read_as_plain_yaml_reads_it(tmp_path_factory, content):
    text = yaml.safe_dump(content, allow_unicode=True)
    path = tmp_path_factory.getbasetemp() / "again.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_yaml(path) == yaml.safe_load(text)


def test_the_helpers_import_nothing_heavy():
    code = (
        "import sys, biaslib._checks, biaslib._files; print(*{'numpy', 'pandas', 'yaml', 'torch'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == ""
