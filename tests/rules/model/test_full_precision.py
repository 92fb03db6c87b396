from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.rules.model.full_precision import RULE
from synthetic import MS, gpu_workload, model_view, timed, view


def in_bfloat16(ns: float):
    return model_view(found=[("bfloat16", timed(ChangedStep, ns))])


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(view(gpu_workload())) is None


def test_silent_where_half_precision_gains_little() -> None:
    assert RULE.detect(in_bfloat16(18.5 * MS)) is None


def test_half_precision_that_gains() -> None:
    found = RULE.detect(in_bfloat16(8 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(2.5, rel=0.05)
    assert found.message == "in float32 a step takes 20.0 ms, in mixed_bfloat16 8.00 ms"
    assert found.evidence == {"step_ns": 20 * MS, "bfloat16_ns": 8 * MS}


def test_the_policy_is_set_after_the_imports() -> None:
    found = RULE.detect(in_bfloat16(8 * MS))
    assert found is not None
    (edit,) = found.cure.edits
    assert edit.statement == found.cure.summary
    assert "set_dtype_policy" in edit.names
    assert not edit.first


def test_the_page_has_the_threshold() -> None:
    assert "at least 15 % faster" in RULE.page
