from __future__ import annotations

import pytest

from fitdoctor.rules.model.dominant_layer import RULE
from synthetic import MS, fit_workload, stage, view, windows


def layered(*shares: float, frozen: float = 9.5 * MS):
    rows = [
        {"name": f"conv{i}", "type": "Conv2D", "ns": s, "parameters": 10, "is_model": False}
        for i, s in enumerate(shares)
    ]
    probes = {"frozen_batch": windows(frozen), "layers": {"layers": rows}}
    return view(fit_workload(probes=probes))


def test_silent_when_the_work_is_spread() -> None:
    assert RULE.detect(layered(60, 40)) is None


def test_silent_when_the_step_is_not_the_limit() -> None:
    assert RULE.detect(layered(95, 5, frozen=3 * MS)) is None


def test_silent_without_layers() -> None:
    assert RULE.detect(view(fit_workload(probes={"frozen_batch": windows(9 * MS)}))) is None


def recurrent(first: float, second: float, half: float):
    """Two recurrent layers, and a copy of the model with the first one at half its width."""
    rows = [
        {"name": name, "type": "LSTM", "ns": ns, "parameters": 10, "is_model": False}
        for name, ns in (("lstm", first), ("lstm_1", second))
    ]
    probes = {
        "frozen_batch": windows(9.5 * MS),
        "layers": {"layers": rows},
        "copy_as_is": windows(10 * MS),
        "copy_half": windows(half),
    }
    return view(fit_workload(probes=probes))


def test_silent_where_half_a_recurrence_gains_little() -> None:
    assert RULE.detect(recurrent(52, 48, half=7.5 * MS)) is None


def test_a_recurrence_of_half_the_layers_is_told_where_its_width_gains_much() -> None:
    finding = RULE.detect(recurrent(52, 48, half=5 * MS))
    assert finding is not None
    assert finding.evidence["layer"] == "lstm"
    assert finding.gain.value == pytest.approx(1 / (1 - 0.5 * 0.95), rel=0.1)


def test_fires_as_advice_with_a_price_and_no_word_on_accuracy() -> None:
    finding = RULE.detect(layered(95, 5))
    assert finding is not None
    assert finding.cure.safety == "advice"
    assert finding.gain.value == pytest.approx(1 / (1 - 0.5 * 0.95 * 0.95), rel=0.05)
    assert "accuracy" in finding.cure.summary


# -- frozen layers -------------------------------------------------------------------


def frozen(
    rest: float = 2 * MS,
    *,
    epochs: int = 20,
    kind: str = "arrays",
    stages: tuple[dict, ...] = (),
    **more,
):
    facts = {"layers": ["base"], "parameters": 700_000, "behind": "dropout"}
    probes = {
        "frozen_batch": windows(10 * MS),
        "frozen_layers": windows(rest, **facts),
        "input": {"kind": kind, "stages": list(stages)},
    }
    return view(fit_workload(probes=probes, detail={"epochs": epochs}, **more))


def test_silent_on_frozen_layers_that_are_a_small_part() -> None:
    assert RULE.detect(frozen(8 * MS)) is None
    assert RULE.detect(frozen(12 * MS)) is None


def test_silent_on_frozen_layers_in_one_epoch() -> None:
    assert RULE.detect(frozen(epochs=1)) is None


def test_silent_where_the_samples_may_differ_from_epoch_to_epoch() -> None:
    assert RULE.detect(frozen(kind="generator")) is None
    assert RULE.detect(frozen(kind="tf.data", stages=(stage("map", 0, random=True),))) is None
    assert RULE.detect(frozen(kind="tf.data", stages=(stage("map", 0, python=True),))) is None
    assert RULE.detect(frozen(kind="tf.data", stages=(stage("map", 0),))) is not None


def test_frozen_layers_are_computed_once_instead_of_in_every_epoch() -> None:
    found = RULE.detect(frozen())
    assert found is not None
    # 2 ms instead of 10, in 19 of 20 epochs.
    assert found.gain.value == pytest.approx(10 / (2 * 0.95 + 0.5), rel=0.03)
    assert found.cure.safety == "advice"
    assert 'model.get_layer("dropout").input' in found.cure.summary
    assert "each of 20 epochs" in found.message
