from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.contract.evidence.step import PythonInSteps
from fitdoctor.rules.model.host_op_in_model import RULE
from synthetic import MS, layer, model_view, timed


def python_in_step(share: float, **more: object) -> PythonInSteps:
    functions = (("/user/train.py", 12, "mine", round(60 * share)),)
    return PythonInSteps(**{"samples": 60, "functions": functions, **more})


def test_silent_where_python_is_hardly_ever_seen_in_the_step() -> None:
    assert RULE.detect(model_view(found=[python_in_step(0.05)])) is None


def test_silent_on_a_thread_that_runs_without_steps_too() -> None:
    seen = python_in_step(0.9, without_steps=(("/user/train.py", 12, "mine", 30),))
    assert RULE.detect(model_view(found=[seen])) is None


def test_silent_where_no_function_of_the_users_was_seen() -> None:
    assert RULE.detect(model_view(found=[python_in_step(0.9, functions=())])) is None


def test_silent_without_host_ops() -> None:
    assert RULE.detect(model_view(layer("dense", 9 * MS, alone=15 * MS))) is None


def test_silent_on_a_small_share() -> None:
    assert RULE.detect(model_view(layer("np", MS, alone=MS // 2, host_ops=1))) is None


def test_silent_where_the_layer_was_not_timed_alone() -> None:
    assert RULE.detect(model_view(layer("np", 9 * MS, host_ops=1))) is None


def test_fires_on_python_anywhere_in_a_compiled_step() -> None:
    found = RULE.detect(model_view(found=[python_in_step(0.6)]))
    assert found is not None
    assert (found.where.file, found.where.line) == ("/user/train.py", 12)
    assert found.gain.value == pytest.approx(1 / (1 - 0.57), rel=0.05)
    assert found.gain.low == pytest.approx(1 / 0.7, rel=0.05)
    assert found.evidence == {"function": "mine", "share": 0.6, "samples": 60}


def test_predicted_from_the_layer_alone() -> None:
    found = RULE.detect(model_view(layer("np", 9 * MS, alone=15 * MS, host_ops=1)))
    assert found is not None
    assert found.gain.value == pytest.approx(4, rel=0.1)
    assert "keras.ops" in found.cure.summary


def test_native_operations_in_its_place_are_the_better_prediction() -> None:
    host = layer("np", 9 * MS, alone=15 * MS, host_ops=1)
    tried = ("native", timed(ChangedStep, 10 * MS))
    found = RULE.detect(model_view(host, found=[tried]))
    assert found is not None
    assert found.gain.value == pytest.approx(2, rel=0.05)
    # The real ones may be more operations than those that were tried.
    assert found.gain.low == pytest.approx(1 / (1 - 0.7 * 0.5), rel=0.05)


def test_the_edit_is_made_where_the_layer_is_written() -> None:
    host = layer("np", 9 * MS, alone=15 * MS, host_ops=1, file="/u/layers.py", line=7)
    cheap = layer("other", MS, alone=2 * MS, host_ops=1)
    found = RULE.detect(model_view(cheap, host))
    assert found is not None
    (edit,) = found.cure.edits
    assert (edit.where.file, edit.where.line) == ("/u/layers.py", 7)
    assert found.where == edit.where
    assert found.evidence["layer"] == "np"


def test_the_page_has_the_thresholds() -> None:
    page = " ".join(RULE.page.split())
    assert "the layer alone is 5 % of the step or more" in page
    assert "in at least 15 % of the samples" in page
