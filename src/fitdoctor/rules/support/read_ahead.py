"""The cure of a generator that takes turns with the model: a thread that makes its next batches."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import FITDOCTOR, ReadAheadInLoop, WrapArgument
from fitdoctor.findings.finding import Cure, Safety
from fitdoctor.findings.place import line_of
from fitdoctor.rules.support.places import at


def ahead(view: View, text: str) -> Cure:
    """The cure with these words; advice where no edit can make it."""
    recorded = view.recorded
    if recorded.kind == "loop":
        return _in_loop(view, text)
    # A second fit of the same generator would miss what was read ahead for the first.
    one_fit = recorded.kind == "fit" and len(recorded.calls) == 1
    edits = at(
        line_of(recorded) if one_fit else None,
        WrapArgument,
        "fit",
        "x",
        "fitdoctor.read_ahead(",
        ")",
        imports=(FITDOCTOR,),
        position=0,
    )
    if not edits:
        return Cure("advice", text)
    return Cure(_safety(view), text, edits)


def _in_loop(view: View, text: str) -> Cure:
    """Of a generator; a DataLoader has workers of its own."""
    is_generator = view.input.kind == "generator"
    edits = at(line_of(view.recorded) if is_generator else None, ReadAheadInLoop)
    return Cure(_safety(view), text, edits) if edits else Cure("advice", text)


def _safety(view: View) -> Safety:
    """It is read some batches ahead, which matters where it draws random numbers."""
    return "safe" if view.loader is not None and view.loader.repeats else "unsafe"
