from __future__ import annotations

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.operations import TO_DEVICE, Operations, OperationTime
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.rules.environment.transfer_bound import RULE
from synthetic import MS, gpu_workload, timed, view


def with_device(**facts: object):
    return view(gpu_workload(Device(**{"kind": "gpu", **facts})))


def test_silent_on_a_cpu() -> None:
    assert RULE.detect(with_device(kind="cpu")) is None


def test_silent_where_no_copy_was_timed() -> None:
    assert RULE.detect(with_device()) is None


def test_silent_where_the_copy_does_not_explain_it() -> None:
    assert RULE.detect(with_device(transfer_ns=MS // 20, quarter_transfer_ns=MS // 80)) is None


def test_silent_where_it_is_the_start_of_a_copy_that_takes_the_time() -> None:
    facts = {"transfer_ns": MS, "quarter_transfer_ns": round(0.9 * MS)}
    assert RULE.detect(with_device(**facts)) is None


def test_silent_where_a_quarter_was_not_copied() -> None:
    assert RULE.detect(with_device(transfer_ns=MS)) is None


def test_silent_on_loaders_which_have_rules_of_their_own() -> None:
    assert RULE.detect(view(gpu_workload(InputFacts(kind="PyDataset")))) is None


def test_a_quarter_of_the_bytes() -> None:
    found = RULE.detect(view(gpu_workload()))
    assert found is not None
    # 1.5 ms of 2 ms are lost to picking and copying; a quarter of that is left.
    assert found.gain.value == pytest.approx(2 / (2 - 0.75 * 1.5), rel=0.05)
    assert found.gain.low < 1.5
    assert found.gain.high == pytest.approx(4, rel=0.05)
    assert found.evidence["transfer_ns"] == MS
    assert (found.cure.safety, found.cure.edits) == ("advice", ())


def profiled(copied: float) -> Operations:
    """Of a frozen step of 0.5 ms, so much is the copy of its batch."""
    rows = (
        OperationTime(op=TO_DEVICE, ns=copied, count=2),
        OperationTime(op="gemm", ns=MS / 2 - copied, count=1),
    )
    return Operations(10, MS / 2, 0.0, 3, rows=rows, on_device=True)


def copying_step(copied: float) -> View:
    """A step that takes as long as a frozen one, and copies its own batch (TensorFlow)."""
    base = gpu_workload(profiled(copied), timed(FrozenBatch, 2 * MS))
    return view(base)


def test_silent_on_a_step_that_copies_little() -> None:
    assert RULE.detect(copying_step(0.02 * MS)) is None


def test_a_step_that_copies_its_own_batch_saves_it_there() -> None:
    found = RULE.detect(copying_step(0.45 * MS))
    assert found is not None
    assert found.saves["step"].value == pytest.approx(0.75 * 0.45 * MS, rel=0.1)


def test_the_page_has_the_thresholds() -> None:
    assert "explains at least 33 % of" in RULE.page
    assert "in less than 60 % of the time" in RULE.page
    assert "at least 15 %" in RULE.page
