"""A trial becomes a result in the recording, or the reason why there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.evidence.device import FreshRun
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


def test_runs_in_turns_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tried(path, monkeypatch, 3e6, 2e6, 3.1e6, 2.1e6)
    (workload,) = read_recording(path).workloads
    assert workload.found(FreshRun, "threads") == FreshRun(
        as_is=(3e6, 3.1e6), changed=(2e6, 2.1e6), forced={"threads": 2}
    )
    assert said == ["8 threads on 2 cores: trying threads = 2 in 4 short runs of the script"]


@pytest.mark.parametrize("times", [(2e6, 3e6), (9e6, 2e6)])
def test_one_pair_is_enough_where_it_is_clear(
    path: Path, monkeypatch: pytest.MonkeyPatch, times: tuple[float, float]
) -> None:
    tried(path, monkeypatch, *times)
    (workload,) = read_recording(path).workloads
    found = workload.found(FreshRun, "threads")
    assert found is not None and len(found.as_is) == 1
