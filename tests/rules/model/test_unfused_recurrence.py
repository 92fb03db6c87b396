from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.model import OtherActivations, RecurrentDropout
from fitdoctor.rules.model.unfused_recurrence import RULE
from synthetic import MS, copies, gpu_workload, model_view, view


def without_dropout(fused: float, *more: object):
    return model_view(step=10 * MS, found=[*copies(10 * MS, fused=fused), *more])


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(view(gpu_workload())) is None
    assert RULE.detect(model_view(found=[RecurrentDropout(types=("LSTM",))])) is None


def test_silent_where_the_copy_is_no_faster() -> None:
    assert RULE.detect(without_dropout(9.5 * MS)) is None


def test_the_copy_without_recurrent_dropout_is_the_gain() -> None:
    found = RULE.detect(without_dropout(5 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(2, rel=0.05)
    assert found.message == "with recurrent dropout a step takes 10.0 ms, without it 5.00 ms"
    assert found.evidence == {"step_ns": 10 * MS, "without_ns": 5 * MS}
    assert found.cure.edits == ()  # which layers have it was not recorded


def test_recurrent_dropout_becomes_dropout_in_the_layers_that_have_it() -> None:
    found = RULE.detect(without_dropout(5 * MS, RecurrentDropout(types=("GRU", "LSTM"))))
    assert found is not None
    assert found.cure.safety == "unsafe"
    assert [(edit.call, edit.to) for edit in found.cure.edits] == [
        ("GRU", "dropout"),
        ("LSTM", "dropout"),
    ]


def test_the_page_has_the_threshold() -> None:
    assert "at least 15 % faster" in RULE.page


def test_silent_on_other_activations_that_cost_nothing() -> None:
    seen = OtherActivations(("LSTM",), ("recurrent_activation",))
    steps = copies(10 * MS, default_activations=9.5 * MS)
    assert RULE.detect(model_view(step=10 * MS, found=[*steps, seen])) is None


def test_activations_without_a_fused_kernel_are_dropped() -> None:
    seen = OtherActivations(("LSTM",), ("recurrent_activation",))
    steps = copies(10 * MS, default_activations=2 * MS)
    found = RULE.detect(model_view(step=10 * MS, found=[*steps, seen]))
    assert found is not None
    assert found.gain.value == pytest.approx(5, rel=0.05)
    assert [(edit.call, edit.keyword) for edit in found.cure.edits] == [
        ("LSTM", "recurrent_activation")
    ]
