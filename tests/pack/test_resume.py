from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from packs import SOURCE, command, elements, packed, table

from benchmarks.pack_kills import make_source, pack_through_kills
from fitdoctor.contract.errors import OutputError, UsageError
from fitdoctor.pack import job
from fitdoctor.pack.manifest import read_manifest
from fitdoctor.pack.shard import WORK_FOLDER
from fitdoctor.pack.verify import verify


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    dest.mkdir()
    (dest / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(UsageError, match=r"thesis\.txt"):
            packed(table(tmp_path), dest, force=force)
    assert [path.name for path in dest.iterdir()] == ["thesis.txt"]


def test_a_foreign_manifest_and_a_file_are_refused(tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    dest.mkdir()
    (dest / "manifest.json").write_text('{"name": "an extension of a browser"}')
    with pytest.raises(UsageError, match=r"manifest\.json"):
        packed(table(tmp_path), dest, force=True)
    with pytest.raises(UsageError, match="is a file"):
        packed(table(tmp_path), dest / "manifest.json")


def test_two_commands_do_not_write_to_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fitdoctor.pack import destination

    monkeypatch.setattr(destination, "LOCK_WAIT_S", 0.0)
    with (
        destination.taken(tmp_path / "dest", force=False),
        pytest.raises(OutputError, match="another process"),
    ):
        packed(table(tmp_path), tmp_path / "dest")


def test_a_finished_pack_is_not_made_again_and_not_mixed(tmp_path: Path) -> None:
    path = table(tmp_path)
    first = packed(path, tmp_path / "out")
    before = (tmp_path / "out" / "shard-00000.tfrecord").stat().st_mtime_ns
    again = packed(path, tmp_path / "out")
    assert (first.was_finished, again.was_finished) == (False, True)
    assert (tmp_path / "out" / "shard-00000.tfrecord").stat().st_mtime_ns == before
    with pytest.raises(UsageError, match="another format"):
        packed(path, tmp_path / "out", file_format="arrayrecord")
    made = packed(path, tmp_path / "out", file_format="arrayrecord", force=True).manifest
    assert verify(made) == []
    assert sorted(p.suffix for p in (tmp_path / "out").iterdir()) == [".arrayrecord", ".json"]


def test_a_source_that_changed_is_not_mixed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path)
    _stop_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        packed(path, tmp_path / "out", shard_bytes=9000)
    table(tmp_path, rows=900)
    with pytest.raises(UsageError, match="another source"):
        packed(path, tmp_path / "out", shard_bytes=9000)


def _stop_after(shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from fitdoctor.pack import engine

    real, left = job.write_shard, [shards]

    def stopping(*args: object, **kwargs: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            monkeypatch.setattr(engine, "write_shard", real)
            raise KeyboardInterrupt
        return real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "write_shard", stopping)


def test_interrupted_it_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path)
    _stop_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        packed(path, tmp_path / "out", shard_bytes=9000)
    work = tmp_path / "out" / WORK_FOLDER
    # As if a kill had come at the worst moments: a part file, a receipt cut off.
    (work / "shard-00004.tfrecord.77.part").write_bytes(b"half")
    (work / "shard-00001.json").write_text('{"number": 1, "fi')
    done = packed(path, tmp_path / "out", shard_bytes=9000)
    assert done.kept_shards == 1
    assert verify(done.manifest) == []
    assert [int(e["y"]) for e in elements(done.manifest)] == np.load(path)["y"].tolist()
    assert not work.exists()


STREAM = """
import numpy as np, pathlib, random
def same():
    yield from ({"x": np.full(50, i, "f4")} for i in range(400))
def other():
    chance = random.random()
    yield from ({"x": np.full(50, i + chance, "f4")} for i in range(400))
"""


@pytest.mark.parametrize("name", ["same", "other"])
def test_a_stream_goes_on_only_when_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from fitdoctor.pack import stream

    module = f"stream_{name}_{os.getpid()}"
    (tmp_path / f"{module}.py").write_text(STREAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    real, left = stream._write, [3]

    def stopping(*args: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(stream, "_write", stopping)
    with pytest.raises(KeyboardInterrupt):
        packed(f"{module}:{name}", tmp_path / "out", shard_bytes=20_000)
    monkeypatch.setattr(stream, "_write", real)
    if name == "other":
        with pytest.raises(UsageError, match="gives other elements"):
            packed(f"{module}:{name}", tmp_path / "out", shard_bytes=20_000)
        return
    done = packed(f"{module}:{name}", tmp_path / "out", shard_bytes=20_000)
    assert done.kept_shards == 3
    assert [e["x"][0] for e in elements(done.manifest)] == list(range(400))


def test_killed_at_random_moments_nothing_is_lost_and_nothing_doubled(tmp_path: Path) -> None:
    source = make_source(tmp_path, rows=60_000)
    result = pack_through_kills(tmp_path, source, kills=6, seed=1)
    assert result["kills"] == 6
    assert result["verified"]
    assert result["same_multiset"]


def test_a_worker_that_is_killed_is_an_error_and_can_be_gone_on_from(tmp_path: Path) -> None:
    (tmp_path / "deadly.py").write_text(
        "import os, pathlib, signal\n"
        "def once(element):\n"
        "    if element['y'] == 299 and not pathlib.Path('died').exists():\n"
        "        pathlib.Path('died').touch(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return element\n"
    )
    args = (table(tmp_path), "out", "--map", "deadly:once", "--workers", 2, "--shard-size", "9kB")
    failed = command(*args, cwd=tmp_path)
    assert failed.returncode == 2
    assert "a worker process was killed" in failed.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert command(*args, "--verify", cwd=tmp_path).returncode == 0
    assert read_manifest(tmp_path / "out").records == 1000


def test_a_full_disk_is_an_error_and_can_be_gone_on_from(tmp_path: Path) -> None:
    path = table(tmp_path, rows=20_000)
    args = [sys.executable, "-m", "fitdoctor", "pack", str(path), "out", "--shard-size", "1MB"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCE}

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    full = subprocess.run(
        args,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=small_files,
        check=False,
        timeout=60,
    )
    assert full.returncode == 2
    assert "cannot write" in full.stderr
    assert "finished shards are kept" in full.stderr
    assert not list((tmp_path / "out").rglob("*.part"))
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert command(path, "out", "--shard-size", "1MB", "--verify", cwd=tmp_path).returncode == 0


def test_ctrl_c_ends_it_with_130(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\n"
        "def slow(element):\n"
        "    pathlib.Path('begun').touch(); time.sleep(0.01); return element\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "fitdoctor", "pack", table(tmp_path), "out", "--map", "slow:slow"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": SOURCE},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said


@pytest.mark.parametrize("damage", ["byte", "cut", "missing", "extra", "swapped"])
def test_verify_finds_every_damage(tmp_path: Path, damage: str) -> None:
    manifest = packed(table(tmp_path), tmp_path / "out", shard_bytes=20_000).manifest
    first, second = manifest.paths[:2]
    if damage == "byte":
        data = bytearray(first.read_bytes())
        data[len(data) // 2] ^= 4
        first.write_bytes(bytes(data))
    elif damage == "cut":
        os.truncate(first, first.stat().st_size - 1)
    elif damage == "missing":
        first.unlink()
    elif damage == "extra":
        (tmp_path / "out" / "shard-00099.tfrecord").write_bytes(b"")
    else:
        one, other = first.read_bytes(), second.read_bytes()
        first.write_bytes(other)
        second.write_bytes(one)
    assert verify(manifest) != []
    done = command(tmp_path / "table.npz", "out", "--shard-size", "20kB", "--verify", cwd=tmp_path)
    assert done.returncode == 1
    assert "shard-000" in done.stderr


def test_a_manifest_of_another_kind_is_refused(tmp_path: Path) -> None:
    packed(table(tmp_path), tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    data = json.loads(path.read_text())
    for changed in (data | {"version": 99}, data | {"format": "other"}, {}, []):
        path.write_text(json.dumps(changed))
        with pytest.raises(UsageError, match=r"manifest\.json"):
            read_manifest(tmp_path / "out")
    with pytest.raises(UsageError, match="no finished pack"):
        read_manifest(tmp_path)
