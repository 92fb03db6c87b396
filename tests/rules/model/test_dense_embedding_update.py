from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.rules.model.dense_embedding_update import RULE
from synthetic import MS, layer, model_view, timed


def with_sgd(ns: float, *layers: object):
    return model_view(*layers, found=[("sgd", timed(ChangedStep, ns))])


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(model_view()) is None


@pytest.mark.parametrize("sgd", [19.5, 16.0])
def test_silent_where_sgd_gains_too_little_for_another_training(sgd: float) -> None:
    assert RULE.detect(with_sgd(sgd * MS)) is None


def test_the_step_with_sgd_is_the_gain() -> None:
    found = RULE.detect(with_sgd(5 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(4, rel=0.05)
    assert found.message == (
        "updating every row of the embedding table takes 15.0 ms of a step of 20.0 ms"
    )
    assert found.evidence["sgd_step_ns"] == 5 * MS
    assert (found.cure.safety, found.cure.edits) == ("advice", ())


def test_the_largest_table_is_named() -> None:
    tables = [
        layer(name, MS, type="Embedding", parameters=count)
        for name, count in (("user", 10_000), ("item", 16_000_000))
    ]
    found = RULE.detect(with_sgd(5 * MS, *tables))
    assert found is not None
    assert found.evidence["table"] == "item (16,000,000 weights)"


def test_the_page_has_the_thresholds() -> None:
    assert "an embedding of 1,000,000 weights or more" in RULE.page
    assert "30 % faster" in RULE.page


def test_a_table_of_the_rows_that_occur_is_a_bound_beside_it() -> None:
    # SGD saves 10 of 20 ms; the layer itself, its dense gradient, is 8 more.
    table = layer("item", 3 * MS, alone=8 * MS, type="Embedding", parameters=16_000_000)
    small = layer("user", 3 * MS, alone=8 * MS, type="Embedding", parameters=10_000)
    found = RULE.detect(with_sgd(10 * MS, table, small))
    assert found is not None
    (smaller,) = found.also
    assert smaller.how == "bound"
    assert smaller.gain.value == pytest.approx(20 / 2, rel=0.05)
    assert RULE.detect(with_sgd(10 * MS, small)).also == ()
