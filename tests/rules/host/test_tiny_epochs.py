from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.loading import ArrayConversion, InputFacts
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import (
    CallbackTotal,
    CallRow,
    Event,
    EventDetail,
    RecordedWorkload,
    StepBlock,
)
from fitdoctor.findings.edits import LongerEpochs, SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.host.tiny_epochs import FEW_STEPS, FIXED_SHARE, MIN_EPOCHS, RULE
from synthetic import MS, fit_workload, loader, timed, view, with_found


def short_epochs(
    *,
    steps: int = 2,
    epochs: int = 100,
    gap: int = 30 * MS,
    validation: int = 30 * MS,
    validation_steps: int = 1,
) -> RecordedWorkload:
    """Epochs of a few steps of 2 ms, with a gap and a validation pass after each."""
    base = fit_workload(detail={"epochs": epochs})
    blocks, events = [], []
    t = 10**9
    for epoch in range(epochs):
        times = tuple(t + i * 2 * MS for i in range(steps))
        blocks.append(
            StepBlock(
                call=0,
                epoch=epoch,
                executions=1,
                t=times,
                step=(2 * MS,) * steps,
                wait=(0,) * steps,
                callbacks=(0,) * steps,
                graph_wait=None,
                others_cores=0.0,
                after_pause=False,
            )
        )
        t += steps * 2 * MS
        if validation:
            detail = EventDetail(steps=validation_steps)
            events.append(Event("validation", t, validation, 0, None, detail))
        t += validation + gap
    call = CallRow(
        t=10**9 - 5 * MS,
        dur=t - 10**9 + 5 * MS,
        steps=steps * epochs,
        start_up=5 * MS,
        validation=validation * epochs,
        epoch_callbacks=0,
        batch_callbacks=0,
        step=2 * MS * steps * epochs,
        wait=0,
        epochs=epochs,
    )
    return replace(base, blocks=tuple(blocks), events=tuple(events), calls=(call,))


def cast_each_epoch(workload: RecordedWorkload, ns: int) -> RecordedWorkload:
    """Keras casts the arrays once in every epoch."""
    measured = ArrayConversion(
        bytes=1000, cast_bytes=1000, as_is_ns=ns, cast_before_ns=0, per_epoch=1
    )
    return with_found(workload, measured)


def on_tf_data(workload: RecordedWorkload) -> RecordedWorkload:
    return with_found(workload, InputFacts(kind="tf.data"))


def test_silent_on_long_epochs() -> None:
    assert RULE.detect(view(short_epochs(steps=200, epochs=4))) is None


def test_silent_where_the_gap_is_small() -> None:
    assert RULE.detect(view(short_epochs(steps=40, gap=5 * MS, validation=0))) is None


def test_silent_on_two_epochs() -> None:
    assert RULE.detect(view(short_epochs(epochs=2))) is None


def test_a_long_validation_is_another_rules_matter() -> None:
    assert RULE.detect(view(short_epochs(validation=300 * MS, validation_steps=60))) is None


def test_silent_where_casting_arrays_is_what_lies_between_epochs() -> None:
    short = short_epochs(validation=0)
    assert RULE.detect(view(cast_each_epoch(short, 30 * MS))) is None
    assert RULE.detect(view(cast_each_epoch(short, MS))) is not None


def test_the_best_cure_is_first_and_each_has_its_own_gain() -> None:
    finding = RULE.detect(view(short_epochs()))
    assert finding is not None
    # 64 ms per epoch of 2 steps; as epochs of 50 steps, gap and validation are a 25th.
    assert finding.gain.value == pytest.approx(64 / (4 + 60 / 25), rel=0.03)
    assert "longer epochs" in finding.cure.summary
    (other,) = finding.also
    # Validation every tenth epoch: 27 of 64 ms go.
    assert other.gain.value == pytest.approx(64 / (64 - 27), rel=0.02)
    assert other.cure.summary == "validation_freq=10"
    where = Where("/user/train.py", 88)
    assert other.cure.edits == (SetKeyword(where, "fit", "validation_freq", "10"),)
    assert finding.as_edited is other
    assert finding.to_json()["other_cures"][0]["summary"] == "validation_freq=10"


def test_a_call_of_one_epoch_would_never_validate() -> None:
    workload = short_epochs()
    finding = RULE.detect(view(replace(workload, detail=replace(workload.detail, epochs=1))))
    assert finding is not None
    assert finding.cure.edits == ()
    assert finding.also[0].cure.edits == ()


def test_without_validation_epochs_become_longer() -> None:
    finding = RULE.detect(view(short_epochs(validation=0)))
    assert finding is not None
    # 34 ms per epoch of 2 steps; as epochs of 50 steps the gap is a 25th.
    assert finding.gain.value == pytest.approx(34 / (4 + 30 / 25), rel=0.03)
    assert finding.cure.edits == ()


def test_a_dataset_is_repeated_within_an_epoch() -> None:
    finding = RULE.detect(view(on_tf_data(short_epochs(validation=0))))
    assert finding is not None
    # 25 passes of 2 steps; 100 epochs are 4 of them.
    assert finding.cure.edits == (LongerEpochs(Where("/user/train.py", 88), 25),)


def test_a_dataset_is_not_repeated_where_somebody_counts_epochs() -> None:
    totals = (CallbackTotal("EarlyStopping", "epoch", 200, 100, "/user/t.py", 3),)
    watched = replace(on_tf_data(short_epochs(validation=0)), callbacks=totals)
    finding = RULE.detect(view(watched))
    assert finding is not None
    assert finding.cure.edits == ()
    # 97 epochs can be joined to one only.
    prime = RULE.detect(view(on_tf_data(short_epochs(epochs=97, validation=0))))
    assert prime is not None
    assert prime.cure.edits == ()


def test_epochs_of_one_step_are_judged_too() -> None:
    finding = RULE.detect(view(short_epochs(steps=1)))
    assert finding is not None
    assert finding.evidence["steps_per_epoch"] == 1


def test_processes_that_start_with_every_epoch_explain_it() -> None:
    assert RULE.explained_by == {"IN008"}


def test_the_page_says_which_epochs_are_short() -> None:
    assert f"at least {MIN_EPOCHS} epochs of at most {FEW_STEPS} steps each" in RULE.page
    assert f"{FIXED_SHARE:.0%}".replace("%", " %") in RULE.page


class TestALoaderBegunForEveryStep:
    def loop(self, *, steps_of_a_pass: int = 1, frozen: float = 4 * MS, alone: float = MS):
        """Iterations of 40 ms, 20 of them in `next`."""
        base = fit_workload(
            kind="loop",
            detail={"marker": "tf.data"},
            found=[timed(FrozenBatch, frozen), loader(alone)],
        )
        blocks = []
        for number in range(60):
            begin = 10**9 + number * steps_of_a_pass * 40 * MS
            times = tuple(begin + i * 40 * MS for i in range(steps_of_a_pass))
            blocks.append(
                StepBlock(
                    call=0,
                    epoch=number,
                    executions=1,
                    t=times,
                    step=(20 * MS,) * steps_of_a_pass,
                    wait=(20 * MS,) * steps_of_a_pass,
                    callbacks=(0,) * steps_of_a_pass,
                    graph_wait=None,
                    others_cores=0.0,
                    after_pause=False,
                )
            )
        return view(replace(base, blocks=tuple(blocks)))

    def test_silent_on_passes_of_several_steps(self) -> None:
        assert RULE.detect(self.loop(steps_of_a_pass=5)) is None

    def test_silent_where_the_loader_is_as_slow_when_it_is_read_on(self) -> None:
        assert RULE.detect(self.loop(alone=35 * MS)) is None

    def test_silent_where_the_step_is_what_takes_long(self) -> None:
        assert RULE.detect(self.loop(frozen=35 * MS)) is None

    def test_it_is_named_with_what_is_left_without_it(self) -> None:
        found = RULE.detect(self.loop())
        assert found is not None
        assert found.gain.value == pytest.approx(40 / 5, rel=0.05)
        assert "begun from scratch for every step" in found.message
        assert found.cure.safety == "unsafe"
