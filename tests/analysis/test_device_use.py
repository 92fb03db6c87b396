from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.analysis.device_use import DeviceUse, device_use
from fitdoctor.analysis.leaves import DEVICE_WAITS, UNKNOWN_KERNELS, leaves_of
from fitdoctor.contract.evidence.device import DeviceTime
from fitdoctor.contract.evidence.model import MachineCeiling, ModelWork
from fitdoctor.contract.evidence.operations import TO_DEVICE, Operations, OperationTime
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.report.step_time import device_sentence
from synthetic import MS, fit_workload, timed, view

STEP = 10 * MS
CEILING = MachineCeiling(
    flops_per_s=4e14, bytes_per_s=4e12, by_dtype={"float32": 4e14, "bfloat16": 8e14}
)


def kernels(count: float, each_ns: float, **more: Any) -> OperationTime:
    return OperationTime(op="gemm", ns=count * each_ns, count=count, **more)


def profile(*rows: OperationTime) -> Operations:
    busy = sum(row.ns for row in rows)
    count = sum(row.count for row in rows)
    return Operations(10, STEP, STEP - busy, count, rows=rows, on_device=True)


def workload(*rows: OperationTime, copies: float = 0.0, more: tuple[object, ...] = ()) -> Any:
    seen = profile(*rows)
    time = DeviceTime(seen.busy_ns, seen.busy_ns - copies, copies, seen.count)
    found = [timed(FrozenBatch, STEP), time, seen, *more]
    return fit_workload(period=STEP, step=STEP, found=found)


def use(*rows: OperationTime, **more: Any) -> DeviceUse:
    found = device_use(workload(*rows, **more), STEP)
    assert found is not None
    return found


def test_nothing_is_said_where_nothing_was_measured() -> None:
    assert device_use(fit_workload(), STEP) is None


def test_large_kernels_without_a_known_rate_are_bound_by_nothing_known() -> None:
    found = use(kernels(90, 100_000))
    assert found.bound is None
    assert found.utilisation is None
    assert found.starting_ns == pytest.approx(MS, rel=0.05)


def test_a_gpu_busy_with_kernels_of_a_microsecond_is_launch_bound() -> None:
    found = use(kernels(6500, 1_300))
    assert found.busy_share == pytest.approx(0.845)
    assert found.bound == "launch"
    assert found.short_kernels == 6500


def test_a_gpu_that_waits_between_kernels_is_launch_bound() -> None:
    assert use(kernels(100, 20_000)).bound == "launch"


def test_a_gpu_that_waits_for_data_is_not() -> None:
    """The frozen step has no gaps: the wait is the input's."""
    found = device_use(workload(kernels(90, 100_000)), 3 * STEP)
    assert found is not None
    assert found.bound == "host"


def test_copies() -> None:
    row = OperationTime(op=TO_DEVICE, ns=4 * MS, count=1)
    assert use(row, kernels(50, 100_000), copies=4 * MS).bound == "copy"


@pytest.mark.parametrize(("bytes_moved", "bound"), [(1e9, "compute"), (1e11, "memory")])
def test_the_roofline_says_what_binds(bytes_moved: float, bound: str) -> None:
    work = ModelWork(flops=1e12, bytes=bytes_moved, dtype="bfloat16")
    found = use(kernels(90, 100_000), more=(work, CEILING))
    assert found.bound == bound
    # Three passes of 1 TFLOP in 10 ms, of 800 TFLOP/s.
    assert found.utilisation == pytest.approx(3e12 / 0.01 / 8e14, rel=0.01)
    assert "MFU 38 % of 800 TFLOP/s of bfloat16 measured here" in device_sentence(found)


def test_no_rate_for_numbers_that_were_not_measured() -> None:
    work = ModelWork(flops=1e12, bytes=1e9, dtype="float64")
    assert use(kernels(90, 100_000), more=(work, CEILING)).utilisation is None


def test_the_account_of_a_gpu_sums_to_the_step() -> None:
    copy = OperationTime(op=TO_DEVICE, ns=MS, count=1)
    unknown = OperationTime(op="kernel nvjet", ns=2 * MS, count=4)
    rows = [kernels(10, 300_000, layer="dense", within="dense"), unknown, copy]
    leaves = leaves_of(view(workload(*rows)), {"step": STEP})
    by_name = {leaf.what: leaf.ns for leaf in leaves}
    assert sum(by_name.values()) == pytest.approx(STEP)
    assert by_name["dense"] == pytest.approx(3 * MS, rel=0.02)
    assert by_name[TO_DEVICE] == pytest.approx(MS, rel=0.02)
    assert by_name[UNKNOWN_KERNELS] == pytest.approx(2 * MS, rel=0.02)
    assert by_name[DEVICE_WAITS] == pytest.approx(4 * MS, rel=0.02)
