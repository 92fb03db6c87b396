from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.records import CallbackTotal, Event, Probe, RecordedWorkload
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from fitdoctor.rules.host.tiny_steps import RULE
from synthetic import MS, fit_workload, loader, recording, view, windows


def small_step(
    *, quarter: float = 0.9, ten: float | None = 0.3, fifty: float | None = 0.28, **more
):
    backend = more.pop("backend", "tensorflow")
    probes = {
        "frozen_batch": windows(0.9 * MS),
        "batch_scaling": {
            "rows": 32,
            "sizes": {"8": windows(quarter * MS), "128": windows(1.2 * MS)},
        },
    }
    if ten is not None:
        probes["steps_per_execution_1"] = windows(0.9 * MS)
        probes["steps_per_execution_10"] = windows(ten * MS)
    if fifty is not None:
        probes["steps_per_execution_50"] = windows(fifty * MS)
    workload = fit_workload(period=MS, step=int(0.9 * MS), wait=0, probes=probes, **more)
    return view(workload, backend=backend)


def test_silent_when_time_grows_with_the_batch() -> None:
    assert RULE.detect(small_step(quarter=0.3)) is None


def test_silent_without_the_scaling_probe() -> None:
    assert RULE.detect(view(fit_workload(probes={"frozen_batch": windows(9 * MS)}))) is None


def test_silent_when_the_trial_gains_little() -> None:
    # Keras's loop around the step (0.1 of 1 ms) becomes rarer, and that is nearly all.
    assert RULE.detect(small_step(ten=0.9, fifty=0.9)) is None
    assert RULE.detect(small_step(ten=0.7, fifty=0.7)) is not None


@pytest.mark.parametrize("beside", [10, 30, 100])
def test_silent_on_a_long_step_that_other_processes_slowed(beside: int) -> None:
    # Nothing of Keras's takes so long; whatever did is no price of starting a step.
    probes = {
        "frozen_batch": windows(29 * MS),
        "batch_scaling": {"rows": 32, "sizes": {"8": windows(13 * MS), "128": windows(72 * MS)}},
        "steps_per_execution_1": windows(29 * MS),
        "steps_per_execution_10": windows(28 * MS),
        "steps_per_execution_50": windows(28 * MS),
    }
    period = (29 + beside) * MS
    assert RULE.detect(view(fit_workload(period=period, step=period, probes=probes))) is None


def with_epochs_of(steps: int) -> RecordedWorkload:
    """Tiny steps in epochs that are as short, all of them seen."""
    workload = small_step().recorded
    block = workload.blocks[0]
    blocks = [
        replace(
            block,
            epoch=number,
            **{
                name: getattr(block, name)[number * steps : (number + 1) * steps]
                for name in ("t", "step", "wait", "callbacks")
            },
        )
        for number in range(len(block.t) // steps)
    ]
    call = replace(workload.calls[0], epochs=len(blocks))
    return replace(workload, blocks=tuple(blocks), calls=(call,))


def test_silent_where_an_epoch_has_one_step() -> None:
    # No execution reaches over an epoch's end: there is nothing to start together.
    assert RULE.detect(view(with_epochs_of(1))) is None


def test_an_epoch_of_twelve_steps_is_started_twice() -> None:
    whole = RULE.detect(small_step())
    cut = RULE.detect(view(with_epochs_of(12)))
    assert whole is not None
    assert cut is not None
    # Ten steps and two instead of one after the other: 10 of 12 starts are saved, not 9 of 10.
    share = (1 - 2 / 12) / (1 - 1 / 10)
    assert cut.saves["step"].value == pytest.approx(share * whole.saves["step"].value, rel=0.05)


def test_fires_with_the_measured_trial() -> None:
    finding = RULE.detect(small_step())
    assert finding is not None
    assert "steps_per_execution=10" in finding.cure.summary
    # 1 ms becomes 0.3 ms and a tenth of the loop's 0.1 ms.
    assert finding.gain.value == pytest.approx(1 / 0.31, rel=0.05)
    assert finding.cure.safety == "safe"


def test_recommends_fifty_only_where_it_is_clearly_better() -> None:
    finding = RULE.detect(small_step(ten=0.5, fifty=0.2))
    assert finding is not None
    assert "steps_per_execution=50" in finding.cure.summary


def test_batch_callbacks_make_it_unsafe() -> None:
    totals = (CallbackTotal("Monitor", "batch", 200, 100, "/user/t.py", 3),)
    finding = RULE.detect(small_step(callback_totals=totals))
    assert finding is not None
    assert finding.cure.safety == "unsafe"
    assert "Monitor" in finding.cure.summary


def test_on_torch_a_larger_batch_is_advice_with_a_price() -> None:
    finding = RULE.detect(small_step(ten=None, fifty=None, backend="torch"))
    assert finding is not None
    assert finding.cure.safety == "advice"
    # Four batches in 1.2 + 0.1 ms instead of four times 1 ms.
    assert finding.gain.value == pytest.approx(4 / 1.3, rel=0.1)


def compiled_at(line: int, model: int, t: int) -> Event:
    place = {"file": "/user/train.py", "line": line, "model": model}
    return Event("compile_call", t, MS, None, None, place)


def test_the_keyword_goes_to_the_last_compile_of_this_model_before_the_fit() -> None:
    workload = small_step(detail={"model_number": 2}).recorded
    events = (compiled_at(5, 2, 1), compiled_at(7, 2, 2), compiled_at(8, 1, 3))
    later = compiled_at(99, 2, 10**12)
    seen = view_of(recording(workload, events=(*events, later)), workload)
    assert seen is not None
    finding = RULE.detect(seen)
    assert finding is not None
    where = Where("/user/train.py", 7)
    assert finding.cure.edits == (SetKeyword(where, "compile", "steps_per_execution", "10", 6),)


def test_no_edit_where_the_compile_was_not_seen() -> None:
    finding = RULE.detect(small_step())
    assert finding is not None
    assert finding.cure.edits == ()


def test_silent_where_the_loader_explains_the_wait() -> None:
    # 4 ms of loading before 0.9 ms of step: cheaper steps would only wait longer.
    slow = loader(4 * MS, cores=2.0)
    assert RULE.detect(waiting(slow)) is None


def test_fires_where_no_loader_explains_what_a_step_takes_longer() -> None:
    # As on a GPU: the arrays are there at once, and Keras's loop takes the time.
    assert RULE.detect(waiting(loader(0.01 * MS, cores=1.0))) is not None


def waiting(loader_data):
    seen = small_step()
    probes = {name: probe.data for name, probe in seen.recorded.probes.items()}
    probes["loader_alone"] = loader_data
    return view(fit_workload(period=5 * MS, step=MS, wait=4 * MS, probes=probes))


def test_keras_loop_counts_as_starting_a_step() -> None:
    # Alone a quarter of the batch takes half as long; with 0.9 ms of loop around it 0.75.
    probes = {name: probe.data for name, probe in small_step().recorded.probes.items()}
    probes["batch_scaling"]["sizes"]["8"] = windows(0.45 * MS)
    assert RULE.detect(small_step(quarter=0.45)) is None
    loop = view(fit_workload(period=int(1.8 * MS), step=int(1.8 * MS), wait=0, probes=probes))
    assert RULE.detect(loop) is not None


def test_a_larger_batch_is_not_advised_where_computing_is_a_good_part() -> None:
    torch = {"ten": None, "fifty": None, "backend": "torch"}
    assert RULE.detect(small_step(quarter=0.65, **torch)) is None
    assert RULE.detect(small_step(quarter=0.85, **torch)) is not None


def test_another_training_for_a_little_is_not_advised() -> None:
    recorded = small_step(ten=None, fifty=None).recorded
    passed = Event("validation", 10**9, 200 * 10 * MS, 0, None, {"steps": 10})
    validated = replace(recorded.calls[0], validation=passed.dur, epochs=1)
    seen = view(replace(recorded, calls=(validated,), events=(passed,)), backend="torch")
    assert seen.costs.total.value > 5 * seen.core.value
    assert RULE.detect(seen) is None


def test_retracing_beside_the_steps_does_not_hide_them() -> None:
    """Alone they gain a tenth of the time; without the retracing, which has a cure, three times."""
    seen = small_step()
    retraced = replace(
        seen,
        costs=replace(
            seen.costs,
            total=Interval.around(8.0 * MS, 0.03),
            parts={**seen.costs.parts, "compile": 7.0 * MS},
        ),
    )
    finding = RULE.detect(retraced)
    assert finding is not None
    assert finding.gain.value == pytest.approx(8 / (8 - 0.69), rel=0.03)
    slow_callbacks = replace(
        retraced, costs=replace(retraced.costs, parts={"callbacks": 7.0 * MS, "step": MS})
    )
    assert RULE.detect(slow_callbacks) is None


def test_a_trial_in_turns_is_told_by_its_rounds() -> None:
    """The machine became twice as slow between the two probes: of each round, both halves did."""
    slow = {**windows(0.6 * MS), "base_ns": windows(1.8 * MS)["ns"]}
    seen = small_step(ten=None, fifty=None)
    probes = {"steps_per_execution_1": windows(0.9 * MS), "steps_per_execution_10": slow}
    more = {name: Probe(name, "ok", "", data) for name, data in probes.items()}
    recorded = replace(seen.recorded, probes={**seen.recorded.probes, **more})
    finding = RULE.detect(view(recorded))
    assert finding is not None
    assert finding.gain.value == pytest.approx(1 / 0.31, rel=0.05)
