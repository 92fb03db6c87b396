from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.records import CallbackTotal
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import ANYWHERE, Where
from fitdoctor.rules.callbacks.frequent_checkpoint import RULE, WORTH_SHARE
from synthetic import MS, call_group, fit_workload, view

IN_THE_SCRIPT = Where("/user/train.py", ANYWHERE)


def saving(name: str, hook: str, per_step: int):
    """200 steps of 10 ms, and a callback that writes at batches or at epochs."""
    total = CallbackTotal(name, hook, 200, per_step * 200, "/keras/callback.py", 14)
    callbacks = per_step if hook == "batch" else 0
    workload = fit_workload(
        period=10 * MS + callbacks, step=9 * MS, callbacks=callbacks, callback_totals=(total,)
    )
    epochs = per_step * 200 if hook == "epoch" else 0
    return view(replace(workload, calls=(replace(workload.calls[0], epoch_callbacks=epochs),)))


def test_silent_without_callbacks() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_on_the_users_callbacks() -> None:
    assert RULE.detect(saving("Monitor", "batch", 30 * MS)) is None


def test_silent_on_a_rare_save() -> None:
    assert RULE.detect(saving("ModelCheckpoint", "batch", MS // 5)) is None


def test_silent_on_a_save_at_the_end_of_training() -> None:
    assert RULE.detect(saving("ModelCheckpoint", "train", 30 * MS)) is None


def test_silent_on_a_group_of_calls() -> None:
    total = CallbackTotal("ModelCheckpoint", "batch", 200, 30 * MS * 200, None, None)
    assert RULE.detect(view(replace(call_group(kind="fit"), callbacks=(total,)))) is None


def test_a_save_per_batch_becomes_one_per_epoch() -> None:
    finding = RULE.detect(saving("ModelCheckpoint", "batch", 30 * MS))
    assert finding is not None
    assert finding.gain.value == pytest.approx(40 / (10 + 30 / 200), rel=0.02)
    assert 'save_freq="epoch"' in finding.cure.summary
    edit = SetKeyword(IN_THE_SCRIPT, "ModelCheckpoint", "save_freq", '"epoch"')
    assert finding.cure.edits == (edit,)
    assert finding.cure.safety == "unsafe"
    assert set(finding.saves) == {"checkpoint"}


def test_a_save_per_short_epoch() -> None:
    finding = RULE.detect(saving("ModelCheckpoint", "epoch", 10 * MS))
    assert finding is not None
    assert finding.gain.value == pytest.approx(20 / 12, rel=0.02)
    assert "every 5 epochs" in finding.cure.summary
    assert finding.cure.edits == ()  # how often is enough is not ours to say


def test_tensorboard_is_writing_too() -> None:
    finding = RULE.detect(saving("TensorBoard", "batch", 30 * MS))
    assert finding is not None
    assert 'update_freq="epoch"' in finding.cure.summary
    assert [edit.keyword for edit in finding.cure.edits] == ["update_freq"]
    assert set(finding.saves) == {"callbacks"}
    histograms = RULE.detect(saving("TensorBoard", "epoch", 30 * MS))
    assert histograms is not None
    assert [edit.keyword for edit in histograms.cure.edits] == ["histogram_freq"]


def test_the_page_says_which_share_is_too_much() -> None:
    assert f"{100 * WORTH_SHARE:.0f} % or more of the training" in RULE.page
