from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.contract.evidence.step import Threads
from fitdoctor.diagnosis import diagnose
from fitdoctor.rules.environment.slower_backend import RULE
from synthetic import MS, fit_workload, recording, view


def on(backend: str, changed: float):
    return backend, FreshRun(as_is=(10 * MS, 10 * MS), changed=(changed, changed))


def test_silent_without_a_trial() -> None:
    assert RULE.detect(view(fit_workload())) is None


@pytest.mark.parametrize("changed", [9, 8.5, 12])
def test_silent_where_the_other_is_not_clearly_faster(changed: float) -> None:
    assert RULE.detect(view(fit_workload(found=[on("jax", changed * MS)]))) is None


def test_the_measured_ratio() -> None:
    found = RULE.detect(view(fit_workload(found=[on("jax", 4 * MS)])))
    assert found is not None
    assert found.gain.value == pytest.approx(2.5, rel=0.02)
    assert found.cure.summary == "KERAS_BACKEND=jax"
    assert found.evidence == {"backend": "jax", "step_ns": 4 * MS}


def test_the_best_of_several() -> None:
    found = RULE.detect(view(fit_workload(found=[on("jax", 4 * MS), on("torch", 2 * MS)])))
    assert found is not None
    assert found.evidence["backend"] == "torch"


def test_it_is_the_last_resort() -> None:
    threads = FreshRun(as_is=(10 * MS,) * 2, changed=(5 * MS,) * 2)
    found = [
        on("jax", 4 * MS),
        Threads(asked=32, allowed=1, backend="tensorflow"),
        ("threads", threads),
    ]
    findings = diagnose(recording(fit_workload(found=found))).workloads[0].findings
    assert [finding.rule for finding in findings] == ["EN002"]


def test_the_page_has_the_threshold() -> None:
    assert "at least 25 % faster" in RULE.page
