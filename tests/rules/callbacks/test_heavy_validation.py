from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.validation import ValidationBatches, ValidationPasses
from fitdoctor.contract.places import CallLine
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.callbacks.heavy_validation import RULE, TOO_OFTEN_SHARE, WORTH_SHARE
from synthetic import MS, fit_workload, stage, view

DATA_LOADER = CallLine("DataLoader", "/user/data.py", 55)


def validated(pass_ns: int, steps: int, *found: object, passes: int = 4, epochs: int = 20):
    """200 steps of 10 ms, and validation passes beside them."""
    events = tuple(
        Event("validation", 10**9 + i, pass_ns, 0, None, EventDetail(steps=steps))
        for i in range(passes)
    )
    workload = fit_workload(events=events, detail={"epochs": epochs}, found=found)
    call = replace(workload.calls[0], validation=pass_ns * passes, epochs=passes)
    return view(replace(workload, calls=(call,)))


def in_batches(**ns: int) -> ValidationBatches:
    """A pass in larger batches; `of_256=30 * MS` is one in batches of 256 rows."""
    by_size = {size.removeprefix("of_"): one for size, one in ns.items()}
    return ValidationBatches(rows=500, batch_size=1, ns=by_size)


def again(steps: int, batches: int):
    """As `validated`, with data that have no end."""
    return validated(500 * MS, steps, ValidationPasses(steps, batches))


def loaded(made: CallLine | None, *found: object):
    """As `validated`, from a loader whose batches hold one row each."""
    larger = replace(in_batches(of_256=30 * MS), loader=True, made=made)
    return validated(500 * MS, 500, larger, *found)


def test_silent_without_validation() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_on_a_small_share() -> None:
    assert RULE.detect(validated(20 * MS, 20)) is None


def test_silent_on_a_usual_share_that_larger_batches_do_not_shorten() -> None:
    assert RULE.detect(validated(100 * MS, 20, in_batches(of_1024=90 * MS))) is None


def test_silent_on_a_few_validation_steps_without_a_trial() -> None:
    assert RULE.detect(validated(400 * MS, 2)) is None


def test_larger_batches_where_they_were_measured_faster() -> None:
    finding = RULE.detect(validated(500 * MS, 500, in_batches(of_256=30 * MS, of_1024=20 * MS)))
    assert finding is not None
    # 2 s of steps and 2 s of validation; 4 passes of 20 ms remain.
    assert finding.gain.value == pytest.approx(4.0 / 2.08, rel=0.02)
    assert finding.cure.safety == "safe"
    where = Where("/user/train.py", 88)
    assert finding.cure.edits == (SetKeyword(where, "fit", "validation_batch_size", "1024"),)
    assert finding.evidence["validation_share"] == 0.5


def test_a_larger_size_that_gains_little_is_not_recommended() -> None:
    finding = RULE.detect(validated(500 * MS, 500, in_batches(of_256=30 * MS, of_1024=28 * MS)))
    assert finding is not None
    assert "validation_batch_size=256" in finding.cure.summary


def test_the_batches_of_a_loader_are_made_where_it_is_made() -> None:
    finding = RULE.detect(loaded(DATA_LOADER))
    assert finding is not None
    assert finding.gain.value == pytest.approx(4.0 / 2.12, rel=0.02)
    where = Where("/user/data.py", 55)
    assert finding.cure.edits == (SetKeyword(where, "DataLoader", "batch_size", "256", 1),)
    assert finding.cure.safety == "safe"


def test_the_batches_of_a_pipeline_are_made_by_its_batch() -> None:
    finding = RULE.detect(loaded(CallLine("batch", "/user/data.py", 60)))
    assert finding is not None
    where = Where("/user/data.py", 60)
    assert finding.cure.edits == (SetKeyword(where, "batch", "batch_size", "256", 0),)


@pytest.mark.parametrize("made", [DATA_LOADER, None])
def test_a_line_that_also_makes_the_training_data_is_not_changed(made: CallLine | None) -> None:
    finding = RULE.detect(loaded(made, InputFacts(kind="DataLoader", made=DATA_LOADER)))
    assert finding is not None
    assert finding.cure.safety == "advice"
    assert finding.cure.edits == ()
    assert "batches of 256" in finding.cure.summary


def test_nor_is_a_stage_of_the_training_pipeline() -> None:
    shared = InputFacts(kind="tf.data", stages=(stage("batch", 0, line=60),))
    finding = RULE.detect(loaded(CallLine("batch", "/user/data.py", 60), shared))
    assert finding is not None
    assert finding.cure.safety == "advice"


def test_one_pass_and_a_rounded_number_of_steps_are_no_second_pass() -> None:
    finding = RULE.detect(again(steps=101, batches=100))
    assert finding is not None
    assert "validation_freq" in finding.cure.summary


def test_a_set_that_is_gone_over_again_and_again() -> None:
    finding = RULE.detect(again(steps=3200, batches=100))
    assert finding is not None
    # Of 2 s of validation beside 2 s of steps, a 32nd is left.
    assert finding.gain.value == pytest.approx(4.0 / (2 + 2 / 32), rel=0.02)
    assert finding.cure.safety == "safe"
    (edit,) = finding.cure.edits
    assert (edit.keyword, edit.value, edit.overrides) == ("validation_steps", "100", True)


def test_too_often() -> None:
    finding = RULE.detect(validated(500 * MS, 50))
    assert finding is not None
    assert "validation_freq=5" in finding.cure.summary
    assert finding.cure.safety == "unsafe"
    assert [edit.in_words() for edit in finding.cure.edits] == ["give fit() validation_freq=5"]
    assert finding.gain.value == pytest.approx(4.0 / 2.4, rel=0.02)


def test_a_fit_of_fewer_epochs_would_never_validate() -> None:
    finding = RULE.detect(validated(500 * MS, 50, epochs=4))
    assert finding is not None
    assert finding.cure.edits == ()


def test_validation_that_skips_training_data_explains_it() -> None:
    assert RULE.explained_by == {"IN007"}


def test_the_page_says_which_share_is_heavy() -> None:
    assert f"{100 * WORTH_SHARE:.0f} % or more of the time" in RULE.page
    assert f"at least {100 * TOO_OFTEN_SHARE:.0f} % of the time" in RULE.page
