from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import CallbackTotal
from fitdoctor.findings.edits import SkipBatches
from fitdoctor.findings.place import Where
from fitdoctor.rules.callbacks.per_batch_callback import EVERY, RULE
from synthetic import MS, call_group, fit_workload, timed, view


def with_callback(
    name: str,
    per_step: int,
    *,
    on_thread: int | None = None,
    hook: str = "batch",
    file: str | None = "/user/cb.py",
):
    total = CallbackTotal(name, hook, 200, per_step * 200, file, 14)
    spent = per_step if on_thread is None else on_thread
    return view(
        fit_workload(period=10 * MS, step=4 * MS, callbacks=spent, callback_totals=(total,))
    )


def test_silent_without_callbacks() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_on_epoch_hooks() -> None:
    assert RULE.detect(with_callback("Monitor", 6 * MS, hook="epoch")) is None


@pytest.mark.parametrize("name", ["ProgbarLogger", "ModelCheckpoint", "History"])
def test_silent_on_keras_own_callbacks_which_are_other_rules_matter(name: str) -> None:
    assert RULE.detect(with_callback(name, 6 * MS)) is None


def test_silent_on_a_group_of_calls() -> None:
    total = CallbackTotal("Monitor", "batch", 200, 6 * MS * 200, "/user/cb.py", 14)
    assert RULE.detect(view(replace(call_group(kind="fit"), callbacks=(total,)))) is None


def test_time_on_another_thread_is_not_the_steps() -> None:
    # Dispatched asynchronously: the training thread spent next to nothing.
    finding = RULE.detect(with_callback("Reader", 6 * MS, on_thread=1000))
    assert finding is None or finding.gain.value < 1.01


def test_fires_with_the_callbacks_name_and_place() -> None:
    finding = RULE.detect(with_callback("Monitor", 6 * MS))
    assert finding is not None
    assert finding.where == Where("/user/cb.py", 14)
    assert "Monitor" in finding.message
    assert finding.gain.value == pytest.approx(10 / (10 - 6 * 49 / 50), rel=0.01)
    assert finding.cure.safety == "unsafe"
    assert finding.cure.edits == (SkipBatches(Where("/user/cb.py", 14), 50),)


def test_a_callback_whose_source_was_not_seen_has_no_place() -> None:
    finding = RULE.detect(with_callback("Monitor", 6 * MS, file=None))
    assert finding is not None
    assert finding.where is None
    assert finding.cure.edits == ()


def test_a_callback_that_is_nearly_all_leaves_between_the_frozen_step_and_the_rest() -> None:
    # 10 ms: 9 of callback, 1 beside it; alone a step takes 0.2 ms.
    total = CallbackTotal("Monitor", "batch", 200, 9 * MS * 200, "/user/cb.py", 14)
    finding = RULE.detect(
        view(
            fit_workload(
                period=10 * MS,
                step=MS,
                callbacks=9 * MS,
                callback_totals=(total,),
                found=[timed(FrozenBatch, 0.2 * MS)],
            )
        )
    )
    assert finding is not None
    assert finding.gain.value == pytest.approx(10 / (0.6 + 9 / 50), rel=0.02)
    assert finding.gain.low < 10 / (1.0 + 9 / 50)
    assert finding.gain.high > 10 / (0.2 + 9 / 50)


def test_a_callback_that_works_now_and_then_keeps_more_of_its_work() -> None:
    # At every tenth batch 50 ms, 5 ms a step; of 100 batches in an epoch one is left.
    total = CallbackTotal("Monitor", "batch", 200, 5 * MS * 200, "/user/cb.py", 14)
    workload = fit_workload(
        period=10 * MS,
        step=4 * MS,
        callbacks=5 * MS,
        callback_totals=(total,),
        detail={"steps_per_epoch": 100},
    )
    rare = tuple(50 * MS if n % 10 == 9 else 0 for n in range(200))
    blocks = (replace(workload.blocks[0], callbacks=rare),)
    finding = RULE.detect(view(replace(workload, blocks=blocks)))
    assert finding is not None
    assert "every 10th batch" in finding.message
    assert "less often" in finding.cure.summary
    # It would no longer meet its own condition.
    assert finding.cure.edits == ()
    assert finding.gain.value == pytest.approx(10 / (10 - 5 * 9 / 10), rel=0.05)


def test_a_writer_that_frequent_checkpoint_knows_is_its_finding() -> None:
    finding = RULE.detect(with_callback("TensorBoard", 6 * MS))
    assert finding is not None
    same = replace(finding, rule="CB003")
    other = replace(same, evidence={"callback": "ModelCheckpoint"})
    assert RULE.is_explained(finding, [same], kept=[])
    assert not RULE.is_explained(finding, [other], kept=[])
    assert not RULE.is_explained(finding, [replace(finding, rule="CB002")], kept=[])


def test_the_page_says_how_often_the_cured_callback_runs() -> None:
    assert f"one call in {EVERY}" in RULE.page
