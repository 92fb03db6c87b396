"""What a gain per step is worth over the whole run as planned."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.records import Recording
from fitdoctor.diagnosis.run_gain import PlannedRun, by_run_gain, with_run_gains
from fitdoctor.findings.edits import Memoise, SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from fitdoctor.report.gain_words import run_words
from synthetic import event, fit_workload, recording, restarted_epochs

AT = Where("/user/train.py", 12)
AT_ONCE = Cure("safe", "set it", (SetKeyword(AT, "fit", "workers", "4"),))
FROM_THE_SECOND_EPOCH = Cure("safe", "keep it", (Memoise(AT, "__getitem__"),))


def finding(cure: Cure = AT_ONCE, gain: float = 4.0, **more: object) -> Finding:
    made = Finding("IN004", "x", None, "", Interval(gain, gain / 1.2, gain * 1.2), cure)
    return replace(made, **more)  # type: ignore[arg-type]


def planned(start_s: float = 1.0, epochs: int = 4, **more: object) -> Recording:
    """Epochs of 40 steps of 10 ms, after a start of so many seconds."""
    workload = restarted_epochs(0, epochs=epochs)
    begin = round(10**9 - start_s * 10**9)
    made = recording(workload, events=(event("start", begin, 0),))
    return replace(made, **more)  # type: ignore[arg-type]


def gains(made: Recording, *findings: Finding) -> list[Interval | None]:
    seen = view_of(made, made.workloads[0])
    assert seen is not None
    return [one.run_gain for one in with_run_gains(seen, findings)]


def test_unknown_where_the_start_was_not_seen() -> None:
    assert gains(planned(events=()), finding()) == [None]


def test_unknown_for_a_loop_and_for_one_of_two_trainings() -> None:
    loop = replace(planned().workloads[0], kind="loop")
    assert gains(recording(loop, events=planned().events), finding()) == [None]
    two = recording(planned().workloads[0], fit_workload(), events=planned().events)
    assert gains(two, finding()) == [None]


def test_a_gain_of_the_run_is_that_already() -> None:
    assert gains(planned(), finding(scope="run")) == [None]


def test_the_start_stays() -> None:
    # 1 s of start and 1.6 s of steps, which take 0.4 s then.
    (found,) = gains(planned(), finding())
    assert found is not None
    assert found.value == pytest.approx(2.6 / 1.4, rel=0.03)


def test_what_helps_from_the_second_epoch_on_leaves_the_first() -> None:
    once, later = gains(planned(epochs=2), finding(), finding(FROM_THE_SECOND_EPOCH))
    assert once is not None and later is not None
    assert later.value == pytest.approx(1.8 / (1.0 + 0.4 + 0.1), rel=0.03)
    assert later.value < once.value


def test_the_screen_says_so_only_where_it_is_much_less() -> None:
    assert run_words(finding()) == ""
    assert run_words(finding(run_gain=Interval(3.9, 3.0, 4.4))) == ""
    assert run_words(finding(run_gain=Interval(1.6, 1.5, 1.7))).startswith("whole run as planned")


def test_a_bound_keeps_its_place() -> None:
    first = finding(how="bound", run_gain=Interval(1.2, 1.0, 1.2))
    second = finding(run_gain=Interval.exact(3.0))
    assert by_run_gain([first, second]) == [first, second]


def test_what_the_run_gains_most_from_comes_first() -> None:
    cache = finding(FROM_THE_SECOND_EPOCH, 8.0, run_gain=Interval.exact(1.4))
    threads = finding(gain=3.0, run_gain=Interval.exact(2.0))
    assert by_run_gain([cache, threads]) == [threads, cache]
    assert by_run_gain([cache, finding()]) == [cache, finding()]


@given(
    start=st.floats(0, 1e12),
    step=st.floats(1, 1e9),
    steps=st.integers(1, 10**6),
    epoch=st.floats(0, 1e6),
    gain=st.floats(1.0, 1000.0),
)
def test_the_run_never_gains_more_than_a_step(
    start: float, step: float, steps: int, epoch: float, gain: float
) -> None:
    run = PlannedRun(start, step, steps, epoch)
    for cure in (AT_ONCE, FROM_THE_SECOND_EPOCH):
        found = run.gain(finding(cure, gain))
        assert 1.0 - 1e-9 <= found.value <= gain * (1 + 1e-9)
        assert found.low <= found.value <= found.high
