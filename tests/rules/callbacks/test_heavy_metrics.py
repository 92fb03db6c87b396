from __future__ import annotations

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.findings.place import Where
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.callbacks.heavy_metrics import RULE
from synthetic import MS, fit_workload, recording, timed, view


def without_metrics(ns: float, *, events: tuple[Event, ...] = ()):
    """Steps of 2 ms, and what they take without metrics."""
    found = [timed(FrozenBatch, 2 * MS), ("without_metrics", timed(ChangedStep, ns))]
    workload = fit_workload(period=2 * MS, step=2 * MS, found=found)
    return view_of(recording(workload, events=events), workload)


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_where_metrics_are_cheap() -> None:
    assert RULE.detect(without_metrics(1.95 * MS)) is None


def test_in_turns_a_machine_that_changes_its_pace_hides_nothing() -> None:
    pace = [1.0, 1.8, 1.0, 1.7, 1.1, 1.9]
    frozen = FrozenBatch(ns=tuple(MS * p for p in pace), units=100)
    tried = ChangedStep(
        ns=tuple(0.75 * MS * p for p in pace), base_ns=tuple(MS * p for p in pace), units=100
    )
    found = [frozen, ("without_metrics", tried)]
    finding = RULE.detect(view(fit_workload(period=MS, step=MS, found=found)))
    assert finding is not None
    assert finding.evidence["metrics_share"] == pytest.approx(0.25, abs=0.01)


def test_half_of_the_step() -> None:
    finding = RULE.detect(without_metrics(MS))
    assert finding is not None
    assert finding.gain.value == pytest.approx(2.0, rel=0.05)
    assert finding.cure.safety == "unsafe"
    assert finding.cure.edits == ()


def test_the_place_is_where_the_model_was_compiled_not_where_it_trains() -> None:
    unseen = RULE.detect(without_metrics(MS))
    assert unseen is not None
    assert unseen.where is None
    detail = EventDetail(file="/user/m.py", line=4, model=1)
    seen = RULE.detect(
        without_metrics(MS, events=(Event("compile_call", 1, MS, None, None, detail),))
    )
    assert seen is not None
    assert seen.where == Where("/user/m.py", 4)


def test_the_page_says_which_gain_counts() -> None:
    assert f"at least {100 * (WORTH_GAIN - 1):.3g} % faster" in " ".join(RULE.page.split())
