"""The notebook of the documentation runs as it stands, on a fresh kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "why_is_it_slow.ipynb"


def text_of(cell: Any) -> str:
    """Everything that a cell shows."""
    shown = []
    for output in cell.outputs:
        shown += [output.get("text", ""), *output.get("data", {}).values()]
    return " ".join("\n".join(shown).split())  # as one line, wherever the screen wraps


def test_no_results_are_stored_in_it() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.end_to_end
def test_it_finds_that_training_waits_and_the_cure_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    # What is installed there is installed here.
    notebook.cells = [
        cell for cell in notebook.cells if "install" not in cell.metadata.get("tags", ())
    ]
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    examined, _, compared = (
        text_of(cell)
        for word in ("Signals(), epochs", "WholeBatches(), epochs", "fitdoctor compare")
        for cell in notebook.cells
        if cell.cell_type == "code" and word in cell.source
    )
    # Whether the cause is named depends on what else the machine does; the verdict does not.
    assert "training waits for its" in examined.lower() and "srcdoc=" in examined
    assert "faster" in compared
