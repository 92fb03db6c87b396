"""What is said of GPUs before times on them are trusted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fitdoctor.analysis.device_health import device_health
from fitdoctor.contract.codec import decode
from fitdoctor.contract.records import Accelerator, Sample
from synthetic import fit_workload, recording


def health(device: dict[str, Any], *gpu_samples: dict[str, Any]) -> list[tuple[str, str]]:
    made = recording(fit_workload())
    samples = tuple(
        decode(Sample, {"t": i, "gpu": [sample]}) for i, sample in enumerate(gpu_samples)
    )
    machine = replace(made.machine, accelerators=(decode(Accelerator, device),))
    return device_health(replace(made, machine=machine, samples=samples))


def test_nothing_is_said_without_a_gpu() -> None:
    assert device_health(recording(fit_workload())) == []


def test_nothing_is_said_of_what_was_not_told() -> None:
    unknown = {"util": None, "held": None}
    assert health({"name": "H200", "processes": None}, unknown) == []


def test_nothing_is_said_of_a_device_at_rest() -> None:
    assert health({"processes": []}, *[{"util": 0, "held": ["heat"]}] * 20) == []


def test_nothing_is_said_of_a_moment() -> None:
    samples = [{"util": 90, "held": ["heat"]}] + [{"util": 90, "held": []}] * 20
    assert health({"processes": []}, *samples) == []


def test_heat_is_a_warning_and_a_power_limit_is_not() -> None:
    hot = {"util": 90, "held": ["heat", "power limit"]}
    found = health({}, hot, hot, hot, {"util": 90, "held": []})
    assert {(level, "heat" in text) for level, text in found} == {
        ("warning", True),
        ("info", False),
    }
    assert all("75 %" in text for _, text in found)


def test_others_are_named() -> None:
    others = [
        {"pid": 12, "name": "python", "memory_bytes": 3 * 2**30},
        {"pid": 13, "name": None, "memory_bytes": None},
    ]
    ((level, text),) = health({"processes": others})
    assert level == "warning"
    assert "GPU 0" in text
    assert "python (process 12, 3.0 GiB)" in text
    assert "(process 13)" in text
