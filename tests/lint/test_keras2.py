"""Keras 2: lint says what it does not check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fitdoctor.cli.lint import command
from fitdoctor.lint.keras2 import keras2_files


@pytest.mark.parametrize(
    ("text", "is_keras2"),
    [
        ("import keras\n", False),
        ("import tensorflow as tf\n", False),
        ("# import tf_keras\n", False),
        ("import tf_keras as keras\n", True),
        ("if x:\n    from tf_keras.layers import Dense\n", True),
        ('os.environ["TF_USE_LEGACY_KERAS"] = "1"\n', True),
    ],
)
def test_what_is_keras_2(tmp_path: Path, text: str, is_keras2: bool) -> None:
    script, notebook = tmp_path / "a.py", tmp_path / "a.ipynb"
    script.write_text(text)
    cell = {"cell_type": "code", "source": text.splitlines(keepends=True)}
    notebook.write_text(json.dumps({"cells": [cell]}))
    assert keras2_files([script]) == ([script] if is_keras2 else [])
    assert keras2_files([notebook]) == ([notebook] if is_keras2 else [])


def test_it_is_said_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import tf_keras\n")
    (tmp_path / "b.py").write_text("import keras\n")
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert result.exit_code == 0
    assert f"{tmp_path / 'a.py'} uses Keras 2 (tf_keras)" in result.stderr
    as_json = CliRunner().invoke(command, ["--json", str(tmp_path)])
    assert json.loads(as_json.stdout)["keras2"] == [str(tmp_path / "a.py")]


def test_nothing_is_said_of_keras_3(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("import keras\n")
    assert "Keras 2" not in CliRunner().invoke(command, [str(tmp_path)]).stderr
