"""A hand-written loop is examined over its iterations: which experiments follow which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fake_context import MS, FakeBackend, FakeRecorder, quick_windows

from fitdoctor.contract.evidence.loop import LoopLines, LoopShare
from fitdoctor.inside.lab import loop_examination
from fitdoctor.inside.lab.loop_examination import LoopExamination

pytestmark = pytest.mark.usefixtures(quick_windows.__name__)


def train_step(batch: Any) -> None:
    """What the loop's body calls."""


def body(batch: Any) -> None:
    train_step(batch)


class Running:
    """A loop that iterates on a clock of ours."""

    def __init__(self, *, keep_running: bool = False, **changes: Any) -> None:
        self.recorder = FakeRecorder()
        self.batch = object()
        details = {
            "workload": SimpleNamespace(number=1),
            "frame_code": body.__code__,
            "loader": object(),
            "last_element": self.batch,
            "last_function_call": None,
            "marker": "torch",
            "iterations": 40,
            "frozen": None,
            "bodies": None,
        }
        self.loop = SimpleNamespace(**{**details, **changes})
        self.examination = LoopExamination(
            self.recorder,  # type: ignore[arg-type]
            FakeBackend("torch"),
            self.loop,  # type: ignore[arg-type]
            keep_running=keep_running,
        )
        self.loaders = 0

    def run(self, most: int = 200) -> list[str]:
        """Iterate until the examination is over; the names of what was recorded."""
        self.examination.start()
        for _ in range(most):
            self.recorder.now += 100 * MS
            body(self.batch)
            if self.loop.bodies is not None:
                self.loop.bodies.append(100 * MS)
            if self.examination.advance():
                break
        else:
            raise AssertionError("the examination does not end")
        return list(self.recorder.probes)


@pytest.fixture(autouse=True)
def no_loader_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader's probes are the scheduler's."""

    class NoScheduler:
        def examine(self, context: Any) -> None:
            context.recorder.write({"k": "probe", "name": "loader", "status": "ok"})

    monkeypatch.setattr(loop_examination, "Scheduler", NoScheduler)
    monkeypatch.setattr(loop_examination, "eager_switch", lambda _: None)


def test_the_loader_the_ceiling_and_the_step_compiled() -> None:
    running = Running()
    assert running.run() == ["loader", "frozen_batch", "repeat_call", "compiled_step"]
    lines = running.recorder.probes
    assert set(lines["frozen_batch"]["data"]["ns"]) == {100 * MS}
    step = lines["compiled_step"]["data"]
    assert (step["function"], step["stands_for"]) == ("train_step", "step function")
    assert step["eager"]["ns"]
    assert lines["repeat_call"]["status"] == "not available"
    assert running.loop.frozen is None


def test_the_loop_gets_one_batch_again_and_again() -> None:
    running = Running()
    running.examination.start()
    assert running.loop.frozen is running.batch


def test_a_compiled_function_is_called_again_instead() -> None:
    running = Running(last_function_call=(lambda x: x, (1,), {}))
    assert running.run() == ["loader", "frozen_batch", "repeat_call"]
    assert running.recorder.probes["repeat_call"]["status"] == "ok"


def test_a_script_that_runs_on_has_only_its_loader_probed() -> None:
    running = Running(keep_running=True)
    assert running.run() == ["loader", "frozen_batch"]
    refused = running.recorder.probes["frozen_batch"]
    assert refused["status"] == "not available"
    assert "--continue was given" in refused["reason"]
    assert running.loop.frozen is None


def test_a_loop_that_has_ended_has_only_its_loader_probed() -> None:
    running = Running(keep_running=True)
    running.examination.examine_ended()
    assert list(running.recorder.probes) == ["loader"]
    pure = Running(keep_running=True, marker="jax.jit", last_function_call=(len, ("ab",), {}))
    pure.examination.examine_ended()
    assert list(pure.recorder.probes) == ["loader", "repeat_call"]


def test_with_a_switch_on_the_loop_is_timed_compiled_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns: list[bool] = []
    switch = SimpleNamespace(name="jax_disable_jit", turn=turns.append)
    monkeypatch.setattr(loop_examination, "eager_switch", lambda _: switch)
    place = SimpleNamespace(file="a.py", line=3)
    monkeypatch.setattr(loop_examination, "place_of_switch", lambda _: place)
    running = Running()
    names = running.run()
    assert names.index("frozen_batch") < names.index("compiled_loop")
    assert turns == [True, False]
    data = running.recorder.probes["compiled_loop"]["data"]
    assert (data["switch"], data["file"], data["line"]) == ("jax_disable_jit", "a.py", 3)


class FakeSampler:
    """Sees what the test says."""

    maker: Any = None

    def __init__(self, code: Any) -> None:
        self.traces = 0

    def begin(self) -> None:
        pass

    def end(self) -> None:
        pass

    def trace(self) -> None:
        self.traces += 1

    def end_trace(self) -> bool:
        return True

    def result(self, iterations: int) -> LoopLines:
        share = LoopShare(ns=1)
        return LoopLines(share, share, share, iterations, maker=self.maker)


@pytest.mark.parametrize("maker", [None, ("a.py", 7, "batches")])
def test_a_loop_without_a_loader_is_watched_as_it_is(
    monkeypatch: pytest.MonkeyPatch, maker: Any
) -> None:
    monkeypatch.setattr(loop_examination, "LoopSampler", FakeSampler)
    monkeypatch.setattr(FakeSampler, "maker", maker)
    running = Running(loader=None, last_element=None)
    names = running.run()
    assert names[:1] == ["loop_lines"]
    assert "frozen_batch" not in names
    if maker is None:
        assert "loader" in names
    else:
        assert running.recorder.probes["input"]["data"] == {
            "kind": "generator",
            "name": "batches",
            "file": "a.py",
            "line": 7,
            "stages": [],
        }
