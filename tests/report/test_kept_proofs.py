"""A report finds the proof of its own script, and of no other."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fitdoctor.contract.records import Header, Recording
from fitdoctor.report.kept_proofs import KEPT, keep, kept_proof
from synthetic import recording

PROOF: dict[str, Any] = {"schema": 1, "verdict": "proven", "ratio": 2.0, "low": 1.9, "high": 2.1}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("model.fit(x)\n")
    return path


def recorded(script: Path) -> Recording:
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    return replace(recording(), header=Header(cwd=str(script.parent)), sources={"train.py": digest})


def test_none_where_nothing_was_proven(script: Path, tmp_path: Path) -> None:
    assert kept_proof(tmp_path / "nowhere", recorded(script)) is None


def test_not_that_of_another_version(script: Path, tmp_path: Path) -> None:
    keep(tmp_path, str(script), PROOF)
    script.write_text("model.fit(x, epochs=2)\n")
    assert kept_proof(tmp_path, recorded(script)) is None


def test_not_that_of_another_script(script: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_bytes(script.read_bytes())
    keep(tmp_path, str(other), PROOF)
    assert kept_proof(tmp_path, recorded(script)) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"about": 5}', '{"about": {"script": []}}'])
def test_what_is_no_proof_is_passed_over(script: Path, tmp_path: Path, text: str) -> None:
    keep(tmp_path, str(script), PROOF)
    (tmp_path / "9999_x.proof.json").write_text(text)
    found = kept_proof(tmp_path, recorded(script))
    assert found is not None and found.verdict == "proven"


def test_a_folder_that_cannot_be_written_to(script: Path, tmp_path: Path) -> None:
    keep(script, str(script), PROOF)
    keep(tmp_path, "missing.py", PROOF)
    assert list(tmp_path.glob("*.proof.json")) == []


def test_old_ones_are_pruned(script: Path, tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        (tmp_path / f"2020-01-01_00-00-{number:02d}_a.proof.json").write_text("{}")
    keep(tmp_path, str(script), PROOF)
    assert len(list(tmp_path.glob("*.proof.json"))) == KEPT
    assert kept_proof(tmp_path, recorded(script)) is not None
