from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.findings.edits import RenameCall
from fitdoctor.findings.place import Where
from fitdoctor.rules.host.call_per_sample import RULE
from synthetic import MS, call_group, fit_workload, view, windows


def calls(same: float, alternatives: dict[str, float], **more):
    data = {
        "same": windows(same),
        "alternatives": {name: windows(ns) for name, ns in alternatives.items()},
    }
    return view(call_group(probes={"alternatives": data}, **more))


def test_silent_on_one_long_fit() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_when_no_alternative_was_measured() -> None:
    assert RULE.detect(view(call_group())) is None


def test_silent_when_the_alternative_is_slower_as_train_on_batch_is_on_jax() -> None:
    assert RULE.detect(calls(MS, {"train_on_batch": 5 * MS}, kind="fit")) is None


def test_silent_when_the_alternative_is_not_clearly_faster() -> None:
    assert RULE.detect(calls(40 * MS, {"predict_on_batch": 38 * MS})) is None


def test_silent_on_fits_of_several_steps_which_one_step_cannot_replace() -> None:
    assert RULE.detect(calls(40 * MS, {"train_on_batch": MS}, kind="fit", steps_per_call=3)) is None


def test_fires_with_the_measured_alternative() -> None:
    finding = RULE.detect(
        calls(40 * MS, {"predict_on_batch": 0.4 * MS, "model(x, training=False)": 1.7 * MS})
    )
    assert finding is not None
    assert finding.cure.summary == "call model.predict_on_batch instead of predict"
    # 42 ms a round become 2 ms of the user's own code and 0.4 ms of call.
    assert finding.gain.value == pytest.approx(17.5, rel=0.05)


def test_prefers_what_keeps_the_numbers_when_both_are_as_fast() -> None:
    finding = RULE.detect(
        calls(40 * MS, {"predict_on_batch": 1.0 * MS, "model(x, training=False)": 0.95 * MS})
    )
    assert finding is not None
    assert "predict_on_batch" in finding.cure.summary


def test_replacing_fit_is_unsafe() -> None:
    finding = RULE.detect(calls(40 * MS, {"train_on_batch": MS}, kind="fit"))
    assert finding is not None
    assert finding.cure.safety == "unsafe"


def edits(kind: str, to: str, *, given: str = "numpy.ndarray", steps_per_call: int = 1):
    data = {"same": windows(40 * MS), "alternatives": {to: windows(MS)}}
    group = call_group(kind=kind, probes={"alternatives": data}, steps_per_call=steps_per_call)
    finding = RULE.detect(view(replace(group, detail={"input": given})))
    assert finding is not None
    return finding.cure.edits


def test_no_edit_where_the_other_call_does_something_else() -> None:
    assert edits("predict", "predict_on_batch", given="tensorflow.data.Dataset") == ()
    assert edits("predict", "predict_on_batch", steps_per_call=2) == ()
    assert edits("predict", "model(x, training=False)") == ()
    assert edits("evaluate", "test_on_batch") == ()


def test_the_call_gets_another_name() -> None:
    (edit,) = edits("predict", "predict_on_batch")
    assert isinstance(edit, RenameCall)
    assert (edit.where, edit.call, edit.to) == (
        Where("/user/train.py", 30),
        "predict",
        "predict_on_batch",
    )
    (edit,) = edits("fit", "train_on_batch")
    assert (edit.to, edit.same_result) == ("train_on_batch", False)
