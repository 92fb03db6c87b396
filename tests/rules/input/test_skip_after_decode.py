from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.contract.evidence.pipeline import (
    EarlySkip,
    OnePass,
    StageTime,
    ValidationStart,
)
from fitdoctor.contract.evidence.plans import InputPlan, InputPlans, TriedPlan
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.places import CodeLine
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.findings.edits import SwapCalls
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.skip_after_decode import RULE
from synthetic import MS, fit_workload, slow_pipeline, stage, timed, tried, view


def finding(
    first: int, early: int, *, validations: int = 10, each: int = 1000 * MS, **more: Any
) -> Finding | None:
    events = tuple(Event("validation", i, each, 0, None, EventDetail()) for i in range(validations))
    facts = {"pass_ns": 0, "early_pass_ns": 0, "skipped": 900, "file": "/user/data.py", "line": 7}
    measured = ValidationStart(first_ns=first, early_first_ns=early, **{**facts, **more})
    found = (timed(FrozenBatch, 9 * MS), measured)
    return RULE.detect(view(fit_workload(found=found, events=events)))


def fired(first: int, early: int, **more: Any) -> Finding:
    found = finding(first, early, **more)
    assert found is not None
    return found


def test_silent_without_the_probe() -> None:
    assert RULE.detect(view(fit_workload(found=[timed(FrozenBatch, 9 * MS)]))) is None


def test_silent_when_nothing_is_validated() -> None:
    assert finding(900 * MS, 10 * MS, validations=0) is None


def test_silent_when_the_split_costs_nothing() -> None:
    assert finding(10 * MS, 10 * MS) is None


def test_fires_on_the_wait_before_validation() -> None:
    found = fired(900 * MS, 20 * MS)
    # 200 steps of 10 ms and ten validations of 1 s, of which 0.88 s are wasted.
    assert found.gain.value == pytest.approx(12.0 / (12.0 - 8.8), rel=0.1)
    assert found.where == Where("/user/data.py", 7)
    assert "900" in found.message


def test_it_never_saves_more_than_validation_takes() -> None:
    assert fired(5000 * MS, 20 * MS).gain.value < 12.0 / 2.0 * 1.01


def test_the_maps_are_moved_after_the_skip_where_they_were_seen() -> None:
    assert fired(900 * MS, 20 * MS).cure.edits == ()
    assert fired(900 * MS, 20 * MS, maps=(None,)).cure.edits == ()
    maps = (CodeLine("/user/data.py", 6),)
    edits = fired(900 * MS, 20 * MS, maps=maps).cure.edits
    where = Where("/user/data.py", 6)
    assert edits == (SwapCalls(where, "map", "skip", Where("/user/data.py", 7)),)


def test_the_rest_of_a_validation_still_has_to_be_loaded() -> None:
    # The first batch alone took longer than a whole validation was seen to take.
    without = fired(1200 * MS, 50 * MS)
    found = fired(1200 * MS, 50 * MS, pass_ns=1300 * MS, early_pass_ns=260 * MS)
    # 2 s of steps and ten validations of 1 s, of which a fifth stays.
    assert found.gain.value == pytest.approx(12.0 / (2.0 + 10 * 0.2), rel=0.1)
    assert found.gain.value < without.gain.value


def test_what_is_left_lies_between_the_two_estimates() -> None:
    # Half of the ten seconds of validation by the wait alone; a tenth of a pass is left.
    found = fired(520 * MS, 20 * MS, pass_ns=550 * MS, early_pass_ns=55 * MS)
    by_wait, by_pass = 12.0 / (2.0 + 5.0), 12.0 / (2.0 + 1.0)
    assert by_wait < found.gain.value < by_pass
    assert found.gain.low <= by_wait < by_pass <= found.gain.high * 1.001


STAGES = (
    stage("batch", 0),
    stage("skip", 1, count=700),
    stage("map", 2),
    stage("range", 3, inputs=()),
)


def in_training(first: int, early: int, *, random: bool = False) -> Finding | None:
    def one_pass(first_ns: int) -> OnePass:
        return OnePass(first_ns=first_ns, ns=first_ns + 99 * MS, batches=100)

    trial = EarlySkip(
        stage=1,
        skipped=700,
        random=random,
        maps=(CodeLine("/user/data.py", 5),),
        as_written=one_pass(first),
        changed=one_pass(early),
    )
    workload = slow_pipeline(*STAGES, found=[trial], detail={"steps_per_epoch": 100})
    return RULE.detect(view(workload))


def test_silent_where_training_skips_for_nothing() -> None:
    assert in_training(20 * MS, 19 * MS) is None


def test_fires_on_what_training_skips_before_every_epoch() -> None:
    found = in_training(800 * MS, 20 * MS)
    assert found is not None
    # 100 steps of 2 ms after a first batch of 0.8 s, or of 20 ms.
    assert found.gain.value == pytest.approx(1000 / 220, rel=0.05)
    assert "700 skipped elements" in found.message
    assert (found.cure.safety, len(found.cure.edits)) == ("safe", 1)


def test_a_random_map_that_is_moved_gives_its_numbers_to_other_elements() -> None:
    found = in_training(800 * MS, 20 * MS, random=True)
    assert found is not None
    assert found.cure.safety == "unsafe"


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "by at least 5 % of an epoch" in RULE.page
    assert "off by 25 % at most" in RULE.page


class TestFilter:
    def pipeline(
        self,
        *,
        kept: float = 32.0,
        map_ns: int = 24 * MS,
        loader_ns: float = 30 * MS,
        found: tuple[object, ...] = (),
    ):
        """slices > map > filter > batch; the filter gets 320 elements for a batch."""
        stages = (
            stage("batch", 0, inputs=(1,)),
            stage("filter", 1, inputs=(2,), file="/user/data.py", line=9),
            stage("map", 2, inputs=(3,), file="/user/data.py", line=8),
            stage("from_tensor_slices", 3),
        )
        own = {0: MS, 1: MS, 2: map_ns, 3: MS}
        counts = {0: 1.0, 1: kept, 2: 320.0, 3: 320.0}
        rows = [
            StageTime(
                n=n,
                per_batch=counts[n],
                ns=30 * MS,
                cpu_ns=30 * MS,
                own_ns=own[n],
                own_cpu_ns=own[n],
            )
            for n in range(4)
        ]
        return view(slow_pipeline(*stages, rows=rows, loader_ns=loader_ns, found=found))

    def test_silent_where_the_filter_keeps_most(self) -> None:
        assert RULE.detect(self.pipeline(kept=300.0)) is None

    def test_silent_where_the_map_is_cheap(self) -> None:
        assert RULE.detect(self.pipeline(map_ns=MS // 5)) is None

    def test_silent_where_training_does_not_wait(self) -> None:
        assert RULE.detect(self.pipeline(loader_ns=1 * MS)) is None

    def test_fires_on_work_that_is_thrown_away(self) -> None:
        found = RULE.detect(self.pipeline())
        assert found is not None
        assert found.where == Where("/user/data.py", 9)
        # 24 of 27 ms are the map, 90 % of it for nothing: a fifth of the loader is left.
        assert found.gain.value == pytest.approx(1 / (1 - 0.9 * 24 / 27), rel=0.1)
        assert "drops 90 %" in found.message

    def test_advice_where_no_trial_moved_the_filter(self) -> None:
        as_written = InputPlans(rows=(plan_row((0, 1, 2)),))
        for found in ((), (as_written,)):
            finding = RULE.detect(self.pipeline(found=found))
            assert finding is not None
            assert (finding.cure.safety, finding.cure.edits) == ("advice", ())

    @pytest.mark.parametrize(("same", "safety"), [(True, "safe"), (False, "unsafe")])
    def test_an_edit_where_the_elements_came_out_the_same(self, same: bool, safety: str) -> None:
        early = InputPlans(rows=(plan_row((0, 2, 1), same=same),))
        finding = RULE.detect(self.pipeline(found=(early,)))
        assert finding is not None
        assert finding.cure.safety == safety
        places = Where("/user/data.py", 8), Where("/user/data.py", 9)
        assert finding.cure.edits == (SwapCalls(places[0], "map", "filter", places[1]),)
        assert finding.gain.value > 3


def plan_row(order: tuple[int, ...], *, same: bool = True) -> TriedPlan:
    return tried(TriedPlan, 10 * MS, 30 * MS, plan=InputPlan(order=order), same=same)
