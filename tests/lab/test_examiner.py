"""When a script has been seen enough: examining takes none of the training's budget."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.inside.lab.examiner import ExaminationOver, Examiner

S = 1_000_000_000


class Training:
    """One line of a script that calls `fit` again and again, on a clock of ours."""

    def __init__(self, *, budget_s: float, examining_s: float) -> None:
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
            calls=[],
            workloads={1: self.workload},
            progress=lambda *words: None,
            flush=lambda: None,
            writer=SimpleNamespace(write=lambda line: None),
        )
        self.examiner = Examiner(
            self.recorder,  # type: ignore[arg-type]
            budget_s=budget_s,
            go_on=False,
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
        call = SimpleNamespace(kind="fit", workload=self.workload, begin=self.now, steps=54)
        self.now += int(seconds * S)
        self.workload.total_ns += int(seconds * S)
        self.workload.calls += 1
        self.workload.steps += 54
        self.examiner.on_call_end(call)  # type: ignore[arg-type]


def test_a_long_examination_of_the_first_call_does_not_end_the_script() -> None:
    # What only repetition shows (compiling anew in every call) would never be seen.
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
