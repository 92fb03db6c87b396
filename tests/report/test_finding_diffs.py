"""The change of the source on the page: only where it is the source that was recorded."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from diagnoses import diagnosis, finding, healthy_workload, slow_workload

from fitdoctor.contract.records import Header, Recording, Script
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.findings.edits import DropKeyword
from fitdoctor.findings.finding import Cure, Where
from fitdoctor.report.html.page import render
from synthetic import recording

TEXT = "model = make()\nmodel.compile('<b>', run_eagerly=True)\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TEXT)
    return path


def recorded(script: Path) -> Recording:
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    header = Header(cwd=str(script.parent), script=Script("train.py"))
    return replace(recording(), header=header, sources={str(script): digest})


def found(script: Path) -> Diagnosis:
    where = Where(str(script), 2)
    cure = Cure("safe", "drop it", (DropKeyword(where, "compile", "run_eagerly"),))
    cured = finding("HO004", "eager-execution", where=where, cure=cure)
    return diagnosis(healthy_workload(findings=(cured,)))


def test_a_file_that_changed_since_has_no_diff(script: Path, tmp_path: Path) -> None:
    made = recorded(script)
    script.write_text(f"# new\n{TEXT}")
    assert '<pre class="diff">' not in render(found(script), made, cwd=str(tmp_path))


def test_a_cure_that_is_no_edit_has_no_diff() -> None:
    assert '<pre class="diff">' not in render(diagnosis(slow_workload()), recording())


def test_the_diff_is_shown_as_text(script: Path, tmp_path: Path) -> None:
    page = render(found(script), recorded(script), cwd=str(tmp_path))
    call = "model.compile(&#39;&lt;b&gt;&#39;"
    assert f'<span class="removed">-{call}, run_eagerly=True)</span>' in page
    assert f'<span class="added">+{call})</span>' in page
    assert '<span class="removed">--- ' not in page  # the names of the files are no removal
