"""The scheduler: order, what is run, what is recorded, and what is put back."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from fake_context import FakeContext, FakeRecorder, fake_context

from fitdoctor.contract.evidence.step import FrozenBatch, Threads
from fitdoctor.inside.lab import recording
from fitdoctor.inside.lab.apparatus import windows
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.lab.scheduler import BadOrder, Scheduler, all_probes, ordered


@dataclass(frozen=True)
class Answer:
    """What a fake probe finds."""

    value: int = 0


class Fake(Probe[Answer]):
    """A probe that answers what the test says."""

    finds = Answer

    def __init__(
        self,
        key: str,
        phase: Phase = Phase.FACTS,
        after: tuple[str, ...] = (),
        *,
        answer: Any = None,
        wanted: bool = True,
        **more: Any,
    ) -> None:
        self.key = key
        self.answer = answer if answer is not None else Answer(1)
        self.is_wanted = wanted
        vars(self).update(phase=phase, after=after, **more)

    @property
    def name(self) -> str:
        return self.key

    def wanted(self, context: Any) -> bool:
        if isinstance(self.is_wanted, Exception):
            raise self.is_wanted
        return self.is_wanted

    def run(self, context: Any) -> Answer:
        if callable(self.answer):
            return self.answer(context)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def keys(probes: Any) -> list[str]:
    return [probe.key for probe in probes]


def examine(*probes: Fake, **changes: Any) -> FakeContext:
    context = fake_context(**changes)
    Scheduler(ordered(probes), settle_s=0.0).examine(context)
    return context


def status(context: FakeContext) -> dict[str, str]:
    return {name: line["status"] for name, line in context.recorder.probes.items()}


class TestOrder:
    def test_by_phase_then_by_after_then_by_name(self) -> None:
        probes = [
            Fake("d", Phase.MODEL),
            Fake("a", after=("c",)),
            Fake("b"),
            Fake("c"),
            Fake("z", Phase.STEP),
        ]
        assert keys(ordered(probes)) == ["b", "c", "a", "z", "d"]
        assert keys(ordered(probes[::-1])) == ["b", "c", "a", "z", "d"]

    @pytest.mark.parametrize("name", ["nobody", "later"])
    def test_a_probe_may_only_follow_one_of_its_phase(self, name: str) -> None:
        with pytest.raises(BadOrder, match=name):
            ordered([Fake("a", after=(name,)), Fake("later", Phase.MODEL)])

    def test_a_circle_is_an_error(self) -> None:
        with pytest.raises(BadOrder, match="after each other"):
            ordered([Fake("a", after=("b",)), Fake("b", after=("a",))])

    def test_two_of_one_name_are_an_error(self) -> None:
        with pytest.raises(BadOrder, match="same name"):
            ordered([Fake("a"), Fake("a")])

    def test_all_there_are_can_be_ordered(self) -> None:
        names = [probe.name for probe in all_probes()]
        assert len(set(names)) == len(names)
        for earlier, later in (
            ("frozen_batch", "device"),
            ("device", "device_time"),
            ("device_time", "batch_scaling"),
            ("loader_alone", "steps_per_execution_1"),
            ("steps_per_execution_1", "steps_per_execution_10"),
            ("loader_alone", "frozen_again"),
            ("layers", "machine_ceiling"),
            ("layers", "step_vectorised"),
            ("copy_as_is", "copy_half"),
        ):
            assert names.index(earlier) < names.index(later)


class TestRecorded:
    def test_a_result_is_written_and_kept_for_later_probes(self) -> None:
        seen = []
        first = Fake("a", answer=Answer(7))
        second = Fake("b", answer=lambda context: seen.append(context.results["a"]) or Answer())
        context = examine(first, second)
        assert seen == [Answer(7)]
        line = context.recorder.probes["a"]
        assert (line["w"], line["status"], line["data"]) == (1, "ok", {"value": 7})
        assert {"k", "name", "t", "dur"} <= set(line)

    def test_what_is_not_wanted_is_not_run(self) -> None:
        assert status(examine(Fake("a", wanted=False), Fake("b"))) == {"b": "ok"}

    def test_what_cannot_be_had_says_why(self) -> None:
        context = examine(Fake("a", answer=NotAvailable("a generator is read once")), Fake("b"))
        assert status(context) == {"a": "not available", "b": "ok"}
        assert context.recorder.probes["a"]["reason"] == "a generator is read once"
        assert "a" not in context.results

    def test_a_failure_is_recorded_in_one_line_and_others_run(self) -> None:
        context = examine(Fake("a", answer=RuntimeError("boom\nwith details")), Fake("b"))
        assert status(context) == {"a": "failed", "b": "ok"}
        assert context.recorder.probes["a"]["reason"] == "RuntimeError: boom"
        assert "data" not in context.recorder.probes["a"]

    def test_data_that_ends_says_so(self) -> None:
        context = examine(Fake("a", answer=StopIteration()))
        reason = context.recorder.probes["a"]["reason"]
        assert reason == "the data ended before one batch was read"

    def test_a_condition_that_fails_is_noted_and_the_script_lives(self) -> None:
        context = examine(Fake("a", wanted=KeyError("x")), Fake("b"))  # type: ignore[arg-type]
        assert status(context) == {"b": "ok"}
        notes = [line["message"] for line in context.recorder.lines if line["k"] == "note"]
        assert notes == ["a was not run: KeyError: 'x'"]

    def test_the_end_of_the_script_is_not_swallowed(self) -> None:
        with pytest.raises(SystemExit):
            examine(Fake("a", answer=SystemExit(0)))


class FakeWatchdog:
    """Finds at once that a probe hangs."""

    def __init__(self, on_hang: Any, seconds: float) -> None:
        self.on_hang, self.seconds = on_hang, seconds

    def __enter__(self) -> FakeWatchdog:
        if self.seconds < 10:
            self.on_hang()
        return self

    def __exit__(self, *_: object) -> None:
        pass


class TestHanging:
    def test_a_probe_that_hangs_names_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recording, "Watchdog", FakeWatchdog)
        context = fake_context(recorder=FakeRecorder(ends_script=True))
        stuck = Fake("stuck", longest_s=5.0, answer=SystemExit(0))
        with pytest.raises(SystemExit):
            Scheduler([Fake("fine"), stuck], settle_s=0.0).examine(context)
        hung = context.recorder.probes["stuck"]
        assert hung["status"] == "failed"
        assert hung["reason"].startswith("gave no answer for 5 s")
        assert context.recorder.lines[-1]["k"] == "examined"

    def test_a_script_that_runs_on_is_not_watched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recording, "Watchdog", None)
        assert status(examine(Fake("a"))) == {"a": "ok"}


class TestSubjects:
    def test_only_probes_of_the_subject_run(self) -> None:
        swept = Fake("sweep", subjects=frozenset({Subject.SWEEP}))
        both = Fake("both", subjects=frozenset({Subject.SWEEP, Subject.FIT}))
        assert status(examine(swept, both)) == {"both": "ok"}
        assert len(status(examine(swept, both, subject=Subject.SWEEP))) == 2

    def test_a_spread_model_runs_only_what_makes_no_step(self) -> None:
        facts = Fake("facts", on_spread_models=True)
        assert status(examine(facts, Fake("step"), spread=True)) == {"facts": "ok"}

    def test_every_subject_has_probes(self) -> None:
        for subject in Subject:
            assert any(subject in probe.subjects for probe in all_probes())


class TestPatience:
    @staticmethod
    def left() -> float:
        patience = windows._patience.get()
        assert patience is not None
        return patience.seconds

    def spending(self, seen: list[float]) -> Any:
        def run(_: Any) -> Answer:
            seen.append(self.left())
            windows._patience.get().spend(5.0)  # type: ignore[union-attr]
            return Answer()

        return run

    def test_probes_of_one_examination_share_it(self) -> None:
        seen: list[float] = []
        examine(Fake("a", answer=self.spending(seen)), Fake("b", answer=self.spending(seen)))
        assert seen == [windows.PATIENCE_S, windows.PATIENCE_S - 5.0]

    def test_a_second_examination_starts_with_all_of_it(self) -> None:
        seen: list[float] = []
        probes = [Fake("a", answer=self.spending(seen)), Fake("b", answer=self.spending(seen))]
        scheduler = Scheduler(probes, settle_s=0.0)
        scheduler.examine(fake_context())
        scheduler.examine(fake_context())
        assert seen[2] == windows.PATIENCE_S

    def test_what_needs_no_quiet_machine_spends_none(self) -> None:
        seen: list[float] = []
        examine(Fake("a", answer=self.spending(seen), needs_quiet=False))
        assert seen == [0.0]


class TestPutBack:
    def test_the_model_is_restored_also_after_an_error(self) -> None:
        context = fake_context()
        with pytest.raises(SystemExit):
            Scheduler([Fake("a", answer=SystemExit(0))], settle_s=0.0).examine(context)
        assert context.backend.restored == 1

    def test_a_loop_has_no_model_to_restore(self) -> None:
        loop = Fake("a", subjects=frozenset({Subject.LOOP}))
        context = examine(loop, call=None, subject=Subject.LOOP)
        assert status(context) == {"a": "ok"}
        assert context.backend.restored == 0

    def test_nothing_counts_as_training_meanwhile(self) -> None:
        seen = []
        probe = Fake("a", answer=lambda c: seen.append(c.recorder.suspended) or Answer())
        context = examine(probe)
        assert seen == [1]
        assert context.recorder.suspended == 0

    def test_random_numbers_of_the_data_are_given_back(self) -> None:
        numpy = pytest.importorskip("numpy")
        data = SimpleNamespace(rng=numpy.random.default_rng(1))
        expected = numpy.random.default_rng(1).random()
        context = fake_context()
        context.fit.arguments["x"] = data
        draw = Fake("a", answer=lambda _: data.rng.random() and Answer())
        Scheduler([draw], settle_s=0.0).examine(context)
        assert data.rng.random() == expected


class TestShared:
    def test_what_a_phase_shares_is_closed_at_its_end(self) -> None:
        events: list[str] = []

        def opened(context: FakeContext) -> Answer:
            context.shared("bench", lambda: context.on_close(lambda: events.append("closed")))
            events.append("run")
            return Answer()

        probes = [Fake(key, Phase.INPUT, answer=opened) for key in ("a", "b")]
        later = Fake("c", Phase.MODEL, answer=opened)
        examine(*probes, later)
        assert events == ["run", "run", "closed", "run", "closed"]

    def test_it_is_closed_also_after_an_error(self) -> None:
        closed: list[int] = []

        def fails(context: FakeContext) -> Answer:
            context.on_close(lambda: closed.append(1))
            raise SystemExit(0)

        with pytest.raises(SystemExit):
            examine(Fake("a", answer=fails))
        assert closed == [1]


def test_every_probe_finds_a_registered_result() -> None:
    for probe in all_probes():
        assert probe.name
        assert probe.subjects
    kinds = {probe.finds for probe in all_probes()}
    assert {FrozenBatch, Threads} <= kinds
