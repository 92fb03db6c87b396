"""Two starts with a cache become a result in the recording, where a cache may help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitdoctor.analysis.beginning import Beginning
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.evidence.compile_cache import WarmStart
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import FORMAT, SCHEMA, RecordedWorkload, Recording
from fitdoctor.trials import warm_start
from fitdoctor.trials.warm_start import try_warm_start

NS_PER_S = 10**9
LINES = (
    {"k": "header", "format": FORMAT, "schema": SCHEMA},
    {"k": "workload", "w": 1, "kind": "fit", "t": 5, "file": "/u/train.py", "line": 8},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.rec"
    made.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return made


def tried(
    path: Path, monkeypatch: pytest.MonkeyPatch, *starts: Beginning | None, kept: bool = True
) -> tuple[RecordedWorkload, list[str]]:
    """Starts of the script that begin so; the workload afterwards, and what was said."""
    left, said = list(starts), []

    def start(_: object, folder: str) -> Beginning:
        begun = left.pop(0)
        if begun is None:
            raise FitdoctorError("the script did not train when it was started again")
        if kept:
            (Path(folder) / "program").write_bytes(b"12345")
        return begun

    def first(seen: Recording) -> RecordedWorkload:
        return seen.workloads[0]

    monkeypatch.setattr(warm_start, "_cold", first)
    monkeypatch.setattr(warm_start, "_start", start)
    try_warm_start(path, read_recording(path), ["python", "train.py"], said.append)
    assert not left
    return read_recording(path).workloads[0], said


def test_no_script_is_started_where_nothing_compiles(path: Path) -> None:
    said: list[str] = []
    before = path.read_bytes()
    try_warm_start(path, read_recording(path), ["python", "train.py"], said.append)
    assert (said, path.read_bytes()) == ([], before)


def test_a_script_that_fails_is_no_result(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, _ = tried(path, monkeypatch, None)
    assert workload.found(WarmStart) is None
    assert workload.probes["warm_start"].status == "failed"


def test_a_cache_that_stays_empty_is_no_result(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Beginning(9.0 * NS_PER_S, 5.0 * NS_PER_S)
    workload, _ = tried(path, monkeypatch, begun, begun, kept=False)
    assert workload.found(WarmStart) is None


def test_both_starts_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold, warm = Beginning(9.0 * NS_PER_S, 5.0 * NS_PER_S), Beginning(4.0 * NS_PER_S, 1.0)
    workload, said = tried(path, monkeypatch, cold, warm)
    found = workload.found(WarmStart)
    assert found is not None
    assert (found.cold_ns, found.warm_ns, found.bytes) == (cold.ns, warm.ns, 5)
    assert len(said) == 1
