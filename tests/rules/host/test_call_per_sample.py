from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.loop import CallAlternatives
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.limits import GROUP_CALLS, GROUP_STEPS_PER_CALL
from fitdoctor.contract.records import WorkloadDetail
from fitdoctor.findings.edits import RenameCall
from fitdoctor.findings.place import Where
from fitdoctor.rules.host.call_per_sample import RULE
from synthetic import MS, call_group, fit_workload, timed, view


def alternatives(same: float, others: dict[str, float]) -> CallAlternatives:
    return CallAlternatives(
        timed(Timed, same), {name: timed(Timed, ns) for name, ns in others.items()}
    )


def calls(same: float, others: dict[str, float], **more):
    return view(call_group(found=[alternatives(same, others)], **more))


def test_silent_on_one_long_fit() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_on_one_long_fit_even_with_an_alternative() -> None:
    tried = alternatives(40 * MS, {"train_on_batch": MS})
    assert RULE.detect(view(fit_workload(found=[tried]))) is None


def test_silent_when_no_alternative_was_measured() -> None:
    assert RULE.detect(view(call_group())) is None
    assert RULE.detect(calls(40 * MS, {})) is None


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
    assert finding.where == Where("/user/train.py", 30)
    assert finding.evidence["alternative"] == "predict_on_batch"
    assert finding.evidence["calls"] == 60
    # 42 ms a round become 2 ms of the user's own code and 0.4 ms of call.
    assert finding.gain.value == pytest.approx(17.5, rel=0.05)


def test_prefers_what_keeps_the_numbers_when_both_are_as_fast() -> None:
    finding = RULE.detect(
        calls(40 * MS, {"predict_on_batch": 1.0 * MS, "model(x, training=False)": 0.95 * MS})
    )
    assert finding is not None
    assert "predict_on_batch" in finding.cure.summary


def test_takes_the_other_where_it_is_clearly_faster() -> None:
    finding = RULE.detect(
        calls(40 * MS, {"predict_on_batch": 2.0 * MS, "model(x, training=False)": 0.95 * MS})
    )
    assert finding is not None
    assert "model(x, training=False)" in finding.cure.summary


@pytest.mark.parametrize(
    ("kind", "to", "safety"),
    [("predict", "predict_on_batch", "safe"), ("fit", "train_on_batch", "unsafe")],
)
def test_replacing_fit_is_unsafe(kind: str, to: str, safety: str) -> None:
    finding = RULE.detect(calls(40 * MS, {to: MS}, kind=kind))
    assert finding is not None
    assert finding.cure.safety == safety


def edits(kind: str, to: str, *, given: str = "numpy.ndarray", steps_per_call: int = 1):
    tried = alternatives(40 * MS, {to: MS})
    group = call_group(kind=kind, found=[tried], steps_per_call=steps_per_call)
    finding = RULE.detect(view(replace(group, detail=WorkloadDetail(input=given))))
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


def test_the_page_says_what_a_group_of_calls_is() -> None:
    assert f"at least {GROUP_CALLS} calls" in RULE.page
    assert f"at most {GROUP_STEPS_PER_CALL} steps each" in RULE.page
