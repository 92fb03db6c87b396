from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.device import Device, FreshRun
from fitdoctor.contract.options import ForcedSettings
from fitdoctor.rules.environment.devices_not_scaling import RULE
from fitdoctor.trials.suspicion import suspected
from synthetic import MS, cpu_workload, recording, view


def split_over(devices: int, *found: object):
    return cpu_workload(Device(kind="cpu", replicas=devices), *found)


def on_one(as_is: float, changed: float):
    return "one_device", FreshRun(as_is=(as_is, as_is), changed=(changed, changed))


class TestFinding:
    def test_silent_without_a_trial(self) -> None:
        assert RULE.detect(view(split_over(4))) is None

    def test_silent_where_several_are_faster(self) -> None:
        assert RULE.detect(view(split_over(4, on_one(MS, 3 * MS)))) is None

    def test_silent_on_one_device(self) -> None:
        assert RULE.detect(view(split_over(1, on_one(10 * MS, 5 * MS)))) is None

    def test_the_measured_ratio(self) -> None:
        found = RULE.detect(view(split_over(4, on_one(10 * MS, 5 * MS))))
        assert found is not None
        assert found.gain.value == pytest.approx(2, rel=0.02)
        assert "on 4 devices" in found.message
        assert found.evidence == {"devices": 4, "several_ns": 10 * MS, "one_ns": 5 * MS}
        assert (found.cure.safety, found.cure.edits) == ("advice", ())

    def test_the_page_has_the_threshold(self) -> None:
        assert "10 % faster per step without it" in RULE.page


class TestTrial:
    def test_nothing_to_try_on_one_device(self) -> None:
        assert suspected(recording(cpu_workload())) == []

    def test_several_are_tried_against_one(self) -> None:
        (trial,) = suspected(recording(split_over(4)))
        assert trial.forced == ForcedSettings(replicas=1)
