from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.step import FrozenBatch, PartOfBatch
from fitdoctor.rules.environment.memory_pressure import RULE
from synthetic import MS, fit_workload, timed, view


class TestHost:
    def pressed(self, share: float | None, rate: float, slow: int, *, since: int = 100):
        """200 steps, of which those from `since` on met so many faults per second."""
        workload = fit_workload(steps=200)
        block = workload.blocks[0]
        times, t = [], 10**9
        for i in range(200):
            times.append(t)
            t += slow if i >= since else 10 * MS
        made = view(replace(workload, blocks=(replace(block, t=tuple(times)),)))
        return replace(made, faulting=((times[since], t, rate),), memory_share=share)

    def test_silent_with_free_memory(self) -> None:
        assert RULE.detect(self.pressed(0.4, 500, 30 * MS)) is None

    def test_silent_where_the_memory_is_not_known(self) -> None:
        assert RULE.detect(self.pressed(None, 500, 30 * MS)) is None

    def test_silent_without_faults(self) -> None:
        assert RULE.detect(self.pressed(0.95, 1, 30 * MS)) is None

    def test_silent_where_faults_cost_nothing(self) -> None:
        assert RULE.detect(self.pressed(0.95, 500, 10 * MS)) is None

    def test_silent_on_a_few_slow_steps(self) -> None:
        assert RULE.detect(self.pressed(0.95, 500, 30 * MS, since=198)) is None

    def test_steps_under_faults_are_slower(self) -> None:
        found = RULE.detect(self.pressed(0.95, 500, 30 * MS))
        assert found is not None
        assert found.gain.value == pytest.approx(2, rel=0.1)
        assert found.evidence["memory_share"] == 0.95
        assert "memory is 95 % full" in found.message


class TestDevice:
    def short_of_room(self, retries: int | None, quarter: float):
        found = [
            timed(FrozenBatch, 40 * MS),
            Device(kind="gpu", memory_retries=retries, steps=100),
            timed(PartOfBatch, quarter, rows=64, of_rows=256),
        ]
        return view(fit_workload(period=40 * MS, step=40 * MS, found=found), backend="torch")

    def test_silent_without_a_search_for_room(self) -> None:
        assert RULE.detect(self.short_of_room(None, 5 * MS)) is None
        assert RULE.detect(self.short_of_room(0, 5 * MS)) is None

    def test_silent_where_room_was_sought_at_the_start_only(self) -> None:
        assert RULE.detect(self.short_of_room(3, 5 * MS)) is None

    def test_silent_where_smaller_steps_are_no_faster(self) -> None:
        assert RULE.detect(self.short_of_room(90, 10 * MS)) is None
        assert RULE.detect(self.short_of_room(90, 14 * MS)) is None

    def test_smaller_steps_do_the_same_work_sooner(self) -> None:
        found = RULE.detect(self.short_of_room(90, 5 * MS))
        assert found is not None
        assert found.gain.value == pytest.approx(2.0, rel=0.05)
        assert "64 rows instead of 256" in found.message
        assert found.evidence["memory_retries"] == 90
        assert found.cure.safety == "advice"


def test_the_page_has_the_thresholds() -> None:
    page = " ".join(RULE.page.split())
    assert "at least 20 major page faults (pages read from disk) per second" in page
    assert "above 85 % of the process's limit" in page
    assert "in at least 5 % of the steps" in page
    assert "at least 15 % longer" in page
