"""What the parent tells the child: one object, there and back."""

from __future__ import annotations

import pytest

from fitdoctor.contract.changed_calls import ChangedCall
from fitdoctor.contract.codec import BadValue
from fitdoctor.contract.options import (
    ForcedSettings,
    LearningOptions,
    RunOptions,
    StepLimit,
)


def test_options_that_are_not_given_have_defaults() -> None:
    assert RunOptions.from_text("{}") == RunOptions()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadValue, match=r"RunOptions\.probes"):
        RunOptions.from_text('{"probes": "yes"}')


def test_every_option_comes_back_as_it_was() -> None:
    options = RunOptions(
        budget_s=3.5,
        keep_running=True,
        probes=False,
        sweep=True,
        limit=StepLimit(None, 2.0),
        learning=LearningOptions(10, 5.0, "weights.npz", 1),
        forced=ForcedSettings(threads=2, backend="jax"),
        sources="sources.json",
        calls=(
            ChangedCall("a.py", 3, "dataset", "map", set={"num_parallel_calls": -1, "name": None}),
            ChangedCall("a.py", 9, "model", "predict", instead="predict_on_batch", takes=("x",)),
        ),
    )
    assert RunOptions.from_text(options.to_text()) == options
