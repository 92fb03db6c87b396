from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from fitdoctor.analysis.start_up import StartUp
from fitdoctor.contract.evidence.device import DeviceFacts
from fitdoctor.contract.records import Accelerator, Machine
from fitdoctor.devices.crossover import break_even_steps, crossover
from fitdoctor.devices.judgement import DeviceRun, judge
from fitdoctor.devices.runs import choices
from fitdoctor.intervals import Interval
from fitdoctor.report.device_comparison import devices_text

MS = 1_000_000
SIZES = (8, 32, 128, 512)


def sweep(*ms: float) -> dict[int, Interval]:
    return {size: Interval.around(value * MS, 0.05) for size, value in zip(SIZES, ms, strict=True)}


def run(name: str, *ms: float, start_s: float = 5, real: float | None = None, steps: int = 1000):
    start = StartUp(round(start_s * 1e9), {}, 0, 0, 0)
    return DeviceRun(
        name=name,
        device=DeviceFacts(kind=name, name=name.upper()),
        rows=32,
        steps=sweep(*ms),
        real_step_ns=None if real is None else real * MS,
        transfer_ns=50_000,
        batch_bytes=4096,
        start=start,
        planned_steps=steps,
        ended=None,
    )


def test_nothing_in_common_has_no_crossover() -> None:
    assert crossover({8: Interval.exact(1.0)}, {16: Interval.exact(1.0)}) is None


def test_one_device_may_win_everywhere() -> None:
    found = crossover(sweep(1, 1, 1, 1), sweep(2, 2, 2, 2))
    assert found is not None
    assert (found.always, found.size) == ("cpu", None)


def test_the_crossing_lies_between_its_neighbours() -> None:
    found = crossover(sweep(1, 1, 4, 16), sweep(2, 2, 2, 2))
    assert found is not None
    assert found.size == pytest.approx(64, rel=0.01)  # halfway between 32 and 128 on a log scale
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.size < found.high


@given(st.floats(0.01, 10), st.floats(0.0001, 0.1), st.floats(0.01, 10), st.floats(0.00001, 0.01))
def test_the_crossing_is_where_two_lines_meet(a: float, b: float, c: float, d: float) -> None:
    sizes = [2**k for k in range(16)]
    cpu = {n: Interval.exact(a + b * n) for n in sizes}
    gpu = {n: Interval.exact(c + d * n) for n in sizes}
    found = crossover(cpu, gpu)
    assert found is not None
    if found.size is not None and b > d:
        meeting = (c - a) / (b - d)
        assert meeting / 2.01 <= found.size <= meeting * 2.01


def test_a_faster_gpu_pays_its_start_back() -> None:
    assert break_even_steps(5.0, 8.0, 0.003, 0.001) == pytest.approx(1500)
    assert break_even_steps(5.0, 4.0, 0.003, 0.001) == 0
    assert break_even_steps(5.0, 8.0, 0.001, 0.003) is None


def test_one_device_is_judged_without_a_claim() -> None:
    found = judge({"cpu": run("cpu", 1, 2, 4, 8)}, ("gpu: none is in this machine",))
    assert found.ratio is None
    text = devices_text(found)
    assert "Only the CPU could be measured." in text
    assert "not measured: gpu: none is in this machine" in text


def test_what_is_outside_the_step_counts() -> None:
    # On a frozen batch the GPU is twice as fast; with data and copies it is slower.
    cpu, gpu = run("cpu", 1, 1, 2, 4, real=1.2), run("gpu", 0.5, 0.5, 0.5, 0.5, real=2.0)
    found = judge({"cpu": cpu, "gpu": gpu}, ())
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.2 / 2.0)
    assert found.better == "cpu"
    assert "Stay on the CPU: at batch 32 the GPU is 1.7x slower" in devices_text(found)


def test_a_short_run_does_not_pay_the_start_back() -> None:
    cpu = run("cpu", 2, 2, 2, 2, real=2.0, steps=1000)
    gpu = run("gpu", 1, 1, 1, 1, real=1.0, start_s=8.2, steps=1000)
    found = judge({"cpu": cpu, "gpu": gpu}, ())
    assert found.break_even == pytest.approx(3200)
    assert found.better == "cpu"
    assert "pays off after 3,200 steps; your run has 1,000" in devices_text(found)
    assert "(102,400 and 32,000 rows)" in devices_text(found)
    assert found.to_json()["break_even_rows"] == pytest.approx(102_400)


def test_a_long_run_does() -> None:
    cpu = run("cpu", 2, 2, 2, 2, real=2.0, steps=100_000)
    gpu = run("gpu", 1, 1, 1, 1, real=1.0, start_s=8.2, steps=100_000)
    assert judge({"cpu": cpu, "gpu": gpu}, ()).better == "gpu"


def test_only_the_cpu_is_tried_without_an_accelerator() -> None:
    assert list(choices(Machine())) == ["cpu"]
    assert list(choices(Machine(accelerators=(Accelerator(),)))) == ["cpu", "gpu"]


def test_one_of_two_devices_that_could_be_measured_is_not_the_better_one() -> None:
    only = {"gpu": run("gpu", 1, 1, 1, 1)}
    assert judge(only, ("cpu: the script failed there",), tried=2).better is None
    assert judge({"cpu": run("cpu", 1, 1, 1, 1)}, ("gpu: none",), tried=1).better == "cpu"
