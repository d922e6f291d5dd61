"""Shards: the same bytes after kills, changes, damage, and on other processes."""

import errno
import functools
import gzip
import io
import json
import os
import random
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
import squares_for_tests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from squares_for_tests import ITEMS, MANY, squares

from biaslib import compute
from biaslib.compute import cluster, read_shards, run_shards, shards
from biaslib.io import Piece, corpus_fingerprint, cut_files
from biaslib.io._text_files import open_text

pytest.importorskip("pyarrow")
SAME = {"power": 2}


def files_of(folder):
    """What has to be the same: all but the times."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != "seconds.json"}


def never(item):
    pytest.fail("computed again")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return run_shards(ITEMS, squares, out=tmp_path_factory.mktemp("shards") / "a", identity=SAME)


def test_what_is_read_is_what_was_computed(undisturbed):
    table = read_shards(undisturbed.folder)
    parts = [squares(item) for item in ITEMS]
    expected = pd.concat([part.assign(shard=number) for number, part in enumerate(parts)], ignore_index=True)
    pd.testing.assert_frame_equal(table, expected[table.columns], check_dtype=False)
    assert table.columns[0] == "shard"
    assert table["name"].cat.categories.tolist() == ["pig", "hen", "cow"]
    assert table.attrs == {"n_seen": 21}
    assert (undisturbed.n_shards, undisturbed.n_kept, undisturbed.n_rows, undisturbed.note) == (6, 0, 15, "")
    assert undisturbed.to_frame().loc[0, "n_rows"] == 15
    assert "6 shards, 0 of them from before: 15 rows" in undisturbed.summary


def test_shards_are_read_by_column(undisturbed):
    assert read_shards(undisturbed.folder, columns=["n"]).columns.tolist() == ["shard", "n"]


def test_the_manifest_names_what_is_done_and_tells_nothing_of_the_machine(undisturbed, tmp_path):
    text = (undisturbed.folder / "manifest.json").read_text()
    manifest = json.loads(text)
    assert manifest["identity"] == {"biaslib": shards.__version__, "power": 2}
    assert [record["rows"] for record in manifest["shards"]] == [0, 1, 2, 3, 4, 5]
    assert manifest["shards"][3]["file"] == "shard-00003.parquet"
    assert manifest["shards"][3]["item"] == ["square", 3]
    seconds = json.loads((undisturbed.folder / "seconds.json").read_text())
    assert list(seconds) == [record["file"] for record in manifest["shards"]]
    run_shards([tmp_path / "x.txt"], lambda path: pd.DataFrame(), out=tmp_path / "o", identity={})
    assert str(tmp_path) not in (tmp_path / "o/manifest.json").read_text()


def test_the_same_call_again_computes_nothing(undisturbed):
    before = files_of(undisturbed.folder)
    again = run_shards(ITEMS, never, out=undisturbed.folder, identity=SAME)
    assert (again.n_kept, again.n_rows) == (6, 15)
    assert files_of(undisturbed.folder) == before


def killed(*kills):
    """Run shards in processes that are killed, each given as folder, boundary, number of items; give their ends."""
    command = [sys.executable, squares_for_tests.__file__, *(str(part) for kill in kills for part in kill)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_killed_ten_times_at_write_boundaries_it_ends_with_the_same_bytes(tmp_path):
    chance = random.Random(7)
    ends = killed(*((tmp_path / "b", chance.randint(1, 20), len(MANY)) for _ in range(10)))
    assert ends == ["9"] * 10
    last = run_shards(MANY, squares, out=tmp_path / "b", identity=SAME)
    assert 0 < last.n_kept < len(MANY)
    undisturbed = run_shards(MANY, squares, out=tmp_path / "a", identity=SAME)
    assert files_of(last.folder) == files_of(undisturbed.folder)


def test_killed_once_anywhere_it_ends_with_the_same_bytes(tmp_path):
    assert killed(*((tmp_path / str(boundary), boundary, 2) for boundary in range(1, 13))) == ["9"] * 12
    undisturbed = run_shards(MANY[:2], squares, out=tmp_path / "a", identity=SAME)
    for boundary in range(1, 13):
        run_shards(MANY[:2], squares, out=tmp_path / str(boundary), identity=SAME)
        assert files_of(tmp_path / str(boundary)) == files_of(undisturbed.folder)


def ended_at(number, error):
    def work(item):
        if item[1] == number:
            raise error
        return squares(item)

    return work


def test_an_error_keeps_the_shards_before_it_and_is_named(undisturbed, tmp_path):
    with pytest.raises(RuntimeError) as caught:
        run_shards(ITEMS, ended_at(4, RuntimeError("odd")), out=tmp_path / "b", identity=SAME)
    assert caught.value.__notes__[0] == "in shard-00004.parquet"
    assert caught.value.__notes__[1].startswith("4 of 6 shards are done and stay")
    with pytest.raises(FileNotFoundError, match="4 of 6 shards"):
        read_shards(tmp_path / "b")
    done = run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME)
    assert done.n_kept == 4
    assert files_of(done.folder) == files_of(undisturbed.folder)


@pytest.mark.parametrize(
    ("identity", "items", "version", "says"),
    [
        ({"power": 3}, ITEMS, None, "power was 2 and is 3: starting anew"),
        ({"power": 2, "model": "abc"}, ITEMS, None, 'model was not given and is "abc"'),
        ({}, ITEMS, None, "power was 2 and is not given"),
        (SAME, ITEMS[:5], None, "the shards are cut in another way"),
        (SAME, ITEMS, "9.9", 'biaslib was "0.1.0" and is "9.9"'),
    ],
)
def test_what_has_changed_starts_anew_and_is_said(undisturbed, tmp_path, monkeypatch, identity, items, version, says):
    out = tmp_path / "b"
    run_shards(ITEMS, squares, out=out, identity=SAME)
    if version:
        monkeypatch.setattr(shards, "__version__", version)
    work = functools.partial(squares, power=identity.get("power", 2))
    with pytest.warns(UserWarning, match=says.split(":")[0]):
        done = run_shards(items, work, out=out, identity=identity)
    assert says in done.note
    assert done.n_kept == 0
    assert len(read_shards(out)) == done.n_rows
    assert json.loads((out / "manifest.json").read_text())["identity"].get("power") == identity.get("power")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.lock", "b"]


def test_earlier_shards_stay_until_the_new_ones_are_complete(undisturbed, tmp_path):
    out = tmp_path / "b"
    run_shards(ITEMS, squares, out=out, identity=SAME)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError):
        run_shards(ITEMS, ended_at(4, RuntimeError("odd")), out=out, identity={"power": 3})
    assert files_of(out) == files_of(undisturbed.folder)
    # The earlier call is still done, and does not undo the later one's beginning.
    assert run_shards(ITEMS, never, out=out, identity=SAME).n_kept == 6
    with pytest.warns(UserWarning, match="going on with what was started anew"):
        done = run_shards(ITEMS, functools.partial(squares, power=3), out=out, identity={"power": 3})
    assert done.n_kept == 4
    assert files_of(out) != files_of(undisturbed.folder)


@pytest.mark.parametrize("moves", [1, 2])
def test_killed_while_new_shards_replace_the_earlier_ones(tmp_path, monkeypatch, moves):
    out, other = tmp_path / "b", tmp_path / "c"
    run_shards(ITEMS, squares, out=out, identity=SAME)
    run_shards(ITEMS, squares, out=other, identity={"power": 3})
    rename, left = os.rename, [moves]

    def ended(*paths):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        rename(*paths)

    monkeypatch.setattr(os, "rename", ended)
    with pytest.warns(UserWarning), pytest.raises(KeyboardInterrupt):
        run_shards(ITEMS, squares, out=out, identity={"power": 3})
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="going on"):
        run_shards(ITEMS, never, out=out, identity={"power": 3})
    assert files_of(out) == files_of(other)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.lock", ".c.lock", "b", "c"]


def truncate(path):
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("harm", [truncate, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_shard_is_found_and_computed_again(undisturbed, tmp_path, harm):
    out = tmp_path / "b"
    run_shards(ITEMS, squares, out=out, identity=SAME)
    harm(out / "shard-00003.parquet")
    with pytest.raises(ValueError, match=r"shard-00003.parquet is damaged or missing"):
        read_shards(out)
    with pytest.warns(UserWarning, match=r"computed again: shard-00003.parquet"):
        done = run_shards(ITEMS, squares, out=out, identity=SAME)
    assert done.n_kept == 5
    assert files_of(out) == files_of(undisturbed.folder)


def with_records(change):
    def harm(path):
        manifest = json.loads(path.read_text())
        change(manifest["shards"])
        path.write_text(json.dumps(manifest))

    return harm


@pytest.mark.parametrize(
    "harm",
    [
        truncate,
        lambda path: path.write_text("[" * 100_000),
        with_records(lambda records: records.append(records[0])),
        with_records(lambda records: records.append({})),
        with_records(lambda records: records[0].update(file="x")),
        with_records(lambda records: records[-1].update(file="shard-00006.parquet")),
        with_records(lambda records: records[0].update(rows=None)),
        with_records(lambda records: records[0].update(counts=None)),
    ],
)
def test_a_manifest_that_cannot_be_read_starts_anew(undisturbed, tmp_path, harm):
    out = tmp_path / "b"
    run_shards(ITEMS, squares, out=out, identity=SAME)
    harm(out / "manifest.json")
    with pytest.raises(FileNotFoundError, match="no shards"):
        read_shards(out)
    with pytest.warns(UserWarning, match="no manifest.json that can be read"):
        run_shards(ITEMS, squares, out=out, identity=SAME)
    assert files_of(out) == files_of(undisturbed.folder)


def test_hidden_files_of_the_system_are_let_be(undisturbed, tmp_path):
    out = tmp_path / "b"
    out.mkdir()
    (out / ".DS_Store").write_text("x")
    (out / "seconds.json").write_text("[1]")
    run_shards(ITEMS[:3], squares, out=out, identity=SAME)
    with pytest.warns(UserWarning, match="starting anew"):
        run_shards(ITEMS, squares, out=out, identity=SAME)
    assert files_of(out) == files_of(undisturbed.folder) | {".DS_Store": b"x"}
    (out / ".git").mkdir()
    with pytest.raises(ValueError, match=r"holds '\.git'"):
        run_shards(ITEMS, squares, out=out, identity=SAME)


def test_shards_that_another_call_has_replaced_are_not_taken_for_this_ones(tmp_path):
    mine = run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME)
    assert len(read_shards(mine)) == mine.n_rows
    with pytest.warns(UserWarning, match="starting anew"):
        run_shards(ITEMS, squares, out=tmp_path / "b", identity={"power": 3})
    with pytest.raises(ValueError, match="another call has replaced the shards"):
        read_shards(mine)


@pytest.mark.parametrize("writes", [1, 2, 4, 6])
def test_a_full_disk_leaves_nothing_half_written(undisturbed, tmp_path, monkeypatch, writes):
    fsync, left = os.fsync, [writes]

    def full(descriptor):
        left[0] -= 1
        if left[0] <= 0:
            os.ftruncate(descriptor, 3)
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/b/"):
        run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME)
    monkeypatch.undo()
    expected = files_of(undisturbed.folder)
    assert not list((tmp_path / "b").glob(".*"))
    assert all(path.read_bytes() == expected[path.name] for path in (tmp_path / "b").glob("*.parquet"))
    run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME)
    assert files_of(tmp_path / "b") == expected


def test_a_second_call_waits_for_the_first_and_takes_its_shards(tmp_path, monkeypatch):
    begun, may_end = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    def slow(item):
        begun.set()
        assert may_end.wait(60)
        return squares(item)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(run_shards, ITEMS, slow, out=tmp_path / "b", identity=SAME)
        assert begun.wait(60)
        second = threads.submit(run_shards, ITEMS, squares, out=tmp_path / "b", identity=SAME)
        while "waiting for another process" not in sys.stderr.getvalue():
            assert not second.done()
            time.sleep(0.01)
        may_end.set()
        assert (first.result().n_kept, second.result().n_kept) == (0, len(ITEMS))


@pytest.mark.parametrize(
    ("items", "work", "identity", "error", "says"),
    [
        ([], squares, {}, ValueError, "no shard"),
        ([object()], squares, {}, TypeError, "item cannot be a object"),
        (ITEMS, squares, {"x": float("nan")}, ValueError, "plain values"),
        (ITEMS, squares, {"x": object()}, ValueError, "plain values"),
        (ITEMS, lambda item: [1], {}, TypeError, "DataFrame, not list"),
        (ITEMS, lambda item: pd.DataFrame({"shard": [1]}), {}, TypeError, "other than 'shard'"),
        (ITEMS, lambda item: pd.DataFrame({1: [1]}), {}, TypeError, "different strings"),
        (ITEMS, lambda item: pd.DataFrame({"a": [1, "b"]}), {}, TypeError, "cannot be kept"),
        (ITEMS, squares, {}, TypeError, "neither a dask.distributed.Client"),
    ],
)
def test_odd_input_is_named(tmp_path, items, work, identity, error, says):
    if "Client" in says:
        pytest.importorskip("distributed")
    client = 7 if "Client" in says else None
    with pytest.raises(error, match=says):
        run_shards(items, work, out=tmp_path / "b", identity=identity, client=client)


def test_attrs_have_to_be_counts(tmp_path):
    def work(item):
        frame = squares(item)
        frame.attrs["source"] = "books"
        return frame

    with pytest.raises(TypeError, match="'source' is 'books'"):
        run_shards(ITEMS, work, out=tmp_path / "b", identity=SAME)


def test_nothing_of_others_is_replaced(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds 'thesis.txt', which is no shard"):
        run_shards(ITEMS, squares, out=tmp_path, identity=SAME)
    with pytest.raises(ValueError, match="is a file"):
        run_shards(ITEMS, squares, out=tmp_path / "thesis.txt", identity=SAME)
    with pytest.raises(FileNotFoundError, match="no shards at"):
        read_shards(tmp_path)


def test_shards_of_no_rows_take_on_the_types_of_the_others(tmp_path):
    def work(number):
        text = pd.Series(["a"] * number, dtype=object)
        return pd.DataFrame({"text": text, "name": pd.Categorical(text), "x": pd.Series([0.5] * number, dtype=object)})

    run_shards([0, 2, 0], work, out=tmp_path / "b", identity={})
    table = read_shards(tmp_path / "b")
    assert table["shard"].tolist() == [1, 1]
    assert table["x"].tolist() == [0.5, 0.5]
    assert table["name"].tolist() == ["a", "a"]


def test_in_batch_progress_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME, progress=True)
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("6 shards, 0 of them from before: 15 rows in ")
    assert errors.count("\n") == 1


@pytest.fixture(scope="module")
def workers():
    distributed = pytest.importorskip("distributed")
    # Workers import the tests' module by the same path.
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with distributed.LocalCluster(**options) as made, distributed.Client(made) as client:
            yield client


def test_two_workers_give_the_same_bytes(undisturbed, workers, tmp_path):
    done = run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME, client=workers)
    assert done.n_rows == 15
    assert files_of(done.folder) == files_of(undisturbed.folder)
    address = workers.scheduler.address
    by_address = run_shards(ITEMS, squares, out=tmp_path / "c", identity=SAME, client=address)
    assert files_of(by_address.folder) == files_of(undisturbed.folder)


def test_a_worker_that_dies_is_replaced_by_the_others(undisturbed, workers, tmp_path):
    work = functools.partial(squares_for_tests.squares_that_kill_once, folder=str(tmp_path))
    done = run_shards(ITEMS, work, out=tmp_path / "b", identity=SAME, client=workers)
    assert (tmp_path / "killed").exists()
    assert files_of(done.folder) == files_of(undisturbed.folder)


def test_an_error_on_a_worker_is_named_and_the_rest_goes_on_later(undisturbed, workers, tmp_path):
    with pytest.raises(RuntimeError, match="odd") as caught:
        run_shards(ITEMS, ended_at(4, RuntimeError("odd")), out=tmp_path / "b", identity=SAME, client=workers)
    assert caught.value.__notes__[0] == "in shard-00004.parquet"
    done = run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME, client=workers)
    assert files_of(done.folder) == files_of(undisturbed.folder)


def test_no_scheduler_is_one_clear_line(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 1)
    with pytest.raises(ConnectionError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME, client="tcp://127.0.0.1:9")


def test_a_scheduler_without_workers_is_told_of(capsys, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_SECONDS_TO_WAIT", 0.1)
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=0, **options) as made:
        with compute.connected(made.scheduler_address):
            assert "waiting for workers: the scheduler at" in capsys.readouterr().err
        made.scale(1)
        with distributed.Client(made) as client, compute.connected(client):
            assert capsys.readouterr().err == ""


def test_without_dask_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'biaslib\[cluster\]'"):
        run_shards(ITEMS, squares, out=tmp_path / "b", identity=SAME, client="tcp://127.0.0.1:9")


def test_a_model_is_loaded_once_and_gives_way_to_the_next():
    loaded = []

    def load(name, *, size=1):
        loaded.append((name, size))
        return object()

    first = compute.per_worker(load, "a")
    assert compute.per_worker(load, "a") is first
    assert compute.per_worker(load, "a", size=2) is not first
    assert compute.per_worker(load, "a") is not first
    assert loaded == [("a", 1), ("a", 2), ("a", 1)]


def test_a_worker_with_another_model_of_that_name_is_refused(demo):
    assert compute.worker_model("demo", demo.fingerprint, device="cpu").fingerprint == demo.fingerprint
    with pytest.raises(ValueError, match="has the fingerprint"):
        compute.worker_model("demo", "0" * 16, device="cpu")


def text_of(items):
    parts = []
    for piece in (piece for item in items for piece in item):
        with open_text(piece.path, start=piece.start, stop=piece.stop) as file:
            parts.append(file.read())
    return "".join(parts)


LINES = st.lists(st.sampled_from(["", "A dog that barks.", "Ein Schwein, das grunzt – laut.", " ", "x" * 40]))


@given(lines=LINES, ending=st.sampled_from(["\n", "\r\n"]), last=st.booleans(), size=st.integers(1, 200))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_are_the_file_and_end_where_lines_do(tmp_path, lines, ending, last, size):
    path = tmp_path / "a.txt"
    text = ending.join(lines) + ending * last
    path.write_text(text, encoding="utf-8", newline="")
    items = cut_files([path], shard_bytes=size)
    assert text_of(items) == text.replace("\r\n", "\n")
    content = path.read_bytes()
    stops = [piece.stop for item in items for piece in item]
    assert stops[-1] == len(content)
    assert all(content[stop - 1 : stop] == b"\n" for stop in stops[:-1])


def test_text_is_cut_between_paragraphs_where_there_are_any(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("A dog\nthat barks.\n\nA cat\nthat sleeps.\n\nA pig.\n")
    cut = [(piece.start, piece.stop) for (piece,) in cut_files([path], shard_bytes=10)]
    assert cut == [(0, 19), (19, 39), (39, 46)]
    lines = path.rename(tmp_path / "a.jsonl")
    assert [piece.stop for (piece,) in cut_files([lines], shard_bytes=10)] == [18, 38, 46]


@pytest.mark.parametrize("ending", [".", "!”", '?"', "…’", ".)"])
def test_wrapped_text_without_blank_lines_is_cut_between_sentences(tmp_path, ending):
    text = f"The dog lay\nthere. “Run!”\nsaid the fox{ending} \r\nIt saw\nthe cat."
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    first, second = (text_of([item]) for item in cut_files([path], shard_bytes=20))
    assert first.endswith(f"{ending} \n")
    assert second == "It saw\nthe cat."


@pytest.mark.parametrize("stop", [None, 8_000_000])
def test_a_piece_is_never_in_memory_as_a_whole(tmp_path, stop):
    path = tmp_path / "a.txt"
    path.write_bytes("– dog\n".encode() * 1_250_000)
    tracemalloc.start()
    with open_text(path, start=8, stop=stop) as file:
        n_lines = sum(line == "– dog\n" for line in file)
    assert n_lines == ((stop or path.stat().st_size) - 8) // 8
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_compressed_files_are_not_cut_and_small_files_share_a_shard(tmp_path):
    paths = [tmp_path / f"{number}.txt.gz" for number in range(4)]
    for number, path in enumerate(paths):
        path.write_bytes(gzip.compress(f"A dog, number {number}.\n".encode(), mtime=0))
    size = 3 * paths[0].stat().st_size
    items = cut_files(paths, shard_bytes=2 * size)
    assert items == [
        (Piece(str(paths[0])), Piece(str(paths[1]))),
        (Piece(str(paths[2])), Piece(str(paths[3]))),
    ]
    assert text_of(items) == "".join(f"A dog, number {number}.\n" for number in range(4))
    assert len(cut_files(paths, shard_bytes=1)) == 4


def test_parquet_is_cut_between_row_groups(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"text": list("abcdef")}).to_parquet(path, row_group_size=2)
    items = cut_files([path], shard_bytes=1)
    assert [(piece.start, piece.stop) for (piece,) in items] == [(0, 1), (1, 2), (2, 3)]
    path.write_bytes(b"no")
    with pytest.raises(ValueError, match=r"a\.parquet' is not Parquet"):
        cut_files([path])


def test_a_byte_order_mark_and_an_empty_file(tmp_path):
    (tmp_path / "a.txt").write_text("A dog.\nA cat.\n", encoding="utf-8-sig")
    (tmp_path / "b.txt").write_text("")
    assert text_of(cut_files([tmp_path / "a.txt", tmp_path / "b.txt"], shard_bytes=5)) == "A dog.\nA cat.\n"


def test_the_fingerprint_of_a_corpus_is_of_names_and_contents(tmp_path):
    paths = [tmp_path / name for name in ("a.txt", "b.txt")]
    for path in paths:
        path.write_text(path.name)
    before = corpus_fingerprint(paths)
    assert corpus_fingerprint(paths) == before
    assert corpus_fingerprint(paths[::-1]) != before
    paths[0].write_text("A.txt")
    assert corpus_fingerprint(paths) != before
    with pytest.raises(FileNotFoundError, match="absent"):
        corpus_fingerprint([tmp_path / "absent"])
    with pytest.raises(ValueError, match="no file"):
        cut_files([])
    with pytest.raises(ValueError, match="shard_bytes"):
        cut_files(paths, shard_bytes=0)
