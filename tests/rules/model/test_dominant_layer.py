from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.loading import InputFacts, StageFacts
from fitdoctor.contract.evidence.model import Layers, LayerTime, WithoutFrozenLayers
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.diagnosis.one_cause import one_cause_each
from fitdoctor.rules import all_rules
from fitdoctor.rules.model.dominant_layer import RULE
from synthetic import (
    MS,
    copies,
    fit_workload,
    gpu_workload,
    layer,
    model_view,
    stage,
    timed,
    view,
)


def named(name: str, kind: str, ns: int) -> LayerTime:
    return LayerTime(name=name, type=kind, ns=ns, parameters=10)


def layered(*shares: int, frozen: float = 9.5 * MS):
    rows = tuple(named(f"conv{i}", "Conv2D", share) for i, share in enumerate(shares))
    return view(fit_workload(found=[timed(FrozenBatch, frozen), Layers(rows)]))


class TestOneLayer:
    def test_silent_when_the_work_is_spread(self) -> None:
        assert RULE.detect(layered(60, 40)) is None

    def test_silent_when_the_step_is_not_the_limit(self) -> None:
        assert RULE.detect(layered(95, 5, frozen=3 * MS)) is None

    def test_silent_without_layers(self) -> None:
        assert RULE.detect(view(fit_workload(found=[timed(FrozenBatch, 9 * MS)]))) is None

    def test_silent_on_a_gpu(self) -> None:
        rows = (LayerTime(name="dense", type="Dense", ns=100),)
        workload = gpu_workload(Layers(rows, without_fixed_price=True), timed(FrozenBatch, 2 * MS))
        assert RULE.detect(view(workload)) is None

    def test_silent_where_one_of_many_equal_layers_was_timed_alone(self) -> None:
        cheap = [layer(f"conv{i}", 0.3 * MS) for i in range(16)]
        one = layer("conv_first", 0.5 * MS, alone=1.5 * MS)
        assert RULE.detect(model_view(one, *cheap)) is None

    def test_silent_on_the_layers_inside_a_layer(self) -> None:
        inner = [layer(f"dense{i}", MS, alone=4 * MS, inside="block") for i in range(2)]
        block = layer("block", MS, alone=9 * MS, is_user=True, flops=1e9)
        other = layer("other", 3 * MS, alone=9 * MS)
        assert RULE.detect(model_view(block, other, *inner)) is None

    def test_fires_as_advice_with_a_gain_and_no_word_on_accuracy(self) -> None:
        found = RULE.detect(layered(95, 5))
        assert found is not None
        assert found.cure.safety == "advice"
        assert found.gain.value == pytest.approx(1 / (1 - 0.5 * 0.95 * 0.95), rel=0.05)
        assert "accuracy" in found.cure.summary
        assert found.evidence["step_share"] == 0.95

    def test_the_measured_half_width_is_the_gain(self) -> None:
        found = RULE.detect(
            model_view(
                layer("big", 90 * MS),
                layer("small", MS),
                found=copies(20 * MS, half=12 * MS, gru=15 * MS),
            )
        )
        assert found is not None
        assert found.gain.value == pytest.approx(20 / 12, rel=0.05)
        assert "as a GRU a step takes 15.0 ms" in found.cure.summary


class TestRecurrence:
    def recurrent(self, first: int, second: int, half: float):
        """Two recurrent layers, and a copy of the model with the first one at half its width."""
        rows = (named("lstm", "LSTM", first), named("lstm_1", "LSTM", second))
        found = [timed(FrozenBatch, 9.5 * MS), Layers(rows), *copies(10 * MS, half=half)]
        return view(fit_workload(found=found))

    def test_silent_where_half_a_recurrence_gains_little(self) -> None:
        assert RULE.detect(self.recurrent(52, 48, half=7.5 * MS)) is None

    def test_half_of_the_layers_is_enough_where_its_width_gains_much(self) -> None:
        found = RULE.detect(self.recurrent(52, 48, half=5 * MS))
        assert found is not None
        assert found.evidence["layer"] == "lstm"
        assert found.gain.value == pytest.approx(1 / (1 - 0.5 * 0.95), rel=0.1)


class TestFrozenLayers:
    def frozen(
        self,
        rest: float = 2 * MS,
        *,
        epochs: int = 20,
        kind: str = "arrays",
        stages: tuple[StageFacts, ...] = (),
        layers: tuple[str, ...] = ("base",),
    ):
        found = [
            timed(FrozenBatch, 10 * MS),
            timed(WithoutFrozenLayers, rest, layers=layers, parameters=700_000, behind="dropout"),
            InputFacts(kind=kind, stages=stages),
        ]
        return view(fit_workload(found=found, detail={"epochs": epochs}))

    @pytest.mark.parametrize("rest", [8, 12])
    def test_silent_on_a_small_part(self, rest: int) -> None:
        assert RULE.detect(self.frozen(rest * MS)) is None

    def test_silent_in_one_epoch(self) -> None:
        assert RULE.detect(self.frozen(epochs=1)) is None

    def test_silent_where_the_samples_may_differ_from_epoch_to_epoch(self) -> None:
        assert RULE.detect(self.frozen(kind="generator")) is None
        for may_differ in ({"random": True}, {"python": True}):
            stages = (stage("map", 0, **may_differ),)
            assert RULE.detect(self.frozen(kind="tf.data", stages=stages)) is None
        assert RULE.detect(self.frozen(kind="tf.data", stages=(stage("map", 0),))) is not None

    def test_computed_once_instead_of_in_every_epoch(self) -> None:
        found = RULE.detect(self.frozen())
        assert found is not None
        # 2 ms instead of 10, in 19 of 20 epochs.
        assert found.gain.value == pytest.approx(10 / (2 * 0.95 + 0.5), rel=0.03)
        assert found.cure.safety == "advice"
        assert 'model.get_layer("dropout").input' in found.cure.summary
        assert "each of 20 epochs" in found.message

    def test_several_are_named_by_the_first_and_the_last(self) -> None:
        found = RULE.detect(self.frozen(layers=("stem", "block", "pool")))
        assert found is not None
        assert found.evidence["layer"] == "stem to pool"


@pytest.mark.parametrize("code", ["MO002", "MO003", "MO004", "MO005", "MO007", "CO003", "CO004"])
def test_a_layer_that_dominates_for_another_reason_is_that_reasons_finding(code: str) -> None:
    found = RULE.detect(layered(95, 5))
    assert found is not None
    reason = replace(found, rule=code)
    assert one_cause_each((found, reason), all_rules()) == (reason,)
    assert one_cause_each((found,), all_rules()) == (found,)


def test_the_page_has_the_thresholds() -> None:
    page = " ".join(RULE.page.split())
    assert "a recurrent one 50 %" in page
    assert "at half its width is 50 % faster or more" in page
    assert "(within 15 %)" in page
