"""The screen of `fitdoctor attach`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.attach.attached import Attached
from fitdoctor.attach.host_time import HostLine, HostTime, Shares
from fitdoctor.attach.machine_watch import DeviceUse, MachineUse
from fitdoctor.attach.stacks import Frame
from fitdoctor.intervals import Interval
from fitdoctor.report.attached_text import attached_text

LINE = HostLine("/w/train.py", 12, "load", True, 0.6, 0.1, None)
WORKER = replace(LINE, line=30, function="augment", on_main=False, running=1.5)
TORCH = Frame("next", "/v/lib/python3.11/site-packages/torch/utils/data.py", 9)
MACHINE = MachineUse(
    cores_used=1.9,
    cores=2,
    main_thread=0.9,
    children=4,
    memory_bytes=10**9,
    growth_per_s=None,
    memory_available=4 * 10**9,
    devices=(),
    devices_note="not available",
)
GPU = DeviceUse("H200", 0.31, 2 * 10**9, 140 * 10**9)


def screen(shares: Shares | None, machine: MachineUse = MACHINE) -> str:
    host = HostTime(500, shares, (LINE, WORKER) if shares else (), TORCH)
    return attached_text(Attached(7, ("python", "train.py"), "/w", 10.0, host, machine))


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        (None, "No Python stack was seen in the main thread."),
        (Shares(0.7, 0.1, 0, 0.2), "Your own Python takes 70 % of the main thread's time, most at"),
        (Shares(0.1, 0.1, 0, 0.8), "waits 80 % of its time, most in torch (torch/utils/data.py:9)"),
        (Shares(0.1, 0.1, 0.7, 0.1), "Native code takes 70 % of the main thread's time"),
        (Shares(0.1, 0.8, 0, 0.1), "Python code of libraries takes 80 %"),
        (Shares(0.3, 0.3, 0.2, 0.2), "No single thing takes most"),
    ],
)
def test_the_verdict(shares: Shares | None, verdict: str) -> None:
    assert verdict in screen(shares).splitlines()[2]


def test_lines_of_both_kinds_of_thread() -> None:
    text = screen(Shares(0.7, 0.1, 0, 0.2))
    assert "train.py:12 load" in text
    assert "train.py:30 augment" in text
    assert "150 %" in text  # one and a half threads at once
    assert "CPU: 1.9 of 2 cores, 4 child processes included" in text
    assert "1.00 GB, no growth seen" in text


def test_gpu_and_growth() -> None:
    growing = Interval(20e6, 18e6, 22e6)
    text = screen(None, replace(MACHINE, growth_per_s=growing, devices=(GPU,)))
    assert "GPU 0: 31 % busy, 2.00 GB of 140 GB used" in text
    assert "grows by 20.0 MB per second (18.0 MB–22.0 MB)" in text
    assert "full in 200 s" in text


def test_nothing_of_the_process_steers_the_terminal() -> None:
    host = HostTime(1, Shares(1, 0, 0, 0), (replace(LINE, function="\x1b[31mx"),), None)
    text = attached_text(Attached(7, ("python", "a\x1b]0;t\x07.py"), None, 1.0, host, MACHINE))
    assert "\x1b" not in text
