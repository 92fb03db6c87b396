"""Recordings that were made before the contract had types still open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fitdoctor.contract.evidence.loop import CompiledLoop
from fitdoctor.contract.evidence.model import Padding
from fitdoctor.contract.evidence.pipeline import EarlyShuffle, EarlySkip, OnePass
from fitdoctor.contract.evidence.step import ProgressBar
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.results import from_record
from fitdoctor.contract.version_1 import upgraded
from fitdoctor.diagnosis import diagnose

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.rec"))
PASS = {"first_ns": 5, "ns": 50, "batches": 9, "whole": True}
BEFORE = {"first_ns": 6, "ns": 60, "batches": 9, "whole": False}
PASSES = (OnePass(5, 50, 9, True), OnePass(6, 60, 9, False))
TIMED = {"ns": [2.0, 3.0], "units": 5}


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        (
            "trial_early_shuffle",
            {"stage": 3, "pass": PASS, "pass_as_written": BEFORE},
            EarlyShuffle(3, *PASSES),
        ),
        (
            "trial_early_skip",
            {"stage": 3, "pass": PASS, "pass_as_written": BEFORE, "skipped": 7},
            EarlySkip(3, *PASSES, skipped=7),
        ),
        (
            "progress_bar",
            {"without": TIMED, "with": {"ns": [4.0]}},
            ProgressBar(Timed(ns=(2.0, 3.0), units=5), Timed(ns=(4.0,))),
        ),
        (
            "padding",
            {"length": 90, "real": 20.5, "rows": 8, "bucketed": 30, **TIMED},
            Padding(length=90, real=20.5, rows=8, bucketed=30, cut=Timed(ns=(2.0, 3.0), units=5)),
        ),
        (
            "padding",
            {"length": 90, "real": 20.5, "rows": 8, "bucketed": 30},
            Padding(length=90, real=20.5, rows=8, bucketed=30),
        ),
        (
            "compiled_loop",
            {**TIMED, "switch": "run_functions_eagerly", "line": "12"},
            CompiledLoop(ns=(2.0, 3.0), units=5, switch="run_functions_eagerly", line=12),
        ),
    ],
)
def test_payloads_of_another_layout(name: str, data: dict[str, Any], found: object) -> None:
    assert from_record(name, upgraded(name, data)) == found


def test_other_payloads_are_as_they_were() -> None:
    assert upgraded("frozen_batch", TIMED) is TIMED


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_real_recordings_open_without_damage(path: Path) -> None:
    recording = read_recording(path)
    assert recording.damage == ()
    assert any(workload.evidence.by_name for workload in recording.workloads)
    assert diagnose(recording).workloads


@pytest.mark.parametrize(
    ("stem", "rules"),
    [
        ("s01-schema-1", ["IN001"]),
        ("c22-schema-1", ["HO004"]),
        ("s20_torch-schema-1", ["HO001"]),
        ("s35_torch-schema-2", ["CB002"]),
    ],
)
def test_real_recordings_give_the_same_findings_as_ever(stem: str, rules: list[str]) -> None:
    (path,) = [one for one in RECORDINGS if one.stem == stem]
    (workload,) = diagnose(read_recording(path)).workloads
    assert [finding.rule for finding in workload.findings] == rules
