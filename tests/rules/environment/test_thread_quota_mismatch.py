from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.contract.evidence.step import Threads
from fitdoctor.rules.environment.thread_quota_mismatch import RULE
from synthetic import MS, fit_workload, view


def tried(
    as_is: tuple[float, ...],
    changed: tuple[float, ...],
    *,
    allowed: int = 1,
    backend: str = "tensorflow",
):
    found = [
        Threads(asked=32, allowed=allowed, backend=backend),
        ("threads", FreshRun(as_is=as_is, changed=changed, forced={"threads": allowed})),
    ]
    return view(fit_workload(found=found), backend=backend)


def test_silent_without_a_trial() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_where_the_trial_shows_nothing() -> None:
    assert RULE.detect(tried((10 * MS, 10 * MS), (9.8 * MS, 9.9 * MS))) is None


def test_silent_where_the_runs_disagree() -> None:
    assert RULE.detect(tried((10 * MS, 14 * MS), (10.5 * MS, 9 * MS))) is None


def test_the_measured_ratio() -> None:
    found = RULE.detect(tried((20 * MS, 19 * MS), (10 * MS, 10 * MS)))
    assert found is not None
    assert found.gain.value == pytest.approx(1.95, rel=0.02)
    assert "32 threads compute on 1 allowed core;" in found.message
    assert found.evidence == {"asked": 32, "allowed": 1}
    (edit,) = found.cure.edits
    assert "TF_NUM_INTRAOP_THREADS" in edit.names


def test_several_cores_are_cores() -> None:
    found = RULE.detect(tried((20 * MS,), (10 * MS,), allowed=2))
    assert found is not None
    assert "on 2 allowed cores;" in found.message


@pytest.mark.parametrize(("backend", "setting"), [("torch", "set_num_threads"), ("jax", None)])
def test_the_setting_of_the_backend_goes(backend: str, setting: str | None) -> None:
    found = RULE.detect(tried((20 * MS,), (10 * MS,), backend=backend))
    assert found is not None
    assert [setting in edit.names for edit in found.cure.edits] == ([True] if setting else [])


def test_the_page_has_the_threshold() -> None:
    assert "at least 10 % faster per step" in RULE.page
