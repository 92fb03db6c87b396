"""A trial becomes a result in the recording, or the reason why there is none."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.options import ForcedSettings
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import FORMAT, SCHEMA
from fitdoctor.trials import fresh_process
from fitdoctor.trials.fresh_process import run_trial
from fitdoctor.trials.suspicion import Trial

TRIAL = Trial("fresh_threads", 1, ForcedSettings(threads=2), "8 threads on 2 cores")
LINES = (
    {"k": "header", "format": FORMAT, "schema": SCHEMA},
    {"k": "workload", "w": 1, "kind": "fit", "t": 5, "file": "/u/train.py", "line": 8},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.rec"
    made.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return made


def tried(path: Path, monkeypatch: pytest.MonkeyPatch, *times: float | FitdoctorError) -> list[str]:
    """Run the trial with runs that take so long; what was said."""
    left = list(times)

    def step_ns(*_: object) -> float:
        found = left.pop(0)
        if isinstance(found, FitdoctorError):
            raise found
        return found

    said: list[str] = []
    monkeypatch.setattr(fresh_process, "_step_ns", step_ns)
    run_trial(path, read_recording(path), ["python", "train.py"], TRIAL, said.append)
    assert not left
    return said


def test_a_run_that_fails_is_no_result(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried(path, monkeypatch, FitdoctorError("the script did not train"))
    (workload,) = read_recording(path).workloads
    assert workload.found(FreshRun, "threads") is None
    assert workload.probes["fresh_threads"].reason == "the script did not train"


def trained(path: Path, step_ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recording says that steps took so long, and the process 10 s to its first one."""
    monkeypatch.setattr(fresh_process, "_steady_ns", lambda workload: float(step_ns))
    monkeypatch.setattr(fresh_process, "_first_step_ns", lambda seen: 0)
    monkeypatch.setattr(fresh_process, "process_start_ns", lambda seen: -10 * NS_PER_S)


def at(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter_ns=lambda: round(seconds * NS_PER_S))
    monkeypatch.setattr(fresh_process, "time", clock)


@pytest.mark.parametrize("changed", [12e6, 2e6])
def test_one_run_is_enough_where_it_is_clear(
    path: Path, monkeypatch: pytest.MonkeyPatch, changed: float
) -> None:
    trained(path, 9_000_000, monkeypatch)
    at(20, monkeypatch)
    said = tried(path, monkeypatch, changed)
    (workload,) = read_recording(path).workloads
    assert workload.found(FreshRun, "threads") == FreshRun((9e6,), (changed,), {"threads": 2})
    assert said == ["8 threads on 2 cores: trying threads = 2 in a fresh process (about 15 s)"]


def test_a_small_gain_is_compared_with_a_fresh_run_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(path, 3_000_000, monkeypatch)
    at(20, monkeypatch)
    said = tried(path, monkeypatch, 2e6, 3.1e6)
    (workload,) = read_recording(path).workloads
    assert workload.found(FreshRun, "threads") == FreshRun(
        as_is=(3e6, 3.1e6), changed=(2e6, 2e6), forced={"threads": 2}
    )
    assert said[1] == "the script as it is, to compare with (about 15 s)"


def test_the_verdict_does_not_wait_for_a_second_run(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(path, 3_000_000, monkeypatch)
    at(50, monkeypatch)
    tried(path, monkeypatch, 2e6)
    (workload,) = read_recording(path).workloads
    found = workload.found(FreshRun, "threads")
    assert found is not None and found.as_is == (3e6,)


def test_without_recorded_steps_the_script_is_run_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried(path, monkeypatch, 2e6, 3e6)
    (workload,) = read_recording(path).workloads
    found = workload.found(FreshRun, "threads")
    assert found is not None and found.as_is == (3e6,)
