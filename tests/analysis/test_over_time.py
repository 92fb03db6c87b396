from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.anomalies import first_epoch, iterator_waits, stalls
from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.analysis.start_up import start_up
from fitdoctor.contract.records import RecordedWorkload, StepBlock
from synthetic import MS, event, fit_workload, recording


def epochs(*first: tuple[int, int], count: int = 4, steps: int = 30) -> RecordedWorkload:
    """Epochs of steps of 10 ms; `first` gives (step, wait) of the first epoch's first steps."""
    base = fit_workload()
    blocks, events, t = [], [], 10**9
    for epoch in range(count):
        rows = [(9 * MS, 0)] * steps
        if epoch == 0:
            rows[: len(first)] = first
        times = []
        for step, wait in rows:
            times.append(t)
            if step > 100 * MS:
                events.append(event("trace", t, step, name="step"))
            t += step + wait + MS
        blocks.append(
            StepBlock(
                call=0,
                epoch=epoch,
                executions=1,
                t=tuple(times),
                step=tuple(step for step, _ in rows),
                wait=tuple(wait for _, wait in rows),
                callbacks=(0,) * steps,
                graph_wait=None,
                others_cores=0.0,
                after_pause=False,
            )
        )
    return replace(base, blocks=tuple(blocks), events=tuple(events))


def test_equal_epochs_are_not_worth_a_line() -> None:
    assert first_epoch(epochs()) is None


def test_two_epochs_show_no_usual_one() -> None:
    assert first_epoch(epochs((500 * MS, 0), count=2)) is None


def test_the_first_epoch_is_split_by_cause() -> None:
    found = first_epoch(epochs((609 * MS, 200 * MS), (9 * MS, 100 * MS)))
    assert found is not None
    assert found.compile_ns == pytest.approx(600 * MS, rel=0.01)
    assert found.first_batch_ns == pytest.approx(200 * MS, rel=0.01)
    assert found.input_ns == pytest.approx(100 * MS, rel=0.01)
    assert found.ns - found.usual_ns == pytest.approx(
        found.compile_ns + found.first_batch_ns + found.input_ns + found.rest_ns
    )


def test_no_stalls_in_equal_steps() -> None:
    assert stalls(fit_workload()) is None


def test_a_short_hiccup_is_no_stall() -> None:
    assert stalls(epochs((9 * MS, 0), (9 * MS, 0), (9 * MS, 0), (9 * MS, 0), (30 * MS, 0))) is None


def test_stalls_have_a_cause() -> None:
    usual = (9 * MS, 0)
    found = stalls(epochs(*[usual] * 6, (9 * MS, 300 * MS), usual, (300 * MS, 0)))
    assert found is not None
    assert found.count == 2
    assert found.causes == {"input": 1, "compile": 1}
    assert found.ns == pytest.approx(591 * MS, rel=0.01)


def test_start_up_is_not_known_without_its_beginning() -> None:
    assert start_up(recording(fit_workload())) is None


def test_start_up_sums_with_nested_imports_counted_once() -> None:
    workload = fit_workload()
    begin = workload.calls[0].t - 5000 * MS
    events = (
        event("start", begin, 0),
        event("import", begin + 100 * MS, 2000 * MS, module="tensorflow"),
        event("import", begin + 50 * MS, 3000 * MS, module="keras"),
    )
    found = start_up(recording(workload, events=events))
    assert found is not None
    assert found.imports == 3000 * MS
    assert found.script == 2000 * MS
    assert found.fit == 5 * MS
    assert found.first_step == 9 * MS
    assert found.total == 5014 * MS
    assert found.by_module["tensorflow"] == 2000 * MS


def test_waits_for_an_old_iterator_are_no_cost_of_the_script() -> None:
    plain = fit_workload(period=10 * MS, step=9 * MS, steps=200)
    longer = replace(plain.calls[0], epochs=2, dur=plain.calls[0].dur + 900 * MS)
    unknown = replace(plain, calls=(longer,))
    known = replace(unknown, events=(event("iterator_wait", 1_500_000_000, 880 * MS),))
    assert iterator_waits(unknown).count == 0
    assert iterator_waits(known).ns == 880 * MS
    with_gap, without = fit_costs(unknown), fit_costs(known)
    assert with_gap is not None
    assert without is not None
    # The last step has no next one to measure to, so a part of it lies in the gap, too.
    gap = with_gap.parts["epoch_gap"] - without.parts["epoch_gap"]
    assert gap == pytest.approx(880 * MS / 200)
    assert with_gap.total.value - without.total.value == pytest.approx(gap)
