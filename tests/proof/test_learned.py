"""What a run wrote down about its learning is read as it was written, and damage is left out."""

from __future__ import annotations

import json
from pathlib import Path

from fitdoctor.contract.learning import (
    KINDS,
    NAMES,
    Batch,
    LearningEnd,
    LearningRecord,
    Loss,
    NoWeights,
    Output,
)
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import FORMAT, SCHEMA
from fitdoctor.contract.writer import append, record_of
from fitdoctor.proof.learned import NOT_READ, Learned, read_learned


def read_back(folder: Path, *records: LearningRecord, damage: bytes = b"") -> Learned:
    path = folder / "run.rec"
    path.write_bytes(json.dumps({"format": FORMAT, "schema": SCHEMA}).encode() + b"\n" + damage)
    for record in records:
        append(path, record_of(NAMES[type(record)], record))
    return read_learned(path, folder / "weights.npz", read_recording(path))


def test_every_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    batches = (Batch("a", 2, (1 << 61) - 1), Batch("b"))
    found = read_back(
        tmp_path, *batches, Loss(1, (0.1).hex()), Output("c"), NoWeights("gone"), LearningEnd(7)
    )
    assert found.batches == batches
    assert found.losses == {1: 0.1}
    assert found.outputs == ("c",)
    assert (found.steps, found.why_no_weights) == (7, "gone")


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    lines = [b'{"k": "batch"}', b'{"k": "loss", "steps": -1, "loss": "x"}', b"[1]", b'{"k": []}']
    found = read_back(tmp_path, Batch("a"), damage=b"\n".join([*lines, b'"cut']) + b"\n")
    assert found.batches == (Batch("a"),)
    assert found.losses == {}
    assert (found.steps, found.why_no_weights) == (0, NOT_READ)


def test_every_kind_has_one_name() -> None:
    assert {NAMES[kind]: kind for kind in NAMES} == KINDS
