"""What callbacks call again and again has a gain: their time (CB001), or the calls (CB002)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.records import CallbackTotal
from fitdoctor.rules.callbacks.heavy_validation import RULE as CALLS
from fitdoctor.rules.callbacks.per_batch_callback import RULE as PER_BATCH
from synthetic import MS, call_group, fit_workload, recording

STEPS, EPOCHS = 200, 2


def calling(per_epoch: int, each: int, hook: str = "epoch") -> View:
    """200 steps of 10 ms in two epochs, and a callback that calls predict so often."""
    spent = per_epoch * EPOCHS * each
    total = CallbackTotal("HitRate", hook, EPOCHS, spent, "/user/train.py", 46)
    per_step = spent // STEPS if hook == "batch" else 0
    fit = fit_workload(
        period=10 * MS + per_step,
        callbacks=per_step,
        callback_totals=(total,),
        detail={"epochs": EPOCHS},
    )
    at_epochs = spent if hook == "epoch" else 0
    call = replace(
        fit.calls[0], epochs=EPOCHS, epoch_callbacks=at_epochs, dur=fit.calls[0].dur + at_epochs
    )
    fit = replace(fit, calls=(call,))
    inner = replace(
        call_group(duration=each, period=each, calls=per_epoch * EPOCHS), parent=1, number=2
    )
    found = view_of(recording(fit, inner), fit)
    assert found is not None
    return found


def test_silent_on_one_short_call_in_an_epoch() -> None:
    assert CALLS.detect(calling(1, 50 * MS)) is None


def test_many_calls_at_the_end_of_epochs_have_their_gain() -> None:
    view = calling(500, 326 * MS)
    finding = CALLS.detect(view)
    assert finding is not None
    assert "calls predict 500 times in each epoch, 326 ms each" in finding.message
    # Without the calls, 200 steps of 10 ms are left of 328 s.
    assert finding.gain.value > 50
    assert finding.evidence["share"] == pytest.approx(326 / 328, abs=0.01)


def test_calls_after_every_batch_are_the_callbacks_time() -> None:
    view = calling(100, 326 * MS, hook="batch")
    assert CALLS.detect(view) is None
    finding = PER_BATCH.detect(view)
    assert finding is not None
    assert finding.gain.value > 15
