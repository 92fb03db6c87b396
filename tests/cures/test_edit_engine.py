"""Every edit has its applier, its words and its JSON form: nothing is listed by hand."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, fields

import pytest

from fitdoctor.cures import edit_engine
from fitdoctor.findings import edits
from fitdoctor.findings.edits import Edit
from fitdoctor.findings.place import Where

KINDS = sorted(Edit.__subclasses__(), key=lambda kind: kind.__name__)
EXAMPLES: dict[str, object] = {
    "str": "name",
    "int": 2,
    "int | str": 0,
    "float": 1.0,
    "tuple[str, ...]": ("name",),
    "tuple[int, ...]": (1, 0),
    "tuple[tuple[int, str], ...]": ((3, "map"), (4, "batch")),
    "Where": Where("train.py", 3),
}


def _example(field: Field[object]) -> object:
    return EXAMPLES[str(field.type)]


def _made(kind: type[Edit]) -> Edit:
    needed = [one for one in fields(kind) if one.default is MISSING]
    return kind(**{one.name: _example(one) for one in needed})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_edit_can_be_applied_described_and_reported(kind: type[Edit]) -> None:
    edit_engine._load()
    edit = _made(kind)
    assert kind in edit_engine.applied.registry
    assert getattr(edits, kind.__name__) is kind
    report = edit.to_json()
    assert list(report) == ["edit", *(one.name for one in fields(kind)), "in_words"]
    assert report["edit"] == kind.__name__
    assert report["in_words"] == edit.in_words() != ""
    assert edit.rounds().steps >= 1


def test_an_applier_takes_the_edit_that_it_is_registered_for() -> None:
    edit_engine._load()
    for kind in KINDS:
        applier = edit_engine.applied.dispatch(kind)
        assert inspect.signature(applier).parameters["edit"].annotation == kind.__name__
