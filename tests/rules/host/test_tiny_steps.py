from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.evidence.device import Device, DeviceTime
from fitdoctor.contract.evidence.loading import InputFacts, LoaderAlone
from fitdoctor.contract.evidence.model import OptimizerUpdate
from fitdoctor.contract.evidence.step import BatchScaling, FrozenBatch, StepsPerExecution
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.records import CallbackTotal, Event, EventDetail, RecordedWorkload
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from fitdoctor.rules import all_rules
from fitdoctor.rules.host.tiny_steps import RULE, WORTH_TOGETHER
from synthetic import (
    MS,
    fit_workload,
    loader,
    noisy,
    recording,
    timed,
    view,
    with_found,
)


def scaling(**sizes: float) -> BatchScaling:
    """A batch of 32 rows; `rows_8=0.9 * MS` is a step of 8 rows."""
    by_rows = {name.removeprefix("rows_"): timed(Timed, ns) for name, ns in sizes.items()}
    return BatchScaling(32, by_rows)


def together(steps: int, ns: float, **more) -> tuple[str, StepsPerExecution]:
    return str(steps), timed(StepsPerExecution, ns, **more)


def results(*, quarter: float = 0.9, ten: float | None = 0.3, fifty: float | None = 0.28):
    """A step of 0.9 ms, of which a quarter of the batch takes nearly all."""
    found: list[object] = [
        timed(FrozenBatch, 0.9 * MS),
        scaling(rows_8=quarter * MS, rows_128=1.2 * MS),
    ]
    if ten is not None:
        found += [together(1, 0.9 * MS), together(10, ten * MS)]
    if fifty is not None:
        found.append(together(50, fifty * MS))
    return found


def small_step(
    *,
    quarter: float = 0.9,
    ten: float | None = 0.3,
    fifty: float | None = 0.28,
    backend: str = "tensorflow",
    **more,
):
    found = results(quarter=quarter, ten=ten, fifty=fifty)
    workload = fit_workload(period=MS, step=int(0.9 * MS), wait=0, found=found, **more)
    return view(workload, backend=backend)


def waiting(alone: LoaderAlone):
    """Real steps of 5 ms around frozen ones of 0.9 ms."""
    return view(fit_workload(period=5 * MS, step=MS, wait=4 * MS, found=[*results(), alone]))


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


def test_silent_when_time_grows_with_the_batch() -> None:
    assert RULE.detect(small_step(quarter=0.3)) is None


def test_silent_without_the_scaling_probe() -> None:
    assert RULE.detect(view(fit_workload(found=[timed(FrozenBatch, 9 * MS)]))) is None


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(small_step(ten=None, fifty=None)) is None


def test_silent_when_the_trial_gains_little() -> None:
    # Keras's loop around the step (0.1 of 1 ms) becomes rarer, and that is nearly all.
    assert RULE.detect(small_step(ten=0.9, fifty=0.9)) is None
    assert RULE.detect(small_step(ten=0.7, fifty=0.7)) is not None


@pytest.mark.parametrize("beside", [10, 30, 100])
def test_silent_on_a_long_step_that_other_processes_slowed(beside: int) -> None:
    # Nothing of Keras's takes so long; whatever did is not the cost of starting a step.
    found = [
        timed(FrozenBatch, 29 * MS),
        scaling(rows_8=13 * MS, rows_128=72 * MS),
        together(1, 29 * MS),
        together(10, 28 * MS),
        together(50, 28 * MS),
    ]
    period = (29 + beside) * MS
    assert RULE.detect(view(fit_workload(period=period, step=period, found=found))) is None


def test_silent_where_an_epoch_has_one_step() -> None:
    # An execution ends with its epoch: there is nothing to start together.
    assert RULE.detect(view(with_epochs_of(1))) is None


def test_silent_where_the_loader_explains_the_wait() -> None:
    # 4 ms of loading before 0.9 ms of step: cheaper steps would only wait longer.
    assert RULE.detect(waiting(loader(4 * MS, cores=2.0))) is None


def test_silent_where_a_larger_batch_gives_another_training_little() -> None:
    recorded = small_step(ten=None, fifty=None).recorded
    passed = Event("validation", 10**9, 200 * 10 * MS, 0, None, EventDetail(steps=10))
    validated = replace(recorded.calls[0], validation=passed.dur, epochs=1)
    seen = view(replace(recorded, calls=(validated,), events=(passed,)), backend="torch")
    assert seen.costs.total.value > 5 * seen.core.value
    assert RULE.detect(seen) is None


def test_silent_where_updating_many_weights_takes_the_time() -> None:
    # A quarter of the batch takes 60 % of a step, half of the step is the update.
    small = small_step(quarter=0.6)
    assert RULE.detect(small) is not None
    updated = with_found(small.recorded, timed(OptimizerUpdate, 0.45 * MS))
    assert RULE.detect(view(updated)) is None


def test_silent_where_a_trial_may_have_been_luck() -> None:
    # Half of the rounds were faster, half of them not: their median is, the interval holds one.
    turns = tuple(round(part * MS) for part in (0.5, 1.1, 0.6, 1.2, 0.5, 0.7))
    trial = replace(timed(StepsPerExecution, 0.7 * MS), ns=turns, base_ns=(0.9 * MS,) * 6)
    lucky = with_found(small_step(fifty=None).recorded, ("10", trial))
    assert RULE.detect(view(lucky)) is None


def test_fires_with_the_measured_trial() -> None:
    finding = RULE.detect(small_step())
    assert finding is not None
    assert "steps_per_execution=10" in finding.cure.summary
    # 1 ms becomes 0.3 ms and a tenth of the loop's 0.1 ms.
    assert finding.gain.value == pytest.approx(1 / 0.31, rel=0.05)
    assert finding.cure.safety == "safe"
    assert finding.evidence["rows"] == 32


def test_fires_where_no_loader_explains_what_a_step_takes_longer() -> None:
    # As on a GPU: the arrays are there at once, and Keras's loop takes the time.
    assert RULE.detect(waiting(loader(0.01 * MS, cores=1.0))) is not None


def test_an_epoch_of_twelve_steps_is_started_twice() -> None:
    whole = RULE.detect(small_step())
    cut = RULE.detect(view(with_epochs_of(12)))
    assert whole is not None
    assert cut is not None
    # Ten steps and two instead of one after the other: 10 of 12 starts are saved, not 9 of 10.
    share = (1 - 2 / 12) / (1 - 1 / 10)
    assert cut.saves["step"].value == pytest.approx(share * whole.saves["step"].value, rel=0.05)


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


def test_on_torch_a_larger_batch_is_advice_with_a_gain() -> None:
    finding = RULE.detect(small_step(ten=None, fifty=None, backend="torch"))
    assert finding is not None
    assert finding.cure.safety == "advice"
    # Four batches in 1.2 + 0.1 ms instead of four times 1 ms.
    assert finding.gain.value == pytest.approx(4 / 1.3, rel=0.1)


def test_a_larger_batch_is_not_advised_where_computing_is_a_good_part() -> None:
    torch = {"ten": None, "fifty": None, "backend": "torch"}
    assert RULE.detect(small_step(quarter=0.65, **torch)) is None
    assert RULE.detect(small_step(quarter=0.85, **torch)) is not None


def test_keras_loop_counts_as_starting_a_step() -> None:
    # Alone a quarter of the batch takes half as long; with 0.9 ms of loop around it 0.75.
    assert RULE.detect(small_step(quarter=0.45)) is None
    period = int(1.8 * MS)
    loop = fit_workload(period=period, step=period, wait=0, found=results(quarter=0.45))
    assert RULE.detect(view(loop)) is not None


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


def test_a_trial_in_turns_is_judged_by_its_rounds() -> None:
    """The machine became twice as slow between the two probes: of each round, both halves did."""
    slow = together(10, 0.6 * MS, base_ns=noisy(1.8 * MS))
    recorded = small_step(ten=None, fifty=None).recorded
    finding = RULE.detect(view(with_found(recorded, together(1, 0.9 * MS), slow)))
    assert finding is not None
    assert finding.gain.value == pytest.approx(1 / 0.31, rel=0.05)


def compiled_at(line: int, model: int, t: int) -> Event:
    detail = EventDetail(file="/user/train.py", line=line, model=model)
    return Event("compile_call", t, MS, None, None, detail)


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


def beside(*codes: str) -> list[Finding]:
    finding = RULE.detect(small_step())
    assert finding is not None
    return [replace(finding, rule=code) for code in codes]


@pytest.mark.parametrize("code", ["EN003", "MO001"])
def test_explained_by_what_changes_the_whole_step(code: str) -> None:
    (finding,) = beside("HO002")
    assert RULE.is_explained(finding, beside(code), kept=[])


@pytest.mark.parametrize("code", ["HO004", "CO001", "CB001"])
def test_explained_by_what_makes_steps_look_tiny_only_where_that_gains_more(code: str) -> None:
    (finding,) = beside("HO002")
    assert RULE.is_explained(finding, beside(code), kept=beside(code))
    assert not RULE.is_explained(finding, beside(code), kept=[])


def test_a_larger_batch_is_no_answer_to_eager_execution() -> None:
    (finding,) = beside("HO002")
    larger = replace(finding, evidence={**finding.evidence, "steps_per_execution": 1})
    assert RULE.is_explained(larger, beside("HO004"), kept=[])
    assert not RULE.is_explained(larger, beside("CO001"), kept=[])


def test_not_explained_by_others() -> None:
    (finding,) = beside("HO002")
    assert not RULE.is_explained(finding, beside("IN001"), kept=beside("IN001"))
    assert RULE.explained_by_larger < {rule.code for rule in all_rules()}


def test_the_page_says_from_which_gain_on_it_is_reported() -> None:
    page = " ".join(RULE.page.split())
    assert f"makes the training {100 * (WORTH_TOGETHER - 1):.3g} % faster or more" in page


class TestLaunchBound:
    """Where the profiler saw the device."""

    def launching(self, *, busy: float, wide: dict[str, float], backend: str = "torch"):
        found: list[object] = [
            timed(FrozenBatch, 2 * MS),
            scaling(rows_8=2 * MS, **wide),
            DeviceTime(busy_ns=busy, compute_ns=busy, kernels=70.0),
            InputFacts(kind="arrays"),
        ]
        if backend == "jax":
            found += [together(1, 2 * MS), together(10, 1.5 * MS)]
        return view(fit_workload(period=2 * MS, step=2 * MS, found=found), backend=backend)

    def test_the_larger_batch_that_pays(self) -> None:
        wide = {"rows_128": 2 * MS, "rows_512": 2.2 * MS}
        found = RULE.detect(self.launching(busy=MS / 10, wide=wide))
        assert found is not None
        assert "a batch of 512" in found.cure.summary
        assert found.gain.value == pytest.approx(16 / 1.1, rel=0.05)
        assert (found.cure.safety, found.cure.steps_in_one) == ("unsafe", 16)
        where = Where("/user/train.py", 88)
        assert found.cure.edits == (SetKeyword(where, "fit", "batch_size", "512", 2),)

    def test_the_smaller_one_where_more_gains_nothing(self) -> None:
        wide = {"rows_128": 2 * MS, "rows_512": 7 * MS}
        found = RULE.detect(self.launching(busy=MS / 10, wide=wide))
        assert found is not None
        assert "a batch of 128" in found.cure.summary

    def test_executions_are_kept_where_the_device_works(self) -> None:
        wide = {"rows_128": 2 * MS, "rows_512": 2.2 * MS}
        found = RULE.detect(self.launching(busy=1.9 * MS, wide=wide, backend="jax"))
        assert found is not None
        assert "steps_per_execution=10" in found.cure.summary

    def test_an_idle_device_is_worth_more_than_executions(self) -> None:
        wide = {"rows_128": 2 * MS, "rows_512": 2.2 * MS}
        found = RULE.detect(self.launching(busy=MS / 10, wide=wide, backend="jax"))
        assert found is not None
        assert found.cure.summary.startswith("a batch of 512")
        assert "steps_per_execution=10" in found.cure.summary

    @pytest.mark.parametrize(("wide_transfer", "advised"), [(0.42, "a batch"), (8.0, "compile")])
    def test_starting_a_copy_is_not_the_cost_of_its_rows(
        self, wide_transfer: float, advised: str
    ) -> None:
        # The quarter was copied faster by chance; sixteen batches at once tell what rows cost.
        device = Device(
            kind="gpu",
            transfer_ns=round(0.4 * MS),
            quarter_transfer_ns=round(0.1 * MS),
            pick_ns=round(0.01 * MS),
            wide_times=16,
            wide_transfer_ns=round(wide_transfer * MS),
            wide_pick_ns=round(0.02 * MS),
        )
        found = [
            timed(FrozenBatch, 0.34 * MS),
            scaling(rows_8=0.34 * MS, rows_128=0.35 * MS, rows_512=0.37 * MS),
            DeviceTime(busy_ns=0.06 * MS, compute_ns=1.0, kernels=30.0),
            device,
            loader(0.17 * MS, user_share=0.0),
            InputFacts(kind="arrays"),
            together(1, 0.5 * MS),
            together(10, 0.3 * MS),
        ]
        workload = fit_workload(
            period=round(0.8 * MS), step=round(0.3 * MS), wait=round(0.45 * MS), found=found
        )
        finding = RULE.detect(view(workload, backend="jax"))
        assert finding is not None
        assert finding.cure.summary.startswith(advised)
