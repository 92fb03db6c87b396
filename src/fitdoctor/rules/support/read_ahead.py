"""The cure of a generator that takes turns with the model: a thread that makes its next batches."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import FITDOCTOR, Edit, WrapArgument
from fitdoctor.findings.finding import Cure, Where


def ahead(view: View, text: str) -> Cure:
    """The cure with these words; advice where no edit can make it."""
    edits = _edits(view)
    if not edits:
        return Cure("advice", text)
    # It is read some batches ahead, which matters where it draws random numbers.
    repeats = view.loader is not None and view.loader.repeats
    return Cure("safe" if repeats else "unsafe", text, edits)


def _edits(view: View) -> tuple[Edit, ...]:
    """The edit, for a generator that one fit reads to its end.

    A second fit of the same generator would miss what was read ahead for the first.
    """
    recorded = view.recorded
    if recorded.kind != "fit" or len(recorded.calls) != 1:
        return ()
    if not recorded.file or not recorded.line:
        return ()
    where = Where(recorded.file, recorded.line)
    before = "fitdoctor.read_ahead("
    return (WrapArgument(where, "fit", "x", before, ")", imports=(FITDOCTOR,), position=0),)
