from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from traces import compiling, jax_loop

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.findings.edits import TENSORFLOW, HoistCompile, WrapArgument
from fitdoctor.findings.place import Where
from fitdoctor.rules.compilation.retracing import RULE, repeated_traces
from synthetic import MS, fit_workload, recording, timed, view


def trace(
    t: int,
    *,
    name: str = "train_step",
    model: int = 1,
    changed: tuple[str, ...] | None = None,
    dur: int = 5 * MS,
    called_from: tuple[str, int] | None = ("/user/t.py", 20),
) -> Event:
    detail = EventDetail(
        name=name,
        file="/user/t.py",
        line=4,
        model=model,
        changed=changed,
        called_from=called_from,
    )
    return Event("trace", t, dur, 0, 0, detail)


def compile_call(t: int, model: int = 1) -> Event:
    detail = EventDetail(file="/user/t.py", line=9, model=model)
    return Event("compile_call", t, MS, None, None, detail)


def retracing(
    *,
    model: Callable[[int], int] = lambda i: 1,
    every: int = 20,
    calls: tuple[Event, ...] = (),
    changed: str = "kl: Literal[0.1] -> Literal[0.2]",
    called_from: tuple[str, int] | None = ("/user/t.py", 20),
):
    """Every 20th step takes 200 ms longer and holds a trace."""
    workload = fit_workload(steps=200)
    block = workload.blocks[0]
    starts, steps, t = [], [], block.t[0]
    for i in range(200):
        starts.append(t)
        steps.append(209 * MS if i % every == 0 else 9 * MS)
        t += steps[-1] + MS
    events = tuple(
        trace(
            starts[i] + 1,
            model=model(i),
            changed=(changed,) if i else None,
            called_from=called_from,
        )
        for i in range(0, 200, every)
    )
    workload = replace(
        workload,
        blocks=(replace(block, t=tuple(starts), step=tuple(steps)),),
        events=events,
        calls=(),
    )
    return view_of(recording(workload, events=calls), workload)


def folds(
    models: int, *, build: Callable[[int], str] = lambda number: "Dense (8, 1)", every: int = 20
):
    """As many models as there are traces, each recorded once."""
    seen = retracing(model=lambda i: i, every=every)
    built = tuple(
        Event("model", 5 * MS + n, 0, 0, 0, EventDetail(model=n, build=build(n)))
        for n in range(models)
    )
    workload = replace(seen.recorded, events=(*seen.recorded.events, *built))
    return view_of(recording(workload), workload)


def test_silent_without_traces() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_on_one_trace_per_model() -> None:
    # 25 models in turn trace 25 times, and each of them must.
    assert RULE.detect(retracing(model=lambda i: i)) is None


def test_the_two_traces_of_a_function_that_creates_variables_are_one() -> None:
    assert repeated_traces([trace(1), trace(2)]) == []


def test_silent_on_a_second_trace_for_a_last_smaller_batch() -> None:
    events = [trace(1), trace(2), trace(3, changed=("x: (32, 4) -> (None, 4)",))]
    assert len(repeated_traces(events)) < 3


def test_pipelines_are_traced_when_they_are_made() -> None:
    assert repeated_traces([trace(i, name="Dataset_map_lambda") for i in range(9)]) == []


def test_silent_on_models_that_differ() -> None:
    assert RULE.detect(folds(10, build=lambda number: f"Dense ({number}, 1)")) is None


def test_silent_on_two_of_the_same_build() -> None:
    assert RULE.detect(folds(2)) is None


def test_silent_where_they_train_long_enough() -> None:
    assert RULE.detect(folds(10, every=190)) is None


def test_new_shapes_are_another_rules_matter() -> None:
    assert RULE.detect(jax_loop(shapes=lambda i: (f"float32[8, {i}]",))) is None
    many = compiling([f"float32[8, {n}]" for n in range(50)])
    assert RULE.detect(view(many, backend="jax")) is None


def test_one_shape_again_and_again_is_retracing() -> None:
    assert RULE.detect(view(compiling(["float32[8, 60]"]), backend="jax")) is not None


def test_fires_on_a_python_value_that_changes() -> None:
    finding = RULE.detect(retracing())
    assert finding is not None
    assert "Literal[0.1] -> Literal[0.2]" in finding.message
    assert "retracing takes" in finding.message
    assert finding.where == Where("/user/t.py", 20)
    assert "tf.constant" in finding.cure.summary
    # 10 ms a step, and 200 ms more at every 20th: 19-20 ms become 10 ms.
    assert finding.gain.value == pytest.approx(1.95, rel=0.05)


def test_a_call_that_was_not_seen_has_no_place() -> None:
    finding = RULE.detect(retracing(called_from=None))
    assert finding is not None
    assert finding.where is None
    assert finding.cure.edits == ()


def test_compile_in_a_loop_is_named_and_its_side_effect_too() -> None:
    finding = RULE.detect(retracing(calls=tuple(compile_call(i) for i in range(10))))
    assert finding is not None
    assert finding.where == Where("/user/t.py", 9)
    assert "learning_rate" in finding.cure.summary
    assert "reset" in finding.cure.summary
    assert finding.cure.safety == "unsafe"
    assert finding.evidence["compile_calls"] == 10


def test_compiling_other_models_is_not_the_cause() -> None:
    finding = RULE.detect(retracing(calls=tuple(compile_call(i, model=2) for i in range(10))))
    assert finding is not None
    assert finding.evidence["compile_calls"] == 0


def test_every_step_traces_and_a_repeated_call_tells_the_rest() -> None:
    workload = fit_workload(
        kind="loop",
        period=140 * MS,
        step=139 * MS,
        wait=MS,
        steps=60,
        found=[timed(RepeatedCall, MS)],
    )
    events = tuple(
        trace(t + 1, dur=80 * MS, changed=("kl: Literal[1] -> Literal[2]",) if i else None)
        for i, t in enumerate(workload.blocks[0].t)
    )
    workload = replace(workload, events=events)
    finding = RULE.detect(view_of(recording(workload), workload))
    assert finding is not None
    assert finding.gain.value == pytest.approx(70, rel=0.1)


@pytest.mark.parametrize(
    "changed",
    [
        "n: Literal[1] -> Literal[2]",  # perhaps a shape or a count
        "name: Literal['a'] -> Literal['b']",
        "x: TensorSpec(shape=(1,)) -> TensorSpec(shape=(2,))",
    ],
)
def test_no_edit_for_what_must_not_become_a_tensor(changed: str) -> None:
    finding = RULE.detect(retracing(changed=changed))
    assert finding is not None
    assert finding.cure.edits == ()


def test_the_argument_that_changes_becomes_a_tensor() -> None:
    finding = RULE.detect(retracing())
    assert finding is not None
    called, defined = Where("/user/t.py", 20), Where("/user/t.py", 4)
    assert finding.cure.edits == (
        WrapArgument(called, "train_step", "kl", "tf.constant(", ")", defined, (TENSORFLOW,)),
    )


def test_the_compile_is_moved_out_of_its_loop() -> None:
    finding = RULE.detect(retracing(calls=tuple(compile_call(i) for i in range(10))))
    assert finding is not None
    assert finding.cure.edits == (HoistCompile(Where("/user/t.py", 9)),)


def test_the_same_model_built_again_and_again() -> None:
    finding = RULE.detect(folds(10))
    assert finding is not None
    assert "the same model was built 10 times" in finding.message
    assert finding.cure.safety == "advice"
    # 10 of 20 ms go into tracing, a tenth of that for the first model.
    assert finding.gain.value == pytest.approx(20 / 11, rel=0.08)


def test_a_static_argument_that_changes_is_named() -> None:
    finding = RULE.detect(jax_loop(changed=lambda i: (f"scale: {i - 1} -> {i}",)))
    assert finding is not None
    assert "scale: 58 -> 59" in finding.message
    assert "static" in finding.cure.summary
    assert finding.where == Where("/user/t.py", 20)


def test_a_function_that_is_jitted_again_each_time() -> None:
    finding = RULE.detect(jax_loop())
    assert finding is not None
    assert "created again each time" in finding.message
    assert finding.cure.safety == "safe"
