"""Notebooks: their cells are one module, and a finding says which cell it is in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitdoctor.lint.check import SYNTAX, check_file, python_files


def notebook(folder: Path, *cells: str | list[str], kind: str = "code") -> Path:
    path = folder / "a.ipynb"
    made = [{"cell_type": kind, "source": cell} for cell in cells]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "x = ("}, *made]}))
    return path


@pytest.mark.parametrize(
    "cells",
    [
        ["import keras", "m.compile(loss='mse')"],
        ["import keras\n%matplotlib inline\n!pip install keras", "%%bash\nfor x in y; do z; done"],
        ["import keras\nfor x in y:\n    !ls\n", "%%time\nm.fit(x)"],
        [],
    ],
)
def test_silent(tmp_path: Path, cells: list[str]) -> None:
    assert check_file(notebook(tmp_path, *cells)) == []


def test_text_is_no_code(tmp_path: Path) -> None:
    file = notebook(tmp_path, "import keras\nm.compile(run_eagerly=True)", kind="markdown")
    assert check_file(file) == []


def test_a_finding_names_its_cell(tmp_path: Path) -> None:
    lines = ["%%fitdoctor\n", "x = 1\n", "m.compile(loss='mse', run_eagerly=True)"]
    file = notebook(tmp_path, "import keras", lines)
    (finding,) = check_file(file)
    assert finding.code == "HO004" and finding.place == f"{file}:cell 3:3:1"
    assert python_files([tmp_path]) == [file]


def test_a_comment_leaves_it_out(tmp_path: Path) -> None:
    text = "import keras\nm.compile(run_eagerly=True)  # fitdoctor: ignore[HO004]"
    assert check_file(notebook(tmp_path, text)) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 5}', "\x00"])
def test_what_is_no_notebook(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text(text)
    assert [finding.code for finding in check_file(file)] == [SYNTAX]


def test_wrong_code_is_told_with_its_cell(tmp_path: Path) -> None:
    (finding,) = check_file(notebook(tmp_path, "x = 1", "y = ("))
    assert (finding.code, finding.cell, finding.line) == (SYNTAX, 3, 1)
