"""Reading ahead in a loop: what must stay first."""

from __future__ import annotations

import pytest

from cures.edit_text import after, at, comments, is_there, why_not
from fitdoctor.findings.edits import ReadAheadInLoop

LOOP = """\
import keras

for x, y in batches(files):  # from disk
    model.train_on_batch(x, y)
"""
EDIT = ReadAheadInLoop(at(3))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("batches(files)", "range(100)", "its batches come from elsewhere"),
        ("batches(files)", "((a, b), (c, d))", "written out"),
        ("batches(files)", "batches(state)", "changes in the loop"),
        ("batches(files)", "buffer", "ends early"),
        ("for x, y in batches(files):", "while True:", "does not begin one for loop"),
    ],
)
def test_what_must_not_change(old: str, new: str, said: str) -> None:
    text = (
        LOOP.replace(old, new) + "    state = model.metrics\n    if done(state):\n        break\n"
    )
    assert said in why_not(text, EDIT)


def test_what_reads_ahead_already_is_there() -> None:
    assert is_there(LOOP.replace("batches(files)", "fitdoctor.read_ahead(batches(files))"), EDIT)


def test_the_loop_goes_over_the_same_batches_made_ahead() -> None:
    text = after(LOOP, EDIT)
    assert "for x, y in fitdoctor.read_ahead(batches(files)):  # from disk" in text
    assert "import fitdoctor\n" in text
    assert comments(text) == comments(LOOP)


def test_a_call_may_end_early_since_each_loop_makes_its_own() -> None:
    text = LOOP + "    if done():\n        break\n"
    assert "read_ahead(batches(files))" in after(text, EDIT)


def test_an_imported_name_is_kept() -> None:
    text = LOOP.replace("import keras\n", "from fitdoctor import read_ahead\n")
    assert "in read_ahead(batches(files)):" in after(text, EDIT)
