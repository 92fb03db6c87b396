"""A hand-written loop is examined over its iterations: which experiments follow which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fake_context import MS, FakeBackend, FakeRecorder, quick_windows

from fitdoctor.contract.evidence.loop import LoopLines, LoopShare
from fitdoctor.inside.lab import loop_examination
from fitdoctor.inside.lab.loop_examination import LONGEST_STAGE_NS, LoopExamination
from fitdoctor.inside.ledger.loop_watch import FunctionCall
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads

pytestmark = pytest.mark.usefixtures(quick_windows.__name__)


def train_step(batch: Any) -> None:
    """What the loop's body calls."""


def body(batch: Any) -> None:
    train_step(batch)


class FakeSampler:
    """Sees what the test says."""

    seen_maker: Any = None
    maker: Any = None
    maker_owner: Any = None

    def __init__(self, code: Any) -> None:
        self.traces = 0
        self.ended = False

    def begin(self) -> None:
        pass

    def end(self) -> None:
        self.ended = True

    def trace(self) -> None:
        self.traces += 1

    def end_trace(self) -> bool:
        return True

    def result(self, iterations: int) -> LoopLines:
        share = LoopShare(ns=1)
        return LoopLines(share, share, share, iterations, maker=self.seen_maker)


class FakeStepper:
    logs = None

    def step(self) -> None:
        pass

    def synchronize(self) -> None:
        pass


class FakeTrial:
    """A step of which nothing is asked but to be called."""

    def as_is(self) -> FakeStepper:
        return FakeStepper()

    def with_jit(self, on: bool) -> FakeStepper:
        return FakeStepper()


class Running:
    """A loop that iterates on a clock of ours."""

    def __init__(
        self, *, keep_running: bool = False, period: int = 100 * MS, **changes: Any
    ) -> None:
        self.recorder = FakeRecorder()
        self.batch = object()
        self.period = period
        details = {
            "workload": SimpleNamespace(number=1, total_ns=4_000 * MS, steps=40),
            "frame_code": body.__code__,
            "step_codes": set(),
            "loader": object(),
            "last_element": self.batch,
            "last_function_call": None,
            "optimizer": None,
            "optimizers": {},
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
            Hdf5Reads(),
            keep_running=keep_running,
        )
        self.frozen: list[Any] = []

    def run(self, most: int = 400) -> list[str]:
        """Iterate until the examination is over; the names of what was recorded."""
        if self.examination.advance():
            return list(self.recorder.probes)
        for _ in range(most):
            self.recorder.now += self.period
            body(self.batch)
            self.frozen.append(self.loop.frozen)
            if self.loop.bodies is not None:
                self.loop.bodies.append(self.period)
            if self.examination.advance():
                return list(self.recorder.probes)
        raise AssertionError("the examination does not end")


@pytest.fixture(autouse=True)
def without_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader's and the step's probes are the scheduler's."""

    class NoScheduler:
        def examine(self, context: Any) -> None:
            context.recorder.write({"k": "probe", "name": "scheduled", "status": "ok"})

    monkeypatch.setattr(loop_examination, "Scheduler", NoScheduler)
    monkeypatch.setattr(loop_examination, "LoopSampler", FakeSampler)
    monkeypatch.setattr(loop_examination, "eager_switch", lambda _: None)
    monkeypatch.setattr(loop_examination, "step_of_loop", lambda *_: FakeTrial())


def test_watched_then_frozen_then_its_step_and_its_loader() -> None:
    running = Running()
    names = ["loop_lines", "frozen_batch", "repeat_call", "compiled_step", "scheduled"]
    assert running.run() == names
    lines = running.recorder.probes
    assert set(lines["frozen_batch"]["data"]["ns"]) == {100 * MS}
    step = lines["compiled_step"]["data"]
    assert (step["function"], step["stands_for"]) == ("train_step", "step function")
    assert step["eager"]["ns"]
    assert lines["repeat_call"]["status"] == "not available"


def test_it_gets_one_batch_again_and_again_only_after_it_was_watched() -> None:
    running = Running()
    running.run()
    first = running.frozen.index(running.batch)
    assert first > 20  # two seconds of its own data
    assert running.loop.frozen is None


def test_a_loop_with_long_iterations_is_not_watched_for_all_of_them() -> None:
    running = Running(period=LONGEST_STAGE_NS // 3)
    assert "frozen_batch" in running.run(most=12)


def test_a_compiled_function_is_called_again_instead() -> None:
    call = FunctionCall(lambda x: x, (1,), {})
    running = Running(last_function_call=call)
    assert running.run() == ["loop_lines", "frozen_batch", "repeat_call", "scheduled"]
    assert running.recorder.probes["repeat_call"]["status"] == "ok"


def test_a_step_that_cannot_be_found_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("the user's own code failed")

    monkeypatch.setattr(loop_examination, "step_of_loop", fail)
    call = FunctionCall(lambda x: x, (1,), {})
    running = Running(last_function_call=call)
    assert "scheduled" in running.run()
    refused = running.recorder.probes["repeat_call"]
    assert refused["status"] == "not available"
    assert "the user's own code failed" in refused["reason"]


def test_a_script_that_runs_on_is_watched_and_has_its_loader_probed() -> None:
    running = Running(keep_running=True)
    assert running.run() == ["loop_lines", "scheduled", "frozen_batch"]
    refused = running.recorder.probes["frozen_batch"]
    assert refused["status"] == "not available"
    assert "--continue was given" in refused["reason"]
    assert set(running.frozen) == {None}


def test_a_loop_that_has_ended_has_its_step_and_loader_examined() -> None:
    running = Running(last_function_call=FunctionCall(len, ("ab",), {}))
    running.examination.examine_ended()
    assert list(running.recorder.probes) == ["repeat_call", "scheduled"]


def test_a_loop_that_ends_while_it_is_watched_keeps_what_was_seen() -> None:
    running = Running()
    running.examination.advance()
    running.loop.bodies += [100 * MS] * 5
    running.examination.examine_ended()
    assert running.recorder.probes["loop_lines"]["data"]["iterations"] == 5
    assert running.loop.bodies is None


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


def test_a_loop_without_a_loader_is_not_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running(loader=None, last_element=None)
    names = running.run()
    assert names[0] == "loop_lines"
    assert "frozen_batch" not in names
    assert "input" not in names


def test_what_makes_its_data_is_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeSampler, "seen_maker", ("a.py", 7, "batches"))
    monkeypatch.setattr(FakeSampler, "maker", body.__code__)
    running = Running(loader=None, last_element=None)
    running.run()
    made = running.recorder.probes["input"]["data"]
    assert (made["kind"], made["name"], made["line"]) == ("generator", "batches", 7)
    assert running.examination._context.live_source is not None


def test_a_loader_that_is_seen_is_the_input_whatever_the_samples_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FakeSampler, "seen_maker", ("a.py", 7, "batches"))
    assert "input" not in Running().run()
