"""When a script has been seen enough: examining takes none of the training's budget."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.inside.lab.examiner import ExaminationOver, Examiner

S = 1_000_000_000


class Training:
    """One line of a script that calls `fit` again and again, on a clock of ours."""

    def __init__(self, *, budget_s: float, examining_s: float, keep_running: bool = False) -> None:
        self.lines: list[dict[str, Any]] = []
        self.now = 0
        self.fits = 0
        self.workload = SimpleNamespace(
            number=1, place=None, kind="fit", probed=False,
            first_ns=0, total_ns=0, calls=0, steps=0,
        )  # fmt: skip
        self.others: list[Any] = []
        self.recorder = SimpleNamespace(
            clock=lambda: self.now,
            first_step_ns=0,
            backend="torch",
            calls=[],
            workloads={1: self.workload},
            progress=lambda *words: None,
            flush=lambda: None,
            writer=SimpleNamespace(write=self.lines.append),
        )
        self.examiner = Examiner(
            self.recorder,  # type: ignore[arg-type]
            budget_s=budget_s,
            keep_running=keep_running,
            probes=True,
            traces=SimpleNamespace(),  # type: ignore[arg-type]
            hdf5=SimpleNamespace(),  # type: ignore[arg-type]
        )
        self.examined = 0

        def examine(*_: Any, **__: Any) -> None:
            self.examined += 1
            self.now += int(examining_s * S)

        self.examiner._examine_fit = examine  # type: ignore[method-assign]

    def fit(self, seconds: float) -> None:
        """One call of `fit`, up to its return."""
        self.fits += 1
        self.call("fit", seconds, steps=54)

    def call(self, kind: str, seconds: float, steps: int = 1) -> None:
        """One call from the line, up to its return."""
        self.workload.kind = kind
        call = SimpleNamespace(
            kind=kind, workload=self.workload, begin=self.now, steps=steps, epochs=1
        )
        self.now += int(seconds * S)
        self.workload.total_ns += int(seconds * S)
        self.workload.calls += 1
        self.workload.steps += steps
        self.examiner.on_call_end(call)  # type: ignore[arg-type]


def test_a_long_examination_of_the_first_call_does_not_end_the_script() -> None:
    # What only repetition shows (compiling again in every call) would never be seen.
    training = Training(budget_s=16, examining_s=40)
    training.fit(1.7)
    assert training.examined == 1
    training.fit(1.7)
    assert training.examined == 1


def test_repeated_calls_end_at_the_same_time_as_one_long_call() -> None:
    training = Training(budget_s=16, examining_s=40)
    with pytest.raises(ExaminationOver):
        for _ in range(100):
            training.fit(1.7)
    assert training.fits == 5  # 8.5 s of training: half of the budget


def test_a_heavy_line_that_was_not_examined_is_waited_for() -> None:
    training = Training(budget_s=16, examining_s=40)
    other = SimpleNamespace(probed=False, total_ns=30 * S)
    training.recorder.workloads[2] = other
    with pytest.raises(ExaminationOver):
        for _ in range(100):
            training.fit(1.7)
    assert training.fits == 10  # 17 s: all of the budget


def test_a_script_that_runs_on_is_not_ended() -> None:
    training = Training(budget_s=16, examining_s=40, keep_running=True)
    enough: list[int] = []
    training.examiner.on_enough = lambda: enough.append(1)
    for _ in range(20):
        training.fit(1.7)
    assert training.examined == 1
    assert len(enough) == 16  # from half of the budget on


@pytest.mark.parametrize(("kind", "calls"), [("predict", 8), ("train_on_batch", 8)])
def test_repeated_short_calls_are_examined_as_a_group(kind: str, calls: int) -> None:
    training = Training(budget_s=60, examining_s=1)
    groups: list[str] = []
    training.examiner._examine_group = lambda call: groups.append(call.kind)  # type: ignore[method-assign, assignment, func-returns-value]
    for _ in range(calls - 1):
        training.call(kind, 0.5)
    assert groups == []
    training.call(kind, 0.5)
    assert groups == [kind]
    assert training.examined == 0


def test_a_group_is_recorded_for_a_while_before_the_script_is_ended() -> None:
    training = Training(budget_s=60, examining_s=0)
    training.examiner._examine_group = lambda call: None  # type: ignore[method-assign, assignment]
    with pytest.raises(ExaminationOver):
        for _ in range(100):
            training.call("predict", 0.5)
    assert training.now == 15 * S


def test_a_fit_that_cannot_be_put_back_is_refused_where_the_script_runs_on() -> None:
    training = Training(budget_s=16, examining_s=0, keep_running=True)
    notes: list[tuple[Any, ...]] = []
    training.recorder.note = lambda *words: notes.append(words)
    backend = SimpleNamespace(name="x", why_not_restorable=lambda: "its state is unknown")
    training.examiner._backend = lambda: backend  # type: ignore[method-assign, assignment, return-value]
    call = SimpleNamespace(kind="fit", workload=training.workload, period_ns=lambda _: 1.0)
    Examiner._examine_fit(training.examiner, call, (), None, mid_fit=True)  # type: ignore[arg-type]
    refused = next(line for line in training.lines if line["k"] == "probe")
    assert refused["name"] == "frozen_batch"
    assert refused["reason"] == "its state is unknown, and --continue was given"
    assert notes == [("warning", "no probes were run: its state is unknown", 1)]
