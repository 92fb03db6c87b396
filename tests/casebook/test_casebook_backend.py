"""A script that leaves its backend open runs on the one that its case names."""

from __future__ import annotations

import pytest

from casebook import diagnose, measure
from casebook.case import load_case
from casebook.process import Finished


@pytest.fixture
def environments(monkeypatch):
    """The environments of the processes that would have been started."""
    seen = []

    def pretend(command, *, folder, env, timeout_s):
        assert (folder / "slow.py").is_file()
        seen.append(env)
        return Finished(1.0, 0, f"{measure.MARK}2.0\n", "", timed_out=False)

    monkeypatch.setattr(measure, "run_process", pretend)
    monkeypatch.setattr(diagnose, "run_process", pretend)
    return seen


def test_diagnosis(borrow, environments):
    diagnose.diagnose(load_case(borrow(backend="torch")))
    assert [env["KERAS_BACKEND"] for env in environments] == ["torch"]


def test_measured_gain(borrow, environments):
    measure.measure_gain(load_case(borrow(backend="torch")), 1)
    assert [env["KERAS_BACKEND"] for env in environments] == ["torch", "torch"]
