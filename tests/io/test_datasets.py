"""Data sets by name: nothing is used that was not checked, and every mishap is one line that says what to do."""

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import threading
import warnings
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from biaslib.cli import main
from biaslib.io import DatasetError, dataset, dataset_path, datasets, describe_dataset, list_datasets

TABLE = b"id,word\n1,NA\n2,\n"
LINES = b'she said "so\nhe did\n'


def archive(members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in members.items():
            packed.writestr(name, text)
    return content.getvalue()


DECADES = archive({"sgns/1900-w.npy": "numbers" * 1000, "sgns/1900-vocab.pkl": "words"})


class Site:
    """A web site on this machine: what it serves, what was asked for."""

    def __init__(self):
        self.files = {"table.csv": TABLE, "a.txt": LINES, "b.txt": LINES[::-1], "decades.zip": DECADES}
        self.promised, self.asked = {}, []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.strip("/")
                site.asked.append(name)
                if name not in site.files:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(site.promised.get(name, len(site.files[name]))))
                self.end_headers()
                self.wfile.write(site.files[name])

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site():
    opened = Site()
    yield opened
    opened.close()


@pytest.fixture
def data(site, tmp_path, monkeypatch):
    """Give the data folder of an empty cache, with a registry of sets that the site serves."""
    rows = [
        ("table", "tables/table.csv", "table.csv", len(TABLE), hashlib.sha256(TABLE).hexdigest(), ""),
        ("lists", "lists/a.txt", "a.txt", len(LINES), hashlib.sha256(LINES).hexdigest(), ""),
        ("lists", "lists/b.txt", "b.txt", len(LINES), hashlib.sha256(LINES[::-1]).hexdigest(), ""),
        ("decades", "old/decades.zip", "decades.zip", "", "", "sgns"),
        ("plain", "old/plain.txt", "a.txt", "", "", ""),
    ]
    registry = tmp_path / "datasets.csv"
    with open(registry, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "file", "url", "bytes", "sha256", "unpack", "licence", "citation"])
        writer.writerows((name, at, f"{site.url}/{url}", *rest, "MIT", "Us") for name, at, url, *rest in rows)
    monkeypatch.setattr(datasets, "_REGISTRY", registry)
    monkeypatch.setenv("BIASLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BIASLIB_DATA", raising=False)
    return tmp_path / "cache" / "data"


@pytest.fixture
def given(data, tmp_path, monkeypatch):
    """Give a folder named by BIASLIB_DATA."""
    folder = tmp_path / "given"
    folder.mkdir()
    monkeypatch.setenv("BIASLIB_DATA", str(folder))
    return folder


def put(place, content):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def files_in(folder):
    return sorted(at.relative_to(folder).as_posix() for at in folder.rglob("*") if at.is_file())


def refused(name, *says):
    with pytest.raises(DatasetError) as error:
        dataset_path(name)
    assert "\n" not in str(error.value)
    for text in says:
        assert str(text) in str(error.value)


# Found or downloaded


def test_a_set_is_downloaded_once_and_checked(data, site):
    assert dataset_path("table") == data / "tables/table.csv"
    assert dataset_path("table").read_bytes() == TABLE
    assert site.asked == ["table.csv"]
    assert files_in(data) == ["tables/table.csv"]


def test_a_set_of_several_files_is_their_folder(data, site):
    put(data / "lists/b.txt", LINES[::-1])
    assert dataset_path("lists") == data / "lists"
    assert files_in(data) == ["lists/a.txt", "lists/b.txt"]
    assert site.asked == ["a.txt"]


def test_the_folder_of_ones_own_is_looked_at_first(given, data, site):
    put(data / "tables/table.csv", b"broken, but never looked at")
    own = put(given / "tables/table.csv", TABLE)
    assert dataset_path("table") == own
    assert site.asked == []


def test_what_the_folder_of_ones_own_lacks_is_downloaded(given, data, site):
    put(given / "lists/a.txt", LINES)
    assert dataset_path("lists") == data / "lists"
    assert files_in(given) == ["lists/a.txt"]


def test_a_folder_that_is_not_there_is_said(data, monkeypatch):
    monkeypatch.setenv("BIASLIB_DATA", "/no/such")
    refused("table", "BIASLIB_DATA names no folder: '/no/such'")


def test_a_data_folder_that_cannot_be_written_is_needed_only_for_downloads(given, data, monkeypatch, tmp_path):
    put(given / "tables/table.csv", TABLE)
    monkeypatch.setenv("BIASLIB_CACHE", str(put(tmp_path / "taken", b"")))
    assert dataset_path("table") == given / "tables/table.csv"
    refused("lists", "cannot write to", "BIASLIB_CACHE")


def test_nothing_is_announced_on_standard_error(data, capfd):
    dataset_path("table")
    assert capfd.readouterr() == ("", "")


# Broken and tampered


@pytest.mark.parametrize(("content", "how"), [(TABLE + b"3,x\n", "bytes instead of"), (TABLE[::-1], "SHA-256")])
def test_a_tampered_file_is_never_used(given, data, site, content, how):
    own = put(given / "tables/table.csv", content)
    refused("table", own, how, f"replace it by {site.url}/table.csv")
    own.unlink()
    put(data / "tables/table.csv", content)
    refused("table", data / "tables/table.csv", how, "delete it, then `biaslib data fetch table`")
    assert site.asked == []


@pytest.mark.parametrize("content", [b"<html>log in</html>", TABLE[::-1], b""])
def test_what_arrives_is_checked_before_it_is_kept(data, site, content):
    site.files["table.csv"] = content
    refused("table", "is not the file of data set 'table'", "nothing was kept")
    assert files_in(data) == []
    assert not list(data.rglob(".partial-*"))


@pytest.mark.parametrize("name", ["table", "decades"])
def test_a_download_that_breaks_off_leaves_nothing(data, site, name):
    file = Path(describe_dataset(name)["urls"][0]).name
    site.promised[file] = len(site.files[file])
    site.files[file] = site.files[file][:-5]
    refused(name, "the connection broke", "nothing was kept", data / describe_dataset(name)["files"][0])
    assert files_in(data) == []


def test_without_a_network_one_line_says_what_to_do(data, site):
    site.close()
    refused("table", "no connection", f"put the file at '{data}/tables/table.csv'", "BIASLIB_DATA", "tables/table.csv")
    refused("decades", "no connection", f"put the file at '{data}/old/decades.zip'")
    put(data / "tables/table.csv", TABLE)
    assert dataset_path("table").is_file()


def test_a_file_that_is_gone_from_its_site_is_said(data, site):
    del site.files["table.csv"]
    refused("table", "404", "BIASLIB_DATA")


# Without a published SHA-256


def test_an_unverified_set_is_called_so_and_its_first_hash_recorded(data, site):
    with pytest.warns(UserWarning, match="'decades' is unverified") as said:
        folder = dataset_path("decades")
    assert said[0].filename == __file__
    assert folder == data / "old/decades/sgns"
    assert files_in(folder) == ["1900-vocab.pkl", "1900-w.npy"]
    record = json.loads((data / "old/decades.zip.record.json").read_text())
    assert record["sha256"] == hashlib.sha256(DECADES).hexdigest()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dataset_path("decades") == folder
    assert site.asked == ["decades.zip"]
    assert files_in(data) == [
        "old/decades.zip.record.json",
        "old/decades/sgns/1900-vocab.pkl",
        "old/decades/sgns/1900-w.npy",
    ]


@pytest.mark.filterwarnings("ignore:data set")
def test_another_download_than_the_recorded_one_is_refused(data, site):
    dataset_path("plain").unlink()
    site.files["a.txt"] = b"other"
    refused("plain", "SHA-256", data / "old/plain.txt.record.json", "delete if you trust", "nothing was kept")
    assert not (data / "old/plain.txt").exists()
    (data / "old/plain.txt.record.json").unlink()
    assert dataset_path("plain").read_bytes() == b"other"
    put(data / "old/plain.txt", b"third")
    refused("plain", "SHA-256", "delete it, then")


@pytest.mark.filterwarnings("ignore:data set")
def test_a_damaged_record_is_said(data):
    dataset_path("plain")
    (data / "old/plain.txt.record.json").write_text("[]")
    refused("plain", "record of data set 'plain', is damaged: delete it")


# Archives


@pytest.mark.filterwarnings("ignore:data set")
def test_an_unpacked_folder_that_lost_something_is_refused(data):
    (dataset_path("decades") / "1900-w.npy").write_bytes(b"short")
    refused("decades", data / "old/decades", "sgns/1900-w.npy", "delete the folder")


@pytest.mark.parametrize("outside", ["../out.txt", "sgns/../../out.txt", "/out.txt", "..\\out.txt", "C:\\out.txt"])
def test_an_archive_that_reaches_outside_is_refused(data, site, tmp_path, outside):
    site.files["decades.zip"] = archive({"sgns/1900-w.npy": "x", outside: "evil"})
    refused("decades", "was not unpacked", "lies outside the folder")
    assert files_in(data) == []
    assert not list(tmp_path.rglob("*out.txt"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (DECADES[:-30], "cannot be unpacked"),
        (b"<html>log in</html>", "cannot be unpacked"),
        (DECADES[:45] + b"!!" + DECADES[47:], "cannot be unpacked"),
        (archive({"other/x": "x"}), "has no folder 'sgns'"),
    ],
)
def test_an_archive_that_is_broken_leaves_no_record(data, site, content, says):
    site.files["decades.zip"] = content
    refused("decades", says)
    assert files_in(data) == []


@pytest.mark.filterwarnings("ignore:data set")
@pytest.mark.parametrize("own", [True, False])
def test_an_archive_put_there_by_hand_is_unpacked_into_the_data_folder(given, data, site, own):
    placed = put((given if own else data) / "old/decades.zip", DECADES)
    assert dataset_path("decades") == data / "old/decades/sgns"
    assert placed.is_file()
    assert dataset_path("decades") == data / "old/decades/sgns"
    assert site.asked == []


@pytest.mark.parametrize("inner", ["old/decades/sgns", "old/decades"])
def test_an_unpacked_folder_of_ones_own_is_used_as_it_is(given, data, site, inner):
    put(given / inner / "1900-w.npy", b"numbers")
    assert dataset_path("decades") == given / inner
    assert site.asked == [] and not data.exists()


# What there is


def test_an_unknown_name_brings_the_nearest(data):
    refused("tabel", "no data set 'tabel'; did you mean 'table'?")
    refused("zzz", "see `biaslib data list`")


def test_the_list_says_where_each_set_lies(given, data):
    put(given / "tables/table.csv", TABLE)
    dataset_path("lists")
    listed = list_datasets().set_index("name")
    assert listed["where"].to_dict() == {
        "table": "BIASLIB_DATA",
        "lists": "here",
        "decades": "not fetched",
        "plain": "not fetched",
    }
    assert listed["files"].to_dict() == {"table": 1, "lists": 2, "decades": 1, "plain": 1}
    assert listed.loc["lists", "bytes"] == 2 * len(LINES)
    assert listed["bytes"].isna().to_dict() == {"table": False, "lists": False, "decades": True, "plain": True}
    assert listed["verified"].to_dict() == {"table": True, "lists": True, "decades": False, "plain": False}


def test_a_table_is_read_as_it_is_written(data):
    assert dataset("table").to_dict("list") == {"id": [1, 2], "word": ["NA", ""]}
    with pytest.raises(DatasetError, match="use dataset_path"):
        dataset("lists")


def test_the_registry_is_complete():
    rows = datasets._registry()
    assert len({row.file for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[a-z0-9-]+", row.name) and row.licence and row.citation
        unverified = row.name.startswith(("histwords-eng-all", "stereoset", "ted2020-", "globalvoices-"))
        assert re.fullmatch(r"[0-9a-f]{64}", row.sha256) or unverified
        assert (
            re.fullmatch(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.+", row.url) or not row.sha256
        )
    for name in {row.name for row in rows}:
        assert len({(row.licence, row.citation, Path(row.file).parent) for row in rows if row.name == name}) == 1


def test_the_real_files_are_those_of_the_registry(real_data, tmp_path, monkeypatch):
    monkeypatch.setenv("BIASLIB_CACHE", str(tmp_path))
    for name in {row.name for row in datasets._registry() if row.sha256}:
        assert dataset_path(name).is_relative_to(real_data.absolute())
    assert list(tmp_path.iterdir()) == []
    shapes = {name: len(dataset(name)) for name in ("crows-pairs", "winoqueer-v0", "gap-test", "winogender")}
    assert shapes == {"crows-pairs": 1508, "winoqueer-v0": 5872, "gap-test": 2000, "winogender": 720}


def test_loading_the_module_loads_nothing_heavy():
    program = "import sys; import biaslib.io.datasets; print([*sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pooch", "requests", "platformdirs"} & set(shown.stdout.split("'"))


# The command


def test_the_command_lists_fetches_and_finds(data, capsys):
    assert main(["data", "list"]) == 0
    assert re.search(r"^decades +\? +not fetched \(unverified\) +MIT$", capsys.readouterr().out, re.MULTILINE)
    assert main(["data", "fetch", "table", "decades"]) == 0
    output, errors = capsys.readouterr()
    assert output.splitlines() == [
        f"table: {data}/tables/table.csv",
        "    licence: MIT; cite Us",
        f"decades: {data}/old/decades/sgns",
        "    licence: MIT; cite Us",
    ]
    assert errors.startswith("biaslib: data set 'decades' is unverified") and errors.count("\n") == 1
    assert main(["data", "path", "table"]) == 0
    assert capsys.readouterr() == (f"{data}{os.sep}tables{os.sep}table.csv\n", "")
    assert main(["data", "list"]) == 0
    assert re.search(r"^table +\d+ +here +MIT$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("data", "required: TASK"),
        ("data fetch", "required: NAME"),
        ("data fetch table tabel", "did you mean 'table'?"),
        ("data path lost", "no data set 'lost'"),
        ("data frobnicate", "invalid choice"),
    ],
)
def test_a_mistake_is_one_line_and_downloads_nothing(data, site, capsys, arguments, says):
    assert main(arguments.split()) == 2
    output, errors = capsys.readouterr()
    assert output == "" and errors.count("\n") == 1 and errors.startswith("biaslib: ") and says in errors
    assert site.asked == [] and not data.exists()


def test_a_failed_download_exits_2_with_one_line(data, site, capsys):
    site.files["table.csv"] = b"tampered"
    assert main(["data", "fetch", "table"]) == 2
    output, errors = capsys.readouterr()
    assert output == "" and errors.count("\n") == 1 and "nothing was kept" in errors


@pytest.mark.parametrize("corpus", ["ted2020", "globalvoices"])
def test_parallel_text_of_eight_languages_is_known(corpus):
    """The archives are named by both codes in alphabetical order."""
    pairs = {}
    for language in ("ar", "de", "es", "id", "ja", "pt", "ru", "zh"):
        (url,) = describe_dataset(f"{corpus}-{language}")["urls"]
        pairs[language] = re.fullmatch(r"https://.*/moses/(.*)\.txt\.zip", url)[1]
    chinese = {"ted2020": "en-zh_cn", "globalvoices": "en-zhs"}[corpus]
    assert list(pairs.values()) == ["ar-en", "de-en", "en-es", "en-id", "en-ja", "en-pt", "en-ru", chinese]
