from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.records import CallbackTotal, Event, Probe
from fitdoctor.rules.callbacks import (
    frequent_checkpoint,
    heavy_metrics,
    heavy_validation,
    progress_printing,
)
from synthetic import MS, fit_workload, view, windows


def validated(pass_ns: int, steps: int, passes: int = 4, *, larger: dict[str, int] | None = None):
    """200 steps of 10 ms, and validation passes beside them."""
    events = tuple(
        Event("validation", 10**9 + i, pass_ns, 0, None, {"steps": steps}) for i in range(passes)
    )
    workload = fit_workload(events=events, detail={"epochs": 20})
    call = replace(workload.calls[0], validation=pass_ns * passes, epochs=passes)
    probes = dict(workload.probes)
    if larger is not None:
        probes["validation_batches"] = Probe("validation_batches", "ok", "", {"ns": larger})
    return view(replace(workload, calls=(call,), probes=probes))


def again(steps: int, batches: int):
    """As `validated`, with data that have no end."""
    recorded = validated(500 * MS, steps).recorded
    probe = Probe("validation_passes", "ok", "", {"steps": steps, "batches": batches})
    return view(replace(recorded, probes={**recorded.probes, "validation_passes": probe}))


def loaded(made: dict | None, training: dict | None = None):
    """As `validated`, from a loader whose batches hold one row each."""
    recorded = validated(500 * MS, 500, larger={"256": 30 * MS}).recorded
    data = {"ns": {"256": 30 * MS}, "loader": True, "made": made}
    probes = {**recorded.probes, "validation_batches": Probe("validation_batches", "ok", "", data)}
    if training is not None:
        probes["input"] = Probe("input", "ok", "", {"kind": "DataLoader", "made": training})
    return view(replace(recorded, probes=probes))


class TestHeavyValidation:
    def test_silent_without_validation(self) -> None:
        assert heavy_validation.RULE.detect(view(fit_workload())) is None

    def test_silent_on_a_small_share(self) -> None:
        assert heavy_validation.RULE.detect(validated(20 * MS, 20)) is None

    def test_silent_on_a_usual_share_that_larger_batches_do_not_shorten(self) -> None:
        assert (
            heavy_validation.RULE.detect(validated(100 * MS, 20, larger={"1024": 90 * MS})) is None
        )

    def test_silent_on_a_few_validation_steps_without_a_trial(self) -> None:
        assert heavy_validation.RULE.detect(validated(400 * MS, 2)) is None

    def test_larger_batches_where_they_were_measured_faster(self) -> None:
        finding = heavy_validation.RULE.detect(
            validated(500 * MS, 500, larger={"256": 30 * MS, "1024": 20 * MS})
        )
        assert finding is not None
        # 2 s of steps and 2 s of validation; 4 passes of 20 ms remain.
        assert finding.gain.value == pytest.approx(4.0 / 2.08, rel=0.02)
        assert "validation_batch_size=1024" in finding.cure.summary
        assert finding.cure.safety == "safe"

    def test_the_batches_of_a_loader_are_made_where_it_is_made(self) -> None:
        made = {"file": "/user/data.py", "line": 55, "call": "DataLoader"}
        finding = heavy_validation.RULE.detect(loaded(made))
        assert finding is not None
        assert finding.gain.value == pytest.approx(4.0 / 2.12, rel=0.02)
        (edit,) = finding.cure.edits
        assert (edit.where.line, edit.call, edit.keyword, edit.value) == (
            55,
            "DataLoader",
            "batch_size",
            "256",
        )
        assert finding.cure.safety == "safe"

    def test_a_line_that_also_makes_the_training_data_is_not_changed(self) -> None:
        made = {"file": "/user/data.py", "line": 55, "call": "DataLoader"}
        for shared in (made, None):
            finding = heavy_validation.RULE.detect(loaded(shared, training=made))
            assert finding is not None
            assert finding.cure.safety == "advice"
            assert "batches of 256" in finding.cure.summary

    def test_a_larger_size_that_gains_little_is_not_recommended(self) -> None:
        finding = heavy_validation.RULE.detect(
            validated(500 * MS, 500, larger={"256": 30 * MS, "1024": 28 * MS})
        )
        assert finding is not None
        assert "validation_batch_size=256" in finding.cure.summary

    def test_one_pass_and_a_rounded_number_of_steps_are_no_second_pass(self) -> None:
        finding = heavy_validation.RULE.detect(again(steps=101, batches=100))
        assert finding is not None
        assert "validation_freq" in finding.cure.summary

    def test_a_set_that_is_gone_over_again_and_again(self) -> None:
        finding = heavy_validation.RULE.detect(again(steps=3200, batches=100))
        assert finding is not None
        # Of 2 s of validation beside 2 s of steps, a 32nd is left.
        assert finding.gain.value == pytest.approx(4.0 / (2 + 2 / 32), rel=0.02)
        assert finding.cure.safety == "safe"
        edit = finding.cure.edits[0]
        assert (edit.keyword, edit.value, edit.overrides) == ("validation_steps", "100", True)

    def test_too_often(self) -> None:
        finding = heavy_validation.RULE.detect(validated(500 * MS, 50))
        assert finding is not None
        assert "validation_freq=5" in finding.cure.summary
        assert [edit.in_words() for edit in finding.cure.edits] == ["give fit() validation_freq=5"]
        assert finding.gain.value == pytest.approx(4.0 / 2.4, rel=0.02)


def saving(name: str, hook: str, per_step: int):
    total = CallbackTotal(name, hook, 200, per_step * 200, "/keras/callback.py", 14)
    callbacks = per_step if hook == "batch" else 0
    workload = fit_workload(
        period=10 * MS + callbacks, step=9 * MS, callbacks=callbacks, callback_totals=(total,)
    )
    epochs = per_step * 200 if hook == "epoch" else 0
    return view(replace(workload, calls=(replace(workload.calls[0], epoch_callbacks=epochs),)))


class TestFrequentCheckpoint:
    def test_silent_on_the_users_callbacks(self) -> None:
        assert frequent_checkpoint.RULE.detect(saving("Monitor", "batch", 30 * MS)) is None

    def test_silent_on_a_rare_save(self) -> None:
        assert frequent_checkpoint.RULE.detect(saving("ModelCheckpoint", "batch", MS // 5)) is None

    def test_a_save_per_batch_becomes_one_per_epoch(self) -> None:
        finding = frequent_checkpoint.RULE.detect(saving("ModelCheckpoint", "batch", 30 * MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(40 / (10 + 30 / 200), rel=0.02)
        assert 'save_freq="epoch"' in finding.cure.summary
        (edit,) = finding.cure.edits
        assert (edit.call, edit.value) == ("ModelCheckpoint", '"epoch"')

    def test_a_save_per_short_epoch(self) -> None:
        finding = frequent_checkpoint.RULE.detect(saving("ModelCheckpoint", "epoch", 10 * MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(20 / 12, rel=0.02)
        assert finding.cure.edits == ()  # how often is enough is not ours to say

    def test_tensorboard_is_writing_too(self) -> None:
        finding = frequent_checkpoint.RULE.detect(saving("TensorBoard", "batch", 30 * MS))
        assert finding is not None
        assert 'update_freq="epoch"' in finding.cure.summary
        assert [edit.keyword for edit in finding.cure.edits] == ["update_freq"]
        histograms = frequent_checkpoint.RULE.detect(saving("TensorBoard", "epoch", 30 * MS))
        assert [edit.keyword for edit in histograms.cure.edits] == ["histogram_freq"]


class TestHeavyMetrics:
    def metrics(self, without: float):
        probes = {"frozen_batch": windows(2 * MS), "step_without_metrics": windows(without)}
        return view(fit_workload(period=2 * MS, step=2 * MS, probes=probes))

    def test_silent_where_metrics_are_cheap(self) -> None:
        assert heavy_metrics.RULE.detect(self.metrics(1.95 * MS)) is None

    def test_silent_where_nothing_was_tried(self) -> None:
        assert heavy_metrics.RULE.detect(view(fit_workload())) is None

    def test_in_turns_a_machine_that_changes_its_pace_hides_nothing(self) -> None:
        pace = [1.0, 1.8, 1.0, 1.7, 1.1, 1.9]
        tried = {"ns": [0.75 * MS * p for p in pace], "base_ns": [MS * p for p in pace]}
        probes = {"frozen_batch": {**windows(MS), "ns": [MS * p for p in pace]}}
        both = {**probes, "step_without_metrics": {**windows(MS), **tried}}
        finding = heavy_metrics.RULE.detect(view(fit_workload(period=MS, step=MS, probes=both)))
        assert finding is not None
        assert finding.evidence["metrics_share"] == pytest.approx(0.25, abs=0.01)

    def test_half_of_the_step(self) -> None:
        finding = heavy_metrics.RULE.detect(self.metrics(MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2.0, rel=0.05)


class TestProgressPrinting:
    def bar(self, with_bar: float):
        data = {"with": windows(with_bar), "without": windows(MS)}
        return view(fit_workload(period=2 * MS, step=MS, probes={"progress_bar": data}))

    def test_silent_where_the_bar_costs_nothing(self) -> None:
        assert progress_printing.RULE.detect(self.bar(1.03 * MS)) is None

    def test_the_measured_difference(self) -> None:
        finding = progress_printing.RULE.detect(self.bar(1.6 * MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2 / 1.4, rel=0.05)
        assert finding.cure.edits[0].value == "2"
