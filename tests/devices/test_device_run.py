"""What one recording says of its device."""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.contract.evidence.device import DeviceFacts, DeviceSweep
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.records import ProbeRun
from fitdoctor.devices.judgement import device_run, judge
from fitdoctor.report.device_comparison import devices_text
from synthetic import MS, fit_workload, recording, timed

FACTS = DeviceFacts(kind="gpu", name="H200", count=1, memory_bytes=2**37, peak_bytes=2**33)


def sweep(**sizes: float) -> DeviceSweep:
    times = {size.removeprefix("of_"): timed(Timed, ns) for size, ns in sizes.items()}
    return DeviceSweep(rows=32, device=FACTS, transfer_ns=MS, batch_bytes=4096, sizes=times)


def test_a_recording_without_a_sweep_gives_the_reason() -> None:
    nothing = recording(fit_workload())
    assert "did not come to a fit" in str(device_run("gpu", nothing))
    failed = {"device_sweep": ProbeRun("device_sweep", "failed", "out of memory")}
    assert device_run("gpu", recording(replace(fit_workload(), probes=failed))) == "out of memory"


def test_a_sweep_without_any_size_can_be_shown() -> None:
    run = device_run("gpu", recording(fit_workload(found=[sweep()])))
    assert not isinstance(run, str)
    assert run.steps == {}
    assert "Only the GPU could be measured." in devices_text(judge({"gpu": run}, ()))


def test_the_sweep_of_the_longest_fit_counts() -> None:
    short = fit_workload(steps=20, found=[sweep(of_32=9.0 * MS)])
    long = fit_workload(steps=200, found=[sweep(of_32=1.0 * MS, of_64=2.0 * MS)])
    run = device_run("gpu", recording(short, long))
    assert not isinstance(run, str)
    assert sorted(run.steps) == [32, 64] and round(run.steps[32].value) == MS
    assert run.device is FACTS
    written = run.to_json()
    assert written["device"]["name"] == "H200" and written["device"]["memory_retries"] is None
    assert "H200: 8.0 of 128 GiB used at most, up to batch 64." in devices_text(
        judge({"gpu": run}, ())
    )
