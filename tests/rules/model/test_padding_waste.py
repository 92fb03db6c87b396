from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.model import Padding
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.rules.model.padding_waste import RULE
from synthetic import MS, model_view, timed


def padded(shorter: float | None, boundaries: tuple[int, ...] = (17, 33)):
    cut = timed(Timed, shorter) if shorter is not None else None
    return model_view(
        found=[Padding(length=500, real=35.0, bucketed=48, rows=32, boundaries=boundaries, cut=cut)]
    )


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(model_view()) is None


def test_silent_where_batches_are_full() -> None:
    assert RULE.detect(padded(None)) is None


def test_silent_where_length_does_not_matter() -> None:
    assert RULE.detect(padded(19 * MS)) is None


def test_silent_where_sorting_takes_what_the_shorter_step_saves() -> None:
    # 16.9 ms alone would be 18 % faster; 32 sequences to sort take 0.7 ms.
    assert RULE.detect(padded(16.9 * MS)) is None


def test_a_model_of_one_length_gets_a_bound() -> None:
    one_length = Padding(length=500, real=35.0, bucketed=48, rows=32, has_fixed_length=True)
    found = RULE.detect(model_view(found=[one_length]))
    assert found is not None
    assert found.how == "bound"
    assert found.gain.value == pytest.approx(500 / 48, rel=0.05)
    nearly_full = Padding(length=500, real=300.0, bucketed=400, rows=32, has_fixed_length=True)
    assert RULE.detect(model_view(found=[nearly_full])) is None


def test_the_step_at_the_length_it_needs() -> None:
    found = RULE.detect(padded(2.5 * MS))
    assert found is not None
    # 2.5 ms for the step, and 32 sequences to be put into their buckets.
    assert found.gain.value == pytest.approx(20 / (2.5 + 32 * 0.022), rel=0.05)
    assert "93 %" in found.message
    assert "bucket_boundaries=[17, 33]" in found.cure.summary
    assert found.evidence["shorter_step_ns"] == 2.5 * MS
    assert found.cure.safety == "unsafe"


def test_without_boundaries_the_advice_stays() -> None:
    found = RULE.detect(padded(2.5 * MS, boundaries=()))
    assert found is not None
    assert found.cure.summary == "bucket by length (dataset.bucket_by_sequence_length)"


def test_the_page_has_the_thresholds() -> None:
    assert "less than 70 % of the positions" in RULE.page
    assert "22 µs per sequence" in " ".join(RULE.page.split())
