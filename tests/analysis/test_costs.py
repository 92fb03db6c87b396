from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from fitdoctor.analysis.costs import parts_that_sum
from fitdoctor.analysis.fit_costs import fit_costs
from fitdoctor.analysis.group_costs import group_costs, is_group
from fitdoctor.contract.evidence.loop import CallAlternatives
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.records import CallbackTotal
from synthetic import MS, call_group, event, fit_workload, restarted_epochs, timed, with_found


@given(
    st.floats(1.0, 1e12),
    st.dictionaries(st.sampled_from(["step", "input_wait", "callbacks"]), st.floats(0, 1e12)),
)
def test_a_breakdown_always_sums(total: float, parts: dict[str, float]) -> None:
    summed = parts_that_sum(total, parts)
    assert sum(summed.values()) == pytest.approx(total)
    assert all(value >= 0 for value in summed.values())


def test_what_is_not_explained_is_called_unknown() -> None:
    assert parts_that_sum(10.0, {"step": 7.0})["unknown"] == 3.0


def test_no_two_steps_is_no_cost_rather_than_zero() -> None:
    assert fit_costs(fit_workload(steps=1)) is None


def test_wait_that_was_not_measured_is_no_part() -> None:
    costs = fit_costs(fit_workload(wait=None))
    assert costs is not None
    assert "input_wait" not in costs.parts


def test_steps_measured_while_others_used_the_cpu_are_left_out() -> None:
    quiet = fit_workload(period=10 * MS).blocks[0]
    busy = replace(
        fit_workload(period=30 * MS, step=29 * MS).blocks[0],
        t=tuple(t + 10**11 for t in quiet.t),
        others_cores=0.9,
        epoch=1,
    )
    costs = fit_costs(replace(fit_workload(), blocks=(quiet, busy)))
    assert costs is not None
    assert costs.core.value == pytest.approx(10 * MS)
    assert costs.disturbed_share == 0.0


def test_a_wholly_disturbed_run_is_used_and_said_to_be_so() -> None:
    costs = fit_costs(fit_workload(others=1.0))
    assert costs is not None
    assert costs.disturbed_share == 1.0


def test_an_examination_between_two_steps_is_no_step() -> None:
    first = fit_workload(steps=100).blocks[0]
    later = replace(first, t=tuple(t + 60 * 10**9 for t in first.t), after_pause=True)
    costs = fit_costs(replace(fit_workload(), blocks=(first, later)))
    assert costs is not None
    assert costs.core.value == pytest.approx(10 * MS)


def test_waiting_for_the_device_in_the_hooks_is_no_callback() -> None:
    # JAX returns from the step at once and waits where the logs are read.
    costs = fit_costs(fit_workload(period=10 * MS, step=MS, wait=0, callbacks=8 * MS))
    assert costs is not None
    assert "callbacks" not in costs.parts
    assert costs.parts["step"] == pytest.approx(9 * MS)


def test_the_parts_of_a_plain_step() -> None:
    total = (CallbackTotal("Monitor", "batch", 200, 200 * MS // 2, "/user/cb.py", 3),)
    costs = fit_costs(
        fit_workload(
            period=10 * MS, step=6 * MS, wait=3 * MS, callbacks=MS // 2, callback_totals=total
        )
    )
    assert costs is not None
    assert costs.parts["step"] == pytest.approx(6 * MS)
    assert costs.parts["input_wait"] == pytest.approx(3 * MS)
    assert costs.parts["callbacks"] == pytest.approx(MS / 2)
    assert sum(costs.parts.values()) == pytest.approx(costs.total.value)


def test_graph_wait_is_taken_out_of_the_step_it_lies_in() -> None:
    workload = fit_workload(step=9 * MS, wait=None)
    block = replace(workload.blocks[0], graph_wait=200 * 4 * MS)
    costs = fit_costs(replace(workload, blocks=(block,)))
    assert costs is not None
    assert costs.parts["input_wait"] == pytest.approx(4 * MS)
    assert costs.parts["step"] == pytest.approx(5 * MS)


def test_the_first_compile_is_a_one_off_and_no_part_of_a_step() -> None:
    workload = fit_workload()
    begin = workload.blocks[0].t[0]
    compile_ = event("trace", begin + 1, 5 * MS)
    costs = fit_costs(replace(workload, events=(compile_,)))
    assert costs is not None
    assert "compile" not in costs.parts


def test_validation_is_spread_over_the_steps_by_its_typical_pass() -> None:
    passes = tuple(
        event("validation", 10**12 + i, dur) for i, dur in enumerate((900 * MS, 100 * MS, 100 * MS))
    )
    costs = fit_costs(fit_workload(events=passes))
    assert costs is not None
    assert costs.parts["validation"] == pytest.approx(3 * 100 * MS / 200)


@pytest.mark.parametrize(("starts", "usual"), [((400, 80, 90, 85, 90), 90), ((400, 80), 240)])
def test_a_long_start_among_many_is_not_the_usual_one(starts: tuple[int, ...], usual: int) -> None:
    base = fit_workload()
    first = replace(base.calls[0], steps=20)
    later = [replace(first, start_up=start * MS) for start in starts]
    costs = fit_costs(replace(base, calls=(first, *later)))
    assert costs is not None
    steps = 20 * (len(starts) + 1)
    assert costs.parts["start_up"] == pytest.approx(usual * len(starts) * MS / steps, rel=0.01)


def test_one_long_call_is_no_group() -> None:
    assert not is_group(fit_workload())
    assert not is_group(call_group(calls=4))
    assert not is_group(call_group(steps_per_call=50))


def test_a_group_counts_by_calls_and_leaves_examined_gaps_out() -> None:
    group = call_group()
    assert is_group(group)
    costs = group_costs(group)
    assert costs is not None
    assert costs.unit == "call"
    assert costs.total.value == pytest.approx(42 * MS)
    assert costs.parts["between_calls"] == pytest.approx(2 * MS)


def test_on_torch_the_wait_for_an_epochs_first_batch_is_waiting_for_data() -> None:
    costs = fit_costs(restarted_epochs(400 * MS, ending=80 * MS))
    assert costs is not None
    # Three waits of 0.4 s and three ends of 80 ms over 160 steps.
    assert costs.parts["input_wait"] == pytest.approx(7.5 * MS, rel=0.05)
    assert costs.parts["epoch_gap"] == pytest.approx(1.5 * MS, rel=0.2)
    assert costs.parts["step"] == pytest.approx(9 * MS, rel=0.02)
    assert costs.first_waits == pytest.approx(7.5 * MS)
    assert costs.between_epochs == pytest.approx(9 * MS, rel=0.05)


def test_elsewhere_it_lies_inside_the_first_step() -> None:
    costs = fit_costs(restarted_epochs(0, backend="jax"))
    assert costs is not None
    assert costs.first_waits == 0.0


def validated(*compiled: int):
    """Validations of 400 ms in a fit of 2 s; so much of each compiles."""
    base = fit_workload()
    call = replace(base.calls[0], validation=400 * MS * len(compiled))
    events = []
    for number, ns in enumerate(compiled):
        t = 10**9 + number * 10**9
        events.append(event("validation", t, 400 * MS))
        if ns:
            events.append(event("compile", t + MS, ns, name="jit(test_step)"))
    return fit_costs(replace(base, calls=(call,), events=tuple(events)))


def test_compiling_again_in_every_validation_is_compiling() -> None:
    costs = validated(300 * MS, 300 * MS, 300 * MS, 300 * MS)
    assert costs is not None
    assert costs.parts["validation"] == pytest.approx(4 * 100 * MS / 200)
    assert costs.parts["compile"] == pytest.approx(3 * 300 * MS / 200)


def test_the_first_validation_alone_compiles_as_a_one_off() -> None:
    costs = validated(300 * MS, 0, 0, 0)
    assert costs is not None
    assert "compile" not in costs.parts


def test_what_only_the_first_change_of_epochs_takes_does_not_recur() -> None:
    workload = restarted_epochs(0, ending=20 * MS, epochs=6, backend="jax")
    usual = fit_costs(workload)
    first, *later = workload.blocks
    moved = tuple(replace(block, t=tuple(t + 300 * MS for t in block.t)) for block in later)
    call = replace(workload.calls[0], dur=workload.calls[0].dur + 300 * MS)
    compiled = fit_costs(replace(workload, blocks=(first, *moved), calls=(call,)))
    assert usual is not None and compiled is not None
    assert compiled.parts["epoch_gap"] == pytest.approx(usual.parts["epoch_gap"], rel=0.01)
    # With two epochs nothing tells the first change from a usual one.
    short = restarted_epochs(0, ending=300 * MS, epochs=2, backend="jax")
    costs = fit_costs(short)
    assert costs is not None
    assert costs.parts["epoch_gap"] * 80 == pytest.approx(300 * MS, rel=0.05)


def test_a_step_now_and_then_that_compiles_nothing_does_not_hide_the_others() -> None:
    # 30 steps of 1 s that are traced anew, but for one whose argument came before.
    base = fit_workload(period=1000 * MS, step=990 * MS, steps=30, kind="loop")
    times = base.blocks[0].t
    traces = tuple(
        event("trace", t + 5 * MS, 900 * MS, name="step") for i, t in enumerate(times) if i != 12
    )
    costs = fit_costs(replace(base, events=traces))
    assert costs is not None
    assert costs.total.value == pytest.approx(1000 * MS, rel=0.05)
    assert costs.parts["compile"] == pytest.approx(0.87 * 1000 * MS, rel=0.1)


def in_turns(kind: str = "train_on_batch"):
    """Calls of 10 ms every 100 ms, with a call of 80 ms elsewhere in between."""
    group = call_group(kind=kind, period=100 * MS, duration=10 * MS)
    elsewhere = [(call.t + 15 * MS, call.t + 95 * MS) for call in group.calls]
    return group, elsewhere


def test_calls_elsewhere_are_not_what_a_call_costs() -> None:
    group, elsewhere = in_turns()
    costs = group_costs(group, elsewhere=elsewhere)
    assert costs is not None
    assert costs.total.value == pytest.approx(20 * MS)
    assert costs.parts["between_calls"] == pytest.approx(10 * MS)
    assert costs.parts["unknown"] == pytest.approx(0.0, abs=1.0)


def test_an_examination_of_another_line_is_no_part_of_a_period() -> None:
    group = call_group()
    tenth = group.calls[10].t
    costs = group_costs(group, paused=[(tenth + 41 * MS, tenth + 41 * MS + 1)])
    assert costs is not None
    assert costs.steady_steps == len(group.calls) - 3


def test_tracing_inside_the_calls_is_a_part_of_its_own() -> None:
    group, elsewhere = in_turns()
    traces = tuple(event("trace", c.t + MS, 6 * MS, name="step") for c in group.calls)
    made = tuple(event("trace", c.t + MS, 2 * MS, name="Dataset_map") for c in group.calls)
    costs = group_costs(replace(group, events=(*traces, *made)), elsewhere=elsewhere)
    assert costs is not None
    assert costs.parts["compile"] == pytest.approx(6 * MS)
    assert costs.parts["step"] == pytest.approx(4 * MS)


def test_what_a_new_function_costs_beside_its_trace_counts_where_a_call_without_was_timed() -> None:
    group, elsewhere = in_turns()
    traces = tuple(event("trace", c.t + MS, 6 * MS, name="step") for c in group.calls)
    group = with_found(replace(group, events=traces), CallAlternatives(same=timed(Timed, MS)))
    costs = group_costs(group, elsewhere=elsewhere)
    assert costs is not None
    assert costs.parts["compile"] == pytest.approx(9 * MS, rel=0.02)


def test_a_loop_waits_for_the_first_batch_of_each_pass_over_its_loader() -> None:
    passes = restarted_epochs(400 * MS, epochs=4, steps=40)
    loop = replace(passes, kind="loop", calls=())
    costs = fit_costs(loop)
    assert costs is not None
    # Three of four passes were begun while it was watched.
    assert costs.first_waits == pytest.approx(3 * 400 * MS / 160, rel=0.01)
    assert costs.parts["input_wait"] >= costs.first_waits
    assert sum(costs.parts.values()) == pytest.approx(costs.total.value)


def test_the_first_pass_is_no_wait_of_a_loop() -> None:
    once = replace(restarted_epochs(400 * MS, epochs=1), kind="loop", calls=())
    costs = fit_costs(once)
    assert costs is not None
    assert costs.first_waits == 0.0
