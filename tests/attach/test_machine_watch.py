"""Cores, memory and GPU in a few numbers."""

from __future__ import annotations

import os
from collections.abc import Callable

from fitdoctor.attach.machine_watch import machine_use, memory_growth
from fitdoctor.contract.records import Accelerator, DeviceSample, Sample

MB = 1_000_000
QUARTER_NS = 250_000_000


def samples(memory: Callable[[int], int], count: int = 40) -> list[Sample]:
    return [
        Sample(
            t=index * QUARTER_NS,
            cpu_ns=(index + 1) * 2 * QUARTER_NS,
            rss=memory(index),
            threads=((os.getpid(), "main", index * QUARTER_NS // 2),),
            gpu=(DeviceSample(util=40.0, mem=2 * MB),),
        )
        for index in range(count)
    ]


def test_steady_memory_does_not_grow() -> None:
    assert memory_growth(samples(lambda index: 500 * MB + (index % 3) * 20 * MB)) is None


def test_one_jump_is_no_growth() -> None:
    assert memory_growth(samples(lambda index: 900 * MB if index > 30 else 500 * MB)) is None


def test_a_few_samples_have_no_slope() -> None:
    assert memory_growth(samples(lambda index: index * 100 * MB, count=5)) is None


def test_growth_has_an_interval() -> None:
    growth = memory_growth(samples(lambda index: 500 * MB + index * 5 * MB + index % 2 * MB))
    assert growth is not None
    assert growth.low <= 20 * MB <= growth.high
    assert growth.high < 22 * MB


def test_cores_and_devices() -> None:
    used = machine_use(os.getpid(), samples(lambda _: MB), [Accelerator(name="G")], None)
    assert used.cores_used == 2.0
    assert used.main_thread == 0.5
    assert used.devices[0].util == 0.4
    assert used.devices[0].memory_used == 2 * MB


def test_what_was_not_seen_is_not_zero() -> None:
    used = machine_use(os.getpid(), [], [Accelerator(name="G")], "not available")
    assert (used.cores_used, used.memory_bytes, used.main_thread) == (None, None, None)
    assert used.devices[0].util is None
