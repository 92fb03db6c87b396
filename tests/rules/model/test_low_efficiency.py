from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fitdoctor.contract.evidence.loop import IdleGradients
from fitdoctor.contract.evidence.model import ChangedStep, Layers, MachineCeiling, PlainLoss
from fitdoctor.contract.evidence.operations import Operations, OperationTime
from fitdoctor.contract.evidence.step import FrozenBatch, StepsPerExecution, WithJit, WithoutChecks
from fitdoctor.diagnosis.one_cause import one_cause_each
from fitdoctor.findings.edits import DropSetting
from fitdoctor.findings.place import Where
from fitdoctor.rules import all_rules
from fitdoctor.rules.model.low_efficiency import RULE
from synthetic import MS, fit_workload, layer, timed, view

STEP = 20 * MS


def ceiling(op_start_ns: float | None = 3000.0) -> MachineCeiling:
    return MachineCeiling(flops_per_s=50e9, bytes_per_s=10e9, op_start_ns=op_start_ns)


def operations(count: float, *rows: OperationTime, kernels: tuple[str, ...] = ()) -> Operations:
    spent = sum(row.ns for row in rows)
    idle = max(0.0, STEP - spent)
    return Operations(10, float(STEP), idle, count, rows=rows, kernels=kernels)


def row(name: str, ns: float, inner: str | None = None) -> OperationTime:
    return OperationTime(op="MatMul", layer=inner or name, within=name, ns=ns)


def seen(*found: object, period: int = STEP):
    return view(fit_workload(period=period, step=STEP, found=[timed(FrozenBatch, STEP), *found]))


def test_silent_where_operations_were_not_seen() -> None:
    assert RULE.detect(seen(ceiling())) is None


def test_silent_on_a_few_hundred_operations() -> None:
    assert RULE.detect(seen(ceiling(), operations(400))) is None


def test_silent_where_the_start_of_an_operation_is_not_known() -> None:
    assert RULE.detect(seen(ceiling(None), operations(50_000))) is None


def test_silent_on_keras_own_layers_whatever_their_rate() -> None:
    # An ordinary attention block reaches a few per cent of the machine's rate.
    block = layer("block", 9 * MS, alone=18 * MS, type="Block", is_user=True)
    attention = layer("attention", 9 * MS, type="MultiHeadAttention", inside="block")
    profile = operations(300, row("block", 18 * MS, "attention"), kernels=("attention",))
    assert RULE.detect(seen(ceiling(), Layers((block, attention)), profile)) is None


def test_silent_where_the_step_is_a_small_part_of_the_time() -> None:
    assert RULE.detect(seen(ceiling(), operations(5000), period=10 * STEP)) is None


@pytest.mark.parametrize("rule", ["HO002", "MO001", "MO003", "CO004"])
def test_a_special_reason_is_better(rule: str) -> None:
    found = RULE.detect(seen(ceiling(), operations(5000)))
    assert found is not None
    special = replace(found, rule=rule, how="tried")
    assert one_cause_each((found, special), all_rules()) == (special,)


def unchecked(ns: float, **more: Any) -> WithoutChecks:
    switch = "torch.autograd.set_detect_anomaly(True)"
    return timed(WithoutChecks, ns, base_ns=(STEP,) * 8, switch=switch, **more)


def test_silent_where_checks_cost_nothing() -> None:
    assert RULE.detect(seen(unchecked(19 * MS))) is None


def test_checks_that_were_left_on_are_tried_off() -> None:
    found = RULE.detect(seen(unchecked(8 * MS, file="/u/train.py", line=4)))
    assert found is not None
    assert found.gain.value == pytest.approx(2.5, rel=0.05)
    assert (found.how, found.cure.safety) == ("tried", "safe")
    assert found.where == Where("/u/train.py", 4)
    (edit,) = found.cure.edits
    assert isinstance(edit, DropSetting) and edit.names == ("set_detect_anomaly",)


def convolutions(name: str, forward: int, backward: int) -> tuple[OperationTime, ...]:
    both = {"layer": name, "within": name}
    ns = 2 * MS  # of every pass
    return (
        OperationTime(op="Conv2D", ns=forward * ns, count=forward, **both),
        OperationTime(
            op="Conv2DBackpropFilter", backward=True, ns=backward * ns, count=backward, **both
        ),
        OperationTime(op="Conv2DBackpropInput", backward=True, ns=0, count=backward, **both),
    )


@pytest.mark.parametrize(("forward", "backward"), [(1, 1), (3, 3), (1, 2)])
def test_silent_on_a_gradient_of_each_use_of_a_layer(forward: int, backward: int) -> None:
    profile = operations(20, *convolutions("stem", forward, backward), kernels=("stem",))
    assert RULE.detect(seen(ceiling(), profile)) is None


def test_gradients_taken_one_loss_at_a_time() -> None:
    profile = operations(40, *convolutions("stem", 1, 7), kernels=("stem",))
    found = RULE.detect(seen(ceiling(), profile))
    assert found is not None
    assert found.how == "modelled"
    # 14 of 20 ms are gradients, 2 of them needed.
    assert found.gain.value == pytest.approx(20 / 8, rel=0.02)
    assert "7 times" in found.message


def test_silent_on_the_arithmetic_of_a_loss() -> None:
    loss = OperationTime(op="log_softmax", ns=9 * MS)
    assert RULE.detect(seen(ceiling(), operations(300, loss))) is None


@pytest.mark.parametrize("op", ["svd", "_linalg_svd", "SelfAdjointEigV2", "sort", "TopKV2"])
def test_a_decomposition_outside_of_every_layer_is_a_bound(op: str) -> None:
    penalty = OperationTime(op=op, ns=12 * MS)
    others = OperationTime(op="Mul", ns=8 * MS)
    found = RULE.detect(seen(ceiling(), operations(300, penalty, others)))
    assert found is not None
    assert found.how == "bound"
    assert found.gain.value == pytest.approx(20 / 8, rel=0.02)
    assert f"{op}, outside of every layer, takes 12.0 ms" in found.message


def test_fires_on_very_many_operations_with_a_bound() -> None:
    found = RULE.detect(seen(ceiling(), operations(5000)))
    assert found is not None
    assert found.how == "bound"
    # 5,000 operations of 3 µs each are 15 of 20 ms.
    assert found.gain.value == pytest.approx(20 / 5, rel=0.02)
    assert "5,000 operations" in found.message


def test_fires_on_a_slow_layer_of_the_users_own_at_its_place() -> None:
    own = layer("pairs", 9 * MS, alone=16 * MS, type="Pairs", is_user=True, file="/u/m.py", line=7)
    profile = operations(300, row("pairs", 16 * MS))
    found = RULE.detect(seen(ceiling(), Layers((own,)), profile))
    assert found is not None
    assert found.where == Where("/u/m.py", 7)
    assert "pairs (Pairs) takes 16.0 ms" in found.message
    assert found.gain.value == pytest.approx(20 / 4.06, rel=0.02)


def test_fires_on_keras_own_layers_that_are_called_again_and_again() -> None:
    block = layer("block", 2 * MS, alone=18 * MS, type="Block", is_user=True)
    dense = layer("dense", 7 * MS, type="Dense", inside="block", calls=168)
    profile = operations(300, row("block", 18 * MS, "dense"), kernels=("dense",))
    found = RULE.detect(seen(ceiling(), Layers((block, dense)), profile))
    assert found is not None
    assert found.how == "bound"
    assert "block (Block)" in found.message


def test_layers_called_row_by_row_in_a_loops_own_iterations() -> None:
    # Nothing is known of their arithmetic: the loop has no step that could be called alone.
    rows = (
        OperationTime(op="python", layer="conv", within="conv", ns=2 * MS, count=26),
        OperationTime(op="convolution", layer="conv", within="conv", ns=12 * MS, count=26),
        OperationTime(op="mm", layer="dense", within="dense", ns=6 * MS, count=3),
    )
    live = Operations(
        6,
        float(STEP),
        0.0,
        900.0,
        rows=rows,
        kernels=("conv", "dense"),
        in_loop=True,
        single_rows=24,
    )
    found = RULE.detect(seen(ceiling(), live))
    assert found is not None
    assert "conv is called 26 times in every step" in found.message
    assert found.gain.value == pytest.approx(20 / (20 - 14 * 25 / 26), rel=0.02)
    # Gradients of 26 whole batches may be added up before an update.
    assert RULE.detect(seen(ceiling(), replace(live, single_rows=0))) is None
    few = replace(live, rows=tuple(replace(one, count=5.0) for one in rows))
    assert RULE.detect(seen(ceiling(), few)) is None


def test_a_wrapper_that_calls_its_layer_at_every_position() -> None:
    wrapper = layer("td", 6 * MS, alone=18 * MS, type="TimeDistributed")
    profile = operations(
        300,
        OperationTime(op="python", layer="td", within="td", ns=2 * MS, count=1),
        OperationTime(op="mm", layer="td", within="td", ns=16 * MS, count=60),
        kernels=("td",),
    )
    found = RULE.detect(seen(ceiling(), Layers((wrapper,)), profile))
    assert found is not None
    assert "td (TimeDistributed) takes" in found.message


def test_what_was_tried_without_gain_is_said() -> None:
    slower = timed(WithJit, 21 * MS, base_ns=(STEP,) * 4)
    native = ("native_recurrence", timed(ChangedStep, 19.9 * MS, base_ns=(STEP,) * 4))
    found = RULE.detect(seen(ceiling(), operations(5000), slower, native))
    assert found is not None
    assert "tried without gain: jit_compile=True, torch's own recurrent kernel" in found.message


def test_xla_that_helps_is_the_cure() -> None:
    faster = timed(WithJit, 5 * MS, base_ns=(STEP,) * 8)
    found = RULE.detect(seen(ceiling(), operations(5000), faster))
    assert found is not None
    assert found.how == "tried"
    assert found.gain.value == pytest.approx(4, rel=0.05)
    assert "jit_compile=True" in found.cure.summary


def plain_loss(took: int, output_bytes: int = 100_000) -> PlainLoss:
    """The step with a plain loss takes so much less."""
    without = timed(PlainLoss, STEP - took, base_ns=(STEP,) * 4, output_bytes=0, function="pairs")
    return replace(without, output_bytes=output_bytes, file="/user/train.py", line=12)


def test_silent_on_a_cheap_loss_of_the_users() -> None:
    assert RULE.detect(seen(ceiling(), plain_loss(2 * MS))) is None


def test_silent_on_a_loss_of_large_outputs() -> None:
    # The cross-entropy of 4096 tokens over 10,000 words: what it takes is what it needs.
    assert RULE.detect(seen(ceiling(), plain_loss(12 * MS, 4096 * 10_000 * 4))) is None


def test_silent_on_a_loss_where_the_ceiling_is_not_known() -> None:
    assert RULE.detect(seen(plain_loss(15 * MS))) is None


def test_a_loss_that_takes_far_more_than_its_outputs_need() -> None:
    found = RULE.detect(seen(ceiling(), plain_loss(15 * MS)))
    assert found is not None
    assert found.how == "bound"
    assert found.where == Where("/user/train.py", 12)
    assert "pairs" in found.message
    assert 2.5 < found.gain.high < 4.1


class TestOnAGpu:
    @staticmethod
    def kernels(count: float, each_ns: float) -> Operations:
        row = OperationTime(op="gemm", layer="lstm", within="lstm", ns=count * each_ns, count=count)
        return Operations(10, STEP, STEP - row.ns, count, rows=(row,), on_device=True)

    def test_silent_on_a_gpu_at_work(self) -> None:
        assert RULE.detect(seen(ceiling(), self.kernels(100, 150_000))) is None
        assert RULE.detect(seen(ceiling(), self.kernels(1000, 15_000))) is None

    def test_thousands_of_kernels_of_a_microsecond_are_launch_bound_however_busy(self) -> None:
        found = RULE.detect(seen(ceiling(), self.kernels(13_000, 1_500)))
        assert found is not None
        assert found.message.startswith(
            "launch-bound inside the step: 20.0 ms are 13,000 kernels on the GPU of 1.50 µs each"
        )
        assert found.how == "bound"

    def test_what_was_tried_is_named(self) -> None:
        tried = [
            timed(WithJit, STEP, base_ns=(STEP,) * 8),
            ("50", timed(StepsPerExecution, STEP, base_ns=(STEP,) * 8)),
            ("default_activations", timed(ChangedStep, STEP, base_ns=(STEP,) * 8)),
        ]
        found = RULE.detect(seen(ceiling(), self.kernels(13_000, 1_500), *tried))
        assert found is not None
        assert found.message.endswith(
            "tried without gain: jit_compile=True, the fused recurrence, steps_per_execution=50"
        )


def idle(without: float) -> IdleGradients:
    return timed(
        IdleGradients, without, base_ns=(STEP,) * 8, weights=90, of_weights=100, name="body.kernel"
    )


def test_silent_where_idle_gradients_cost_little() -> None:
    assert RULE.detect(seen(ceiling(), idle(0.95 * STEP))) is None


def test_gradients_that_no_optimizer_uses() -> None:
    found = RULE.detect(seen(ceiling(), idle(0.4 * STEP)))
    assert found is not None
    assert (found.how, found.cure.safety) == ("tried", "safe")
    assert found.gain.value == pytest.approx(2.5, rel=0.1)
    assert "90 % of the weights (body.kernel and more)" in found.message
