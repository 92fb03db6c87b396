from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from fitdoctor.analysis.step_rows import OPTIMIZER, REST, step_rows
from fitdoctor.contract.evidence.model import Layers, LayerTime, MachineCeiling
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.intervals import Interval
from fitdoctor.report.html.workload_section import layers_table
from synthetic import MS, fit_workload, timed


def layer(name: str, forward: float, alone: float | None = None, **more) -> LayerTime:
    times = None if alone is None else timed(Timed, alone)
    return LayerTime(
        name=name, type="Dense", parameters=10, ns=round(forward), flops=1e6, alone=times, **more
    )


def rows_of(*layers, step: float | None = 10 * MS, optimizer: float | None = None, found=()):
    workload = fit_workload(found=[Layers(layers=layers), *found])
    return step_rows(
        workload,
        None if step is None else Interval.exact(step),
        None if optimizer is None else Interval.exact(optimizer),
    )


def test_nothing_without_layers_or_a_step() -> None:
    assert step_rows(fit_workload(), Interval.exact(MS), None) == ()
    assert rows_of(layer("a", MS), step=None) == ()


def test_layers_optimizer_and_rest() -> None:
    rows = rows_of(layer("a", MS, alone=4 * MS), layer("b", MS), optimizer=2 * MS)
    found = {row.name: (round(row.ns / MS, 2), row.alone) for row in rows}
    assert found == {
        "a": (4.0, True),
        "b": (3.0, False),
        OPTIMIZER: (2.0, True),
        REST: (1.0, True),
    }


def test_an_optimizer_that_was_not_timed_has_no_row() -> None:
    assert OPTIMIZER not in {row.name for row in rows_of(layer("a", MS))}


def test_the_model_itself_is_no_layer() -> None:
    whole = layer("model", 9 * MS, is_model=True)
    assert [row.name for row in rows_of(whole, layer("a", MS))] == ["a", REST]


def test_the_rate_is_what_the_arithmetic_needs_at_best() -> None:
    needs = layer("a", MS, alone=6 * MS, bytes=8.0)
    ceiling = MachineCeiling(flops_per_s=1e9, bytes_per_s=1e9)
    (row, _) = rows_of(needs, found=[ceiling])
    assert row.rate == pytest.approx(3 * 1 / 6, rel=0.01)


@given(
    st.lists(st.floats(1, 1e9), min_size=1, max_size=20),
    st.one_of(st.none(), st.floats(0, 1e9)),
    st.floats(1, 1e9),
)
def test_they_always_sum_to_the_step(
    forward: list[float], optimizer: float | None, step: float
) -> None:
    layers = [layer(f"l{n}", ns) for n, ns in enumerate(forward)]
    rows = rows_of(*layers, step=step, optimizer=optimizer)
    assert sum(row.ns for row in rows) == pytest.approx(step)
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert all(row.ns >= 0 for row in rows)
    shown = layers_table(rows)
    assert sum(row.share for row in shown) == pytest.approx(1)
    assert len(shown) <= 15
