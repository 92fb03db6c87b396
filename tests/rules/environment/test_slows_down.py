from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.diagnosis.one_cause import one_cause_each
from fitdoctor.rules import all_rules
from fitdoctor.rules.environment.slows_down import RULE
from synthetic import MS, call_group, fit_workload, view


def growing(factor: float, *, jump: bool = False, steps: int = 600):
    """Steps whose time grows evenly, or jumps once, to `factor` times the first."""
    workload = fit_workload(steps=steps)
    block = workload.blocks[0]
    times, each, t = [], [], 10**9
    for i in range(steps):
        share = (i >= steps // 2) if jump else i / (steps - 1)
        step = round(10 * MS * (1 + (factor - 1) * share))
        times.append(t)
        each.append(step)
        t += step
    return view(replace(workload, blocks=(replace(block, t=tuple(times), step=tuple(each)),)))


class TestFinding:
    def test_silent_on_equal_steps(self) -> None:
        assert RULE.detect(growing(1.0)) is None

    def test_silent_on_a_slight_drift(self) -> None:
        assert RULE.detect(growing(1.2)) is None

    def test_silent_on_one_jump(self) -> None:
        assert RULE.detect(growing(3.0, jump=True)) is None

    def test_silent_on_a_short_run(self) -> None:
        assert RULE.detect(growing(3.0, steps=200)) is None

    def test_silent_where_other_processes_used_the_cpu(self) -> None:
        grown = growing(3.0).recorded
        disturbed = replace(grown.blocks[0], others_cores=0.5)
        assert RULE.detect(view(replace(grown, blocks=(disturbed,)))) is None

    def test_steady_growth(self) -> None:
        found = RULE.detect(growing(3.0))
        assert found is not None
        # The mean is twice the beginning; the first third's median is 4/3 of it.
        assert found.gain.value == pytest.approx(2 / (4 / 3), rel=0.05)
        assert found.evidence["in_callbacks"] is False
        assert found.cure.safety == "advice"

    def test_calls_that_take_longer_and_longer(self) -> None:
        group = call_group(calls=120)
        calls = tuple(
            replace(call, dur=round(40 * MS * (1 + i / 60))) for i, call in enumerate(group.calls)
        )
        found = RULE.detect(view(replace(group, calls=calls)))
        assert found is not None
        assert found.evidence["in_callbacks"] is False

    def test_the_page_has_the_thresholds(self) -> None:
        page = " ".join(RULE.page.split())
        assert "at least 60 recorded steps" in page
        assert "5 s or more in total" in page
        assert "at least 25 % longer" in page


class TestExplained:
    @pytest.mark.parametrize("code", ["CO001", "CO002"])
    def test_by_compiling_again_and_again(self, code: str) -> None:
        found = RULE.detect(growing(3.0))
        assert found is not None
        compiling = replace(found, rule=code)
        assert one_cause_each((found, compiling), all_rules()) == (compiling,)

    def test_by_a_callback_whose_work_grows(self) -> None:
        grown = growing(3.0)
        block = grown.recorded.blocks[0]
        inside = replace(block, callbacks=tuple(ns - 9 * MS for ns in block.step))
        found = RULE.detect(view(replace(grown.recorded, blocks=(inside,))))
        assert found is not None
        assert found.evidence["in_callbacks"] is True
        callback = replace(found, rule="CB001")
        assert one_cause_each((callback, found), all_rules()) == (callback,)
        assert one_cause_each((found,), all_rules()) == (found,)

    def test_not_by_a_callback_that_does_not_grow(self) -> None:
        found = RULE.detect(growing(3.0))
        assert found is not None
        callback = replace(found, rule="CB001")
        assert found in one_cause_each((callback, found), all_rules())
