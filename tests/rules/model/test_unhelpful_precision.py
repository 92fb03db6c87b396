from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.rules.model.unhelpful_precision import RULE
from synthetic import MS, model_view, timed


def in_float32(ns: float):
    return model_view(found=[("float32", timed(ChangedStep, ns))])


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(model_view()) is None


@pytest.mark.parametrize("full", [19.5, 25.0])
def test_silent_where_float32_is_no_faster(full: float) -> None:
    assert RULE.detect(in_float32(full * MS)) is None


def test_the_step_in_float32_is_the_gain() -> None:
    found = RULE.detect(in_float32(5 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(4, rel=0.05)
    assert found.message == "in half precision a step takes 20.0 ms, in float32 5.00 ms"
    assert found.evidence == {"step_ns": 20 * MS, "float32_ns": 5 * MS}
    assert found.cure.safety == "unsafe"


def test_the_statement_that_sets_the_precision_goes() -> None:
    found = RULE.detect(in_float32(5 * MS))
    assert found is not None
    (edit,) = found.cure.edits
    assert edit.names == ("set_dtype_policy", "set_global_policy")


def test_the_page_has_the_threshold() -> None:
    assert "10 % faster" in RULE.page
