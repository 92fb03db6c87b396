from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.contract.evidence.pipeline import EarlyShuffle, OnePass
from fitdoctor.findings.edits import SwapCalls
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.pricing.first_batch import Shared, epoch_ns
from fitdoctor.rules.input.late_shuffle import RULE
from synthetic import MS, slow_pipeline, stage, view

STAGES = (
    stage("batch", 0),
    stage("shuffle", 1, buffer_size=3000),
    stage("map", 2),
    stage("range", 3, inputs=()),
)


def one_pass(first: float, ns: float, batches: int = 100) -> OnePass:
    return OnePass(first_ns=round(first), ns=round(ns), batches=batches)


def finding(late: OnePass, early: OnePass, **detail: Any) -> Finding | None:
    trial = EarlyShuffle(stage=1, as_written=late, changed=early)
    facts = {"steps_per_epoch": 100, **detail}
    return RULE.detect(view(slow_pipeline(*STAGES, found=[trial], detail=facts)))


def test_silent_without_a_trial() -> None:
    assert RULE.detect(view(slow_pipeline(*STAGES))) is None


def test_silent_when_the_first_batch_comes_as_soon() -> None:
    assert finding(one_pass(20 * MS, 300 * MS), one_pass(19 * MS, 300 * MS)) is None


def test_silent_when_one_stall_is_all_there_is() -> None:
    late, early = one_pass(2000 * MS, 2200 * MS), one_pass(20 * MS, 1000 * MS)
    assert finding(late, early, epochs=1) is None


def test_silent_when_moving_it_makes_the_pass_longer() -> None:
    assert finding(one_pass(100 * MS, 300 * MS), one_pass(20 * MS, 2000 * MS)) is None


def test_fires_on_the_stall_and_prices_the_epoch() -> None:
    # 2 s until full, then nothing but 2 ms steps; moved, 10 ms a batch.
    found = finding(one_pass(2000 * MS, 2050 * MS), one_pass(20 * MS, 1010 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(2200 / 1020, rel=0.05)
    assert found.where is not None
    assert found.where.line == 101
    assert "3000" in found.message
    assert found.cure.safety == "unsafe"


def test_an_epoch_is_its_first_batch_and_the_longer_of_batch_and_step() -> None:
    assert epoch_ns(one_pass(100, 1090, 100), 10, 5.0) == 200.0
    assert epoch_ns(one_pass(100, 1090, 100), 10, 50.0) == 600.0


def test_loading_and_training_share_the_cores() -> None:
    shared = Shared(loading=2.0, stepping=1.0, cpus=2)
    # Batches of 10 need both cores; a step of 8 one of them: 14 for the pair.
    assert epoch_ns(one_pass(100, 1090, 100), 10, 8.0, shared) == 100 + 10 * 14
    assert epoch_ns(one_pass(100, 1090, 100), 10, 50.0, shared) == 600.0


def test_the_map_is_moved_after_the_shuffle() -> None:
    found = finding(one_pass(2000 * MS, 2050 * MS), one_pass(20 * MS, 1010 * MS))
    assert found is not None
    assert found.cure.edits == (SwapCalls(Where("/user/data.py", 102), "map", "shuffle"),)


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "by at least 5 % of an epoch" in RULE.page
