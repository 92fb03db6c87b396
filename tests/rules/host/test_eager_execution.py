from __future__ import annotations

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.evidence.loop import (
    CompiledAgrees,
    CompiledLoop,
    CompiledStep,
    LoopLines,
    LoopShare,
    RepeatedCall,
)
from fitdoctor.contract.evidence.step import CompiledFit, FrozenBatch
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.findings.edits import JAX, TENSORFLOW, Decorate, DropKeyword, DropSetting
from fitdoctor.findings.place import Where
from fitdoctor.rules.host.eager_execution import CLEARLY_FASTER, RULE
from synthetic import MS, fit_workload, loader, recording, timed, view

FROZEN = timed(FrozenBatch, 9 * MS)
STEP_FUNCTION = {"file": "/user/t.py", "line": 7, "function": "train_step"}


def compiled_fit(ns: float, in_loop: float, **more) -> CompiledFit:
    return timed(CompiledFit, ns, in_loop=timed(Timed, in_loop), **more)


def compiled_step(**more) -> CompiledStep:
    """The step function, 9 ms op by op and 0.5 ms compiled."""
    return timed(CompiledStep, 0.5 * MS, eager=timed(Timed, 9 * MS), **{**STEP_FUNCTION, **more})


def loop(*found: object, **more):
    return view(fit_workload(kind="loop", found=[FROZEN, *found]), **more)


def switched(compiled: float, switch: str, **more):
    return loop(timed(CompiledLoop, compiled, switch=switch, **more))


def test_silent_on_a_compiled_fit() -> None:
    assert RULE.detect(view(fit_workload(found=[FROZEN]))) is None


def test_silent_when_compiling_gains_nothing() -> None:
    found = [FROZEN, compiled_fit(8.9 * MS, 9 * MS)]
    assert RULE.detect(view(fit_workload(found=found))) is None


def test_silent_on_a_loop_that_calls_a_compiled_function() -> None:
    assert RULE.detect(loop(timed(RepeatedCall, 8.9 * MS))) is None


def test_silent_where_the_loop_is_no_faster_with_its_functions_compiled() -> None:
    assert RULE.detect(switched(8.9 * MS, "tf.config.run_functions_eagerly(True)")) is None


def test_silent_on_a_compiled_step_in_a_fit_which_has_a_trial_of_its_own() -> None:
    assert RULE.detect(view(fit_workload(found=[FROZEN, compiled_step()]))) is None


def test_fires_on_run_eagerly() -> None:
    found = [FROZEN, compiled_fit(0.5 * MS, 0.9 * MS)]
    finding = RULE.detect(view(fit_workload(found=found, wait=MS // 10)))
    assert finding is not None
    # 10 ms become the compiled step in Keras's loop and the loading: 0.9 + 0.1 ms.
    assert finding.gain.value == pytest.approx(10.0, rel=0.05)
    assert "run_eagerly" in finding.cure.summary
    assert finding.where == Where("/user/train.py", 88)
    assert finding.evidence == {"eager_ns": 9 * MS, "compiled_ns": MS // 2}


def test_a_loader_that_was_timed_alone_is_what_loading_takes() -> None:
    found = [FROZEN, compiled_fit(0.5 * MS, 0.9 * MS), loader(1.1 * MS)]
    finding = RULE.detect(view(fit_workload(found=found, wait=MS // 10)))
    assert finding is not None
    assert finding.gain.value == pytest.approx(10 / 2.0, rel=0.05)


@pytest.mark.parametrize(
    ("backend", "safety"), [("tensorflow", "safe"), ("jax", "unsafe"), ("torch", "unsafe")]
)
def test_rounding_may_differ_on_other_backends(backend: str, safety: str) -> None:
    found = [FROZEN, compiled_fit(0.5 * MS, 0.9 * MS)]
    finding = RULE.detect(view(fit_workload(found=found), backend=backend))
    assert finding is not None
    assert finding.cure.safety == safety


def test_fires_on_a_loop_whose_function_was_tried_compiled() -> None:
    finding = RULE.detect(loop(compiled_step()))
    assert finding is not None
    assert finding.where == Where("/user/t.py", 7)
    assert finding.cure.summary == "decorate train_step with @tf.function"
    # Nobody saw that it trains the same.
    assert finding.cure.safety == "unsafe"


@pytest.mark.parametrize(("same", "safety"), [(True, "safe"), (False, "unsafe")])
def test_a_compiled_step_is_safe_where_it_was_seen_to_train_the_same(
    same: bool, safety: str
) -> None:
    finding = RULE.detect(loop(compiled_step(numbers_read=1), CompiledAgrees(same)))
    assert finding is not None
    assert finding.cure.safety == safety
    assert "numbers of tensors have to be read outside" in finding.cure.summary


def test_a_stand_in_step_has_a_wider_interval() -> None:
    finding = RULE.detect(loop(timed(CompiledStep, 0.5 * MS, stands_for="reference")))
    assert finding is not None
    assert "body" in finding.cure.summary
    assert finding.gain.low < 0.95 * finding.gain.value


def test_run_eagerly_is_dropped_where_the_model_was_compiled() -> None:
    found = [FROZEN, compiled_fit(0.5 * MS, 0.5 * MS)]
    workload = fit_workload(found=found, detail={"model_number": 1})
    place = EventDetail(file="/user/m.py", line=4, model=1)
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
    finding = RULE.detect(loop(compiled_step(), backend=backend))
    assert finding is not None
    where = Where("/user/t.py", 7)
    assert finding.cure.edits == (Decorate(where, "train_step", decorator, (imports,)),)


def test_a_loop_without_a_step_function_has_nothing_to_decorate() -> None:
    reference = timed(CompiledStep, 0.5 * MS, stands_for="reference", file="/user/t.py", line=7)
    finding = RULE.detect(loop(reference))
    assert finding is not None
    assert finding.cure.edits == ()


def test_fires_on_a_switch_that_makes_all_functions_eager() -> None:
    place = {"file": "/user/t.py", "line": 3}
    finding = RULE.detect(switched(0.9 * MS, "tf.config.run_functions_eagerly(True)", **place))
    assert finding is not None
    assert finding.where == Where("/user/t.py", 3)
    assert finding.message.startswith("tf.config.run_functions_eagerly(True) is set")
    assert finding.gain.value == pytest.approx(5.3, rel=0.1)  # 1 ms of 10 is not the step
    assert finding.cure.edits == (DropSetting(Where("/user/t.py", 3), ("run_functions_eagerly",)),)


def test_the_switch_is_named_in_a_fit_too() -> None:
    found = [FROZEN, compiled_fit(0.5 * MS, 0.9 * MS, switch="jax_disable_jit")]
    finding = RULE.detect(view(fit_workload(found=found)))
    assert finding is not None
    assert "jax_disable_jit" in finding.message
    assert finding.cure.edits == ()


def test_the_page_says_how_much_faster_it_must_be() -> None:
    assert f"{100 * (CLEARLY_FASTER - 1):.3g} % or more" in RULE.page


class TestBesideTheStep:
    def loop(self, step: float, compiled: float, *, backend: str = "jax"):
        """Iterations of 20 ms; a share of them in the framework, the compiled function alone."""

        def share(part: float) -> LoopShare:
            hot = (("/user/train.py", 50, "update", 90),)
            return LoopShare(ns=round(part * 2e9), samples=round(part * 500), lines=hot)

        watched = LoopLines(
            share(0.0), share(step), share(1 - step), iterations=40, reads=share(0.0)
        )
        workload = fit_workload(
            kind="loop",
            period=20 * MS,
            step=2 * MS,
            wait=None,
            detail={"marker": "jax.jit", "backend": backend},
            found=[timed(RepeatedCall, compiled), watched],
        )
        return view(workload, backend=backend)

    def test_silent_where_the_compiled_function_is_what_takes_long(self) -> None:
        assert RULE.detect(self.loop(0.95, 18 * MS)) is None

    def test_silent_where_the_users_own_code_takes_the_time(self) -> None:
        assert RULE.detect(self.loop(0.2, 2 * MS)) is None

    def test_silent_on_torch(self) -> None:
        assert RULE.detect(self.loop(0.9, 2 * MS, backend="torch")) is None

    def test_operations_around_it_are_a_bound_at_their_line(self) -> None:
        found = RULE.detect(self.loop(0.9, 4 * MS))
        assert found is not None
        assert found.how == "bound"
        assert found.where is not None and found.where.line == 50
        assert found.gain.value == pytest.approx(20 / 4, rel=0.1)
