from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.records import Event
from fitdoctor.findings.edits import TENSORFLOW, HoistCompile, WrapArgument
from fitdoctor.findings.place import Where
from fitdoctor.rules.compilation import shape_recompilation
from fitdoctor.rules.compilation.retracing import RULE, repeated_traces
from synthetic import MS, fit_workload, recording, windows


def trace(t: int, *, name="train_step", model=1, changed=None, dur=5 * MS) -> Event:
    detail = {
        "name": name,
        "file": "/user/t.py",
        "line": 4,
        "model": model,
        "changed": changed,
        "called_from": ["/user/t.py", 20],
    }
    return Event("trace", t, dur, 0, 0, detail)


def compile_call(t: int, model: int = 1) -> Event:
    return Event(
        "compile_call", t, MS, None, None, {"file": "/user/t.py", "line": 9, "model": model}
    )


def retracing(
    *,
    model=lambda i: 1,
    every: int = 20,
    calls: tuple[Event, ...] = (),
    changed: str = "kl: Literal[0.1] -> Literal[0.2]",
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
            changed=[changed] if i else None,
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


def test_silent_on_one_trace_per_model() -> None:
    # 25 models in turn trace 25 times, and each of them must.
    assert RULE.detect(retracing(model=lambda i: i)) is None


def test_the_two_traces_of_a_function_that_creates_variables_are_one() -> None:
    assert repeated_traces([trace(1), trace(2)]) == []


def test_silent_on_a_second_trace_for_a_last_smaller_batch() -> None:
    events = [trace(1), trace(2), trace(3, changed=["x: (32, 4) -> (None, 4)"])]
    assert len(repeated_traces(events)) < 3


def test_pipelines_are_traced_when_they_are_made() -> None:
    assert repeated_traces([trace(i, name="Dataset_map_lambda") for i in range(9)]) == []


def test_fires_on_a_python_value_that_changes() -> None:
    finding = RULE.detect(retracing())
    assert finding is not None
    assert "Literal[0.1] -> Literal[0.2]" in finding.message
    assert (finding.where.file, finding.where.line) == ("/user/t.py", 20)
    assert "tf.constant" in finding.cure.summary
    # 10 ms a step, and 200 ms more at every 20th: 19-20 ms become 10 ms.
    assert finding.gain.value == pytest.approx(1.95, rel=0.05)


def test_compile_in_a_loop_is_named_and_its_side_effect_too() -> None:
    calls = tuple(compile_call(i) for i in range(10))
    finding = RULE.detect(retracing(calls=calls))
    assert finding is not None
    assert finding.where.line == 9
    assert "learning_rate" in finding.cure.summary
    assert "reset" in finding.cure.summary
    assert finding.cure.safety == "unsafe"


def test_every_step_traces_and_a_repeated_call_tells_the_rest() -> None:
    workload = fit_workload(
        kind="loop",
        period=140 * MS,
        step=139 * MS,
        wait=MS,
        steps=60,
        probes={"repeat_call": windows(MS)},
    )
    events = tuple(
        trace(t + 1, dur=80 * MS, changed=["kl: Literal[1] -> Literal[2]"] if i else None)
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


def folds(models: int, *, build=lambda number: "Dense (8, 1)", every: int = 20):
    """As many models as there are traces, each told once."""
    seen = retracing(model=lambda i: i, every=every)
    told = tuple(
        Event("model", 5 * MS + n, 0, 0, 0, {"model": n, "build": build(n)}) for n in range(models)
    )
    workload = replace(seen.recorded, events=(*seen.recorded.events, *told))
    return view_of(recording(workload), workload)


def test_silent_on_models_that_differ() -> None:
    assert RULE.detect(folds(10, build=lambda number: f"Dense ({number}, 1)")) is None


def test_silent_on_two_of_the_same_build() -> None:
    assert RULE.detect(folds(2)) is None


def test_silent_where_they_train_long_enough() -> None:
    assert RULE.detect(folds(10, every=190)) is None


def test_the_same_model_built_again_and_again() -> None:
    finding = RULE.detect(folds(10))
    assert finding is not None
    assert "the same model was built 10 times" in finding.message
    assert finding.cure.safety == "advice"
    # 10 of 20 ms go into tracing, a tenth of that for the first model.
    assert finding.gain.value == pytest.approx(20 / 11, rel=0.08)


def jax_loop(*, shapes=lambda i: [], changed=lambda i: []):
    """A loop whose every step is compiled anew by JAX."""
    workload = fit_workload(
        kind="loop",
        period=140 * MS,
        step=139 * MS,
        wait=None,
        steps=60,
        probes={"repeat_call": windows(MS)},
        detail={"backend": "jax", "marker": "jax.jit"},
    )
    detail = {"name": "jit(step)", "file": "/user/t.py", "line": 4, "model": 0}
    called = {**detail, "called_from": ["/user/t.py", 20]}
    events = tuple(
        Event(
            "compile", t + 1, 80 * MS, 0, 0, {**called, "shapes": shapes(i), "changed": changed(i)}
        )
        for i, t in enumerate(workload.blocks[0].t)
    )
    workload = replace(workload, events=events)
    return view_of(recording(workload, backend="jax"), workload)


def test_new_shapes_are_another_rules_matter() -> None:
    seen = jax_loop(shapes=lambda i: [f"float32[8, {i}]"])
    assert RULE.detect(seen) is None
    finding = shape_recompilation.RULE.detect(seen)
    assert finding is not None
    assert "60 batch shapes" in finding.message


def test_a_static_argument_that_changes_is_named() -> None:
    finding = RULE.detect(jax_loop(changed=lambda i: [f"scale: {i - 1} -> {i}"]))
    assert finding is not None
    assert "scale: 58 -> 59" in finding.message
    assert "static" in finding.cure.summary
    assert finding.where == Where("/user/t.py", 20)


def test_a_function_that_is_jitted_anew() -> None:
    finding = RULE.detect(jax_loop())
    assert finding is not None
    assert "created anew" in finding.message
    assert shape_recompilation.RULE.detect(jax_loop()) is None
