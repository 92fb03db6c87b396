from __future__ import annotations

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.records import Event
from fitdoctor.findings.edits import JAX, TENSORFLOW, Decorate, DropKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.host.eager_execution import RULE
from synthetic import MS, fit_workload, recording, view, windows


def test_silent_on_a_compiled_fit() -> None:
    assert RULE.detect(view(fit_workload(probes={"frozen_batch": windows(9 * MS)}))) is None


def test_silent_when_compiling_gains_nothing() -> None:
    probes = {"frozen_batch": windows(9 * MS), "graph_trial": windows(8.9 * MS)}
    assert RULE.detect(view(fit_workload(probes=probes))) is None


def test_silent_on_a_loop_that_calls_a_compiled_function() -> None:
    probes = {"frozen_batch": windows(9 * MS), "repeat_call": windows(8.9 * MS)}
    assert RULE.detect(view(fit_workload(kind="loop", probes=probes))) is None


def test_fires_on_run_eagerly() -> None:
    trial = windows(0.5 * MS, in_loop=windows(0.9 * MS))
    probes = {"frozen_batch": windows(9 * MS), "graph_trial": trial}
    finding = RULE.detect(view(fit_workload(probes=probes, wait=MS // 10)))
    assert finding is not None
    # 10 ms become the compiled step in Keras's loop and the loading: 0.9 + 0.1 ms.
    assert finding.gain.value == pytest.approx(10.0, rel=0.05)
    assert "run_eagerly" in finding.cure.summary


def test_fires_on_a_loop_whose_function_was_tried_compiled() -> None:
    compiled = windows(
        0.5 * MS,
        stands_for="step function",
        eager=windows(9 * MS),
        file="/user/t.py",
        line=7,
        function="train_step",
    )
    probes = {"frozen_batch": windows(9 * MS), "compiled_step": compiled}
    finding = RULE.detect(view(fit_workload(kind="loop", probes=probes)))
    assert finding is not None
    assert finding.where.line == 7
    assert finding.cure.summary == "decorate train_step with @tf.function"
    # Nobody saw that it trains the same.
    assert finding.cure.safety == "unsafe"


@pytest.mark.parametrize(("same", "safety"), [(True, "safe"), (False, "unsafe")])
def test_a_compiled_step_is_safe_where_it_was_seen_to_train_the_same(
    same: bool, safety: str
) -> None:
    place = {"file": "/user/t.py", "line": 7, "function": "train_step", "numbers_read": 1}
    compiled = windows(0.5 * MS, stands_for="step function", eager=windows(9 * MS), **place)
    probes = {
        "frozen_batch": windows(9 * MS),
        "compiled_step": compiled,
        "compiled_agrees": {"same": same},
    }
    finding = RULE.detect(view(fit_workload(kind="loop", probes=probes)))
    assert finding is not None
    assert finding.cure.safety == safety
    assert "numbers of tensors have to be read outside" in finding.cure.summary


def test_a_stand_in_step_has_a_wider_interval() -> None:
    probes = {
        "frozen_batch": windows(9 * MS),
        "compiled_step": windows(0.5 * MS, stands_for="reference"),
    }
    finding = RULE.detect(view(fit_workload(kind="loop", probes=probes)))
    assert finding is not None
    assert "body" in finding.cure.summary
    assert finding.gain.low < 0.95 * finding.gain.value


def test_run_eagerly_is_dropped_where_the_model_was_compiled() -> None:
    probes = {"frozen_batch": windows(9 * MS), "graph_trial": windows(0.5 * MS)}
    workload = fit_workload(probes=probes, detail={"model_number": 1})
    place = {"file": "/user/m.py", "line": 4, "model": 1}
    event = Event("compile_call", 1, MS, None, None, place)
    seen = view_of(recording(workload, events=(event,)), workload)
    assert seen is not None
    finding = RULE.detect(seen)
    assert finding is not None
    assert finding.cure.edits == (DropKeyword(Where("/user/m.py", 4), "compile", "run_eagerly"),)
    unseen = RULE.detect(view(workload))
    assert unseen is not None
    assert unseen.cure.edits == ()


@pytest.mark.parametrize(
    ("backend", "decorator", "imports"),
    [("tensorflow", "tf.function", TENSORFLOW), ("jax", "jax.jit", JAX)],
)
def test_the_step_function_is_decorated(backend: str, decorator: str, imports: str) -> None:
    place = {"file": "/user/t.py", "line": 7, "function": "train_step"}
    compiled = windows(0.5 * MS, stands_for="step function", eager=windows(9 * MS), **place)
    probes = {"frozen_batch": windows(9 * MS), "compiled_step": compiled}
    finding = RULE.detect(view(fit_workload(kind="loop", probes=probes), backend=backend))
    assert finding is not None
    where = Where("/user/t.py", 7)
    assert finding.cure.edits == (Decorate(where, "train_step", decorator, (imports,)),)


def test_a_loop_without_a_step_function_has_nothing_to_decorate() -> None:
    compiled = windows(0.5 * MS, stands_for="reference", file="/user/t.py", line=7)
    probes = {"frozen_batch": windows(9 * MS), "compiled_step": compiled}
    finding = RULE.detect(view(fit_workload(kind="loop", probes=probes)))
    assert finding is not None
    assert finding.cure.edits == ()


def switched(compiled: float, **facts):
    probes = {"frozen_batch": windows(9 * MS), "compiled_loop": windows(compiled, **facts)}
    return view(fit_workload(kind="loop", probes=probes))


def test_silent_where_the_loop_is_no_faster_with_its_functions_compiled() -> None:
    assert RULE.detect(switched(8.9 * MS, switch="tf.config.run_functions_eagerly(True)")) is None


def test_fires_on_a_switch_that_makes_all_functions_eager() -> None:
    facts = {"switch": "tf.config.run_functions_eagerly(True)", "file": "/user/t.py", "line": "3"}
    finding = RULE.detect(switched(0.9 * MS, **facts))
    assert finding is not None
    assert finding.where == Where("/user/t.py", 3)
    assert finding.message.startswith("tf.config.run_functions_eagerly(True) is set")
    assert finding.gain.value == pytest.approx(5.3, rel=0.1)  # 1 ms of 10 is not the step
    (edit,) = finding.cure.edits
    assert (edit.where, edit.names) == (Where("/user/t.py", 3), ("run_functions_eagerly",))


def test_the_switch_is_named_in_a_fit_too() -> None:
    trial = windows(0.5 * MS, in_loop=windows(0.9 * MS), switch="jax_disable_jit")
    probes = {"frozen_batch": windows(9 * MS), "graph_trial": trial}
    finding = RULE.detect(view(fit_workload(probes=probes)))
    assert finding is not None
    assert "jax_disable_jit" in finding.message
    assert finding.cure.edits == ()
