"""Which cures are tried, and what a trial leaves in the recording; runs are made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cures.cured import diagnosis, finding
from fitdoctor.contract.evidence.cure_trial import CureTrial
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import FORMAT, SCHEMA, RecordedWorkload, Recording, Script
from fitdoctor.cures.patch import Applied, Declined, Patch, TextChange
from fitdoctor.findings.edits import DropKeyword, SkipBatches
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.proof.cured import Examined
from fitdoctor.proof.process import Run
from fitdoctor.proof.side import Side
from fitdoctor.trials import cured_text
from fitdoctor.trials.cured_text import MOST_TRIALS, candidates, try_cures
from synthetic import MS, call_group, event, fit_workload, recording

AT = Where("/user/train.py", 88)
EDIT = DropKeyword(AT, "compile", "run_eagerly")
LINES = (
    {"k": "header", "format": FORMAT, "schema": SCHEMA},
    {"k": "workload", "w": 1, "kind": "fit", "t": 5, "file": "/user/train.py", "line": 88},
)
FIRST_STEP_NS = 10**9


def trained(step: int, **more: Any) -> RecordedWorkload:
    return fit_workload(period=step, step=step, steps=400, **more)


class Chain:
    """Examination, patch and runs, with a clock that stands at the first step."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *found: Finding) -> None:
        self.path = folder / "a.rec"
        self.path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
        self.started: list[str] = []
        self.said: list[str] = []
        self.runs: dict[str, RecordedWorkload | None] = {"B": trained(2 * MS)}
        self.before = recording(trained(10 * MS), events=(event("start", 10**9 - 2 * 10**9, 0),))
        self.patch = Patch(
            {Path("/user/train.py"): TextChange("a", "b")},
            tuple(Applied(one, one.cure.edits) for one in found[:1]),
            (),
        )
        made = diagnosis(*found)
        where = place_of(self.before.workloads[0])
        judged = replace(made.workloads[0], where=where, total_ns=10**9)
        self.diagnosis = replace(made, workloads=(judged,))
        now = SimpleNamespace(perf_counter_ns=lambda: FIRST_STEP_NS)
        monkeypatch.setattr(cured_text, "time", now)
        monkeypatch.setattr(cured_text, "examined_before", self.examined)
        monkeypatch.setattr(cured_text, "patch_of", lambda *_, **__: self.patch)
        monkeypatch.setattr(cured_text, "run_side", self.run)

    def examined(self, target: Side, path: Path) -> Examined:
        return Examined(target, self.diagnosis, self.before)

    def run(self, side: Side, folder: Path, **_: object) -> Run:
        self.started.append(side.name)
        workload = self.runs[side.name]
        failed = workload is None
        made: Recording = recording(*([] if workload is None else [workload]))
        made = replace(made, examined=not failed)
        return Run(side.name, made, self.path, 0, 1 if failed else 0, "boom" if failed else "")

    def trial(self, budget_s: float = 60.0, rule: str = "HO002") -> CureTrial | str | None:
        """Try, and read the recording again: the trial, or why there is none."""
        try_cures(self.path, Script("train.py"), budget_s, self.said.append)
        (workload,) = read_recording(self.path).workloads
        found = workload.found(CureTrial, rule)
        name = f"cure_trial_{rule}"
        return workload.probes[name].reason if found is None and name in workload.probes else found


def test_what_cannot_be_tried_is_no_candidate() -> None:
    advice = finding()
    small = finding(EDIT, gain=1.1)
    start_up = replace(finding(EDIT), scope="run")
    assert candidates([advice, small, start_up]) == []


def test_estimates_are_tried_before_what_ran_in_the_process() -> None:
    tried, modelled = replace(finding(EDIT), how="tried"), finding(EDIT, rule="CB001")
    assert candidates([tried, modelled]) == [modelled, tried]


def test_two_trainings_are_not_told_apart_by_a_run(tmp_path: Path, monkeypatch) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT))
    (one,) = chain.diagnosis.workloads
    chain.diagnosis = replace(chain.diagnosis, workloads=(one, one))
    assert chain.trial() is None
    assert chain.started == []


def test_the_budget_is_kept(tmp_path: Path, monkeypatch) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT))
    reason = chain.trial(budget_s=5.0)
    assert isinstance(reason, str) and "takes about" in reason
    assert chain.started == []


def test_an_edit_that_cannot_be_made_says_why(tmp_path: Path, monkeypatch) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT))
    chain.patch = Patch({}, (), (Declined(finding(EDIT), "declined", "it is computed"),))
    assert chain.trial() == "it is computed"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (None, "the changed script failed: boom"),
        (trained(2 * MS, others=2.0), "other processes disturbed the run"),
        (fit_workload(steps=4), "could be compared"),
    ],
)
def test_a_run_that_shows_nothing_says_why(
    tmp_path: Path, monkeypatch, run: RecordedWorkload | None, said: str
) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT))
    chain.runs["B"] = run
    reason = chain.trial()
    assert isinstance(reason, str) and said in reason


def test_what_comes_now_and_then_must_have_been_seen(tmp_path: Path, monkeypatch) -> None:
    hook = finding(SkipBatches(AT, 1000), rule="CB001")
    chain = Chain(tmp_path, monkeypatch, hook)
    reason = chain.trial(rule="CB001")
    assert reason == "what the changed training does now and then was not seen"


def test_a_gain_as_expected_takes_one_run(tmp_path: Path, monkeypatch) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT, gain=5.0))
    found = chain.trial()
    assert isinstance(found, CureTrial)
    assert (chain.started, found.pairs) == (["B"], 0)
    assert found.before_ns / found.after_ns == pytest.approx(5.0, rel=0.02)
    assert found.edits == finding(EDIT).cure.fingerprint
    assert "trying the cure of HO002" in chain.said[0]


def test_a_surprise_is_measured_against_a_fresh_run_of_the_script(
    tmp_path: Path, monkeypatch
) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT, gain=2.0))
    chain.runs["A"] = trained(4 * MS)
    found = chain.trial()
    assert isinstance(found, CureTrial)
    assert (chain.started, found.pairs) == (["B", "A"], 1)
    assert found.before_ns / found.after_ns == pytest.approx(2.0, rel=0.02)


def test_only_the_first_findings_are_tried(tmp_path: Path, monkeypatch) -> None:
    many = [finding(EDIT, rule=f"HO00{n}", gain=5.0) for n in range(1, 5)]
    chain = Chain(tmp_path, monkeypatch, *many)
    chain.trial()
    assert chain.started == ["B"] * MOST_TRIALS


def test_a_loop_is_tried_as_well(tmp_path: Path, monkeypatch) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT, gain=5.0))
    loop = trained(10 * MS, kind="loop")
    chain.before = recording(loop, events=chain.before.events)
    (judged,) = chain.diagnosis.workloads
    chain.diagnosis = replace(chain.diagnosis, workloads=(replace(judged, kind="loop"),))
    chain.runs["B"] = trained(2 * MS, kind="loop")
    assert isinstance(chain.trial(), CureTrial)


def test_calls_without_steps_are_left_alone(tmp_path: Path, monkeypatch) -> None:
    chain = Chain(tmp_path, monkeypatch, finding(EDIT))
    chain.before = recording(call_group())
    assert chain.trial() is None
