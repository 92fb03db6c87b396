"""Comparing, and limits: what cannot be known is an error, never a pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fitdoctor.comparison.compared_run import Measured, Side, read_side, side_of
from fitdoctor.comparison.gate import QUANTITIES, broken, broken_by, parse_condition
from fitdoctor.comparison.pairs import Pair, pairs
from fitdoctor.comparison.table import budget_text, change_words, comparison_text
from fitdoctor.contract.errors import RecordingError, UsageError
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.diagnosis import diagnose
from fitdoctor.intervals import Interval
from fitdoctor.report.machine import to_json
from synthetic import MS, fit_workload, recording, timed


def measured(step_ms: float = 10.0, **changes: Any) -> Measured:
    facts: dict[str, Any] = {
        "kind": "fit",
        "place": "train.py:8",
        "step": Interval.around(step_ms * MS, 0.03),
        "ceiling_ns": None,
        "parts": {"step": 0.7 * step_ms * MS, "input_wait": 0.3 * step_ms * MS},
        "verdict": "input-bound",
        "findings": (),
    }
    return Measured(**{**facts, **changes})


@pytest.mark.parametrize(
    "text",
    ["", "step", "step >", "step > x", "speed > 1.1x", "step > -1ms", "step > 5", "step = 5ms",
     "findings > 1x", "findings > 5ms", "step > 10%", "ceiling > 5%", "step > 1.1x and more"],
)  # fmt: skip
def test_conditions_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert "step > 1.1x" in caught.value.expected


@given(
    quantity=st.sampled_from(QUANTITIES[3:]),
    sign=st.sampled_from([">", ">=", "<", "<="]),
    number=st.floats(0, 1e6).map(lambda n: f"{n:.3f}"),
    unit=st.sampled_from(["x", "%", "ns", "us", "ms", "s"]),
    space=st.sampled_from(["", " ", "  "]),
)
def test_every_sentence_of_the_grammar_is_read(
    quantity: str, sign: str, number: str, unit: str, space: str
) -> None:
    condition = parse_condition(f"{quantity}{space}{sign}{space}{number}{space}{unit}")
    assert (condition.quantity, condition.sign) == (quantity, sign)


@pytest.mark.parametrize(
    ("text", "before", "after", "breaks"),
    [
        ("step > 1.1x", 10, 10.9, False),
        ("step > 1.1x", 10, 11.5, True),
        ("step > 50ms", 10, 49, False),
        ("step > 50ms", 10, 51, True),
        ("input_wait > 30.1%", 10, 10, False),
        ("input_wait > 20%", 10, 10, True),
        ("callbacks > 0.1ms", 10, 10, False),
        ("findings > 0", 10, 10, False),
    ],
)
def test_limits(text: str, before: float, after: float, breaks: bool) -> None:
    reason = broken_by(parse_condition(text), Pair(measured(before), measured(after)))
    assert bool(reason) == breaks


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("step > 1.1x", {"step": None}),
        ("ceiling > 5ms", {}),
        ("input_wait > 20%", {"parts": {"step": 5.0}}),
        ("callbacks > 1ms", {"parts": None}),
    ],
)
def test_what_was_not_measured_is_no_pass(text: str, missing: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="was not measured"):
        broken_by(parse_condition(text), Pair(measured(), measured(**missing)))


def test_a_line_that_moved_is_still_the_same_workload() -> None:
    before = Side("a", (measured(), measured(kind="predict", place="train.py:20")))
    moved = (measured(place="train.py:9"), measured(kind="evaluate", place="x.py:1"))
    found = pairs(before, Side("b", moved))
    assert [(p.before is not None, p.after is not None) for p in found] == [
        (True, True), (True, False), (False, True),
    ]  # fmt: skip
    assert "only after" in comparison_text(found) and "only before" in comparison_text(found)


def test_words() -> None:
    assert change_words(Interval(1.02, 0.97, 1.06)) == "no measurable change"
    assert change_words(Interval(1.5, 1.4, 1.6)) == "1.50× slower (1.40–1.60)"
    assert change_words(None).startswith("not comparable")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "no json",
        '{"schema": 2, "workloads": []}',
        '{"schema": 1, "workloads": [5]}',
    ],
)
def test_files_that_are_no_reports(tmp_path: Path, content: str) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)
    with pytest.raises(RecordingError, match="cannot be compared"):
        read_side(file)
    with pytest.raises(RecordingError):
        read_side(tmp_path / "missing.json")


def test_a_report_and_its_file_say_the_same(tmp_path: Path) -> None:
    made = recording(fit_workload(wait=MS, found=[timed(FrozenBatch, 9 * MS)]))
    report = to_json(diagnose(made))
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report))
    side = read_side(file)
    assert side.workloads == side_of("a", report).workloads
    step = side.workloads[0].step
    assert step is not None and step.low < step.value < step.high


def test_a_limit_that_fits_no_workload_is_no_pass() -> None:
    alone = [Pair(None, measured())]
    with pytest.raises(UsageError, match="no workload is on both sides"):
        broken(parse_condition("step > 1.1x"), alone)
    with pytest.raises(UsageError, match="no workload"):
        broken(parse_condition("step > 50ms"), [Pair(measured(), None)])
    with pytest.raises(UsageError, match="no workload"):
        broken(parse_condition("findings > 0"), [])


def test_one_recording_is_held_to_a_budget() -> None:
    alone = [Pair(None, measured(10)), Pair(None, measured(60, place="train.py:20"))]
    assert broken(parse_condition("step > 70ms"), alone) == []
    (reason,) = broken(parse_condition("step > 50ms"), alone)
    assert "train.py:20" in reason
    text = budget_text(Side("a", (measured(10),)))
    assert "10.0 ms" in text and "verdict" in text
