"""Few long epochs instead of many short ones: the same steps on the same batches."""

from __future__ import annotations

import libcst as cst

from fitdoctor.cures.calls import argument_of, called_name, find_call, keyword_argument
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.findings.edits import LongerEpochs

# Of `fit(x, y, batch_size, epochs)`.
_DATA, _EPOCHS = ("x", 0), ("epochs", 3)
# Arguments that count epochs, or that end them.
_BY_EPOCH = ("initial_epoch", "steps_per_epoch", "validation_freq")
# Expressions that a method can be called on as they stand.
_PRIMARY = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
# And that can be divided as they stand.
_FACTOR = (*_PRIMARY, cst.Integer)


@applied.register
def longer_epochs(edit: LongerEpochs, draft: Draft) -> Draft:
    """`fit(data, epochs=n)` becomes `fit(data.repeat(k), epochs=n // k)`."""
    call = find_call(draft, edit.where.line, "fit")
    for keyword in _BY_EPOCH:
        if keyword_argument(call, keyword) is not None:
            raise DeclinedEdit(f"fit() is given {keyword}, which counts epochs")
    data, epochs = argument_of(call, *_DATA), argument_of(call, *_EPOCHS)
    if data is None or epochs is None:
        raise DeclinedEdit(f"fit() is not given {'epochs' if data is not None else 'its data'}")
    if isinstance(data.value, cst.Call) and called_name(data.value) == "repeat":
        raise AlreadyThere("the dataset is repeated within an epoch")
    return draft.spliced(
        *_around(draft, data.value, _PRIMARY, f".repeat({edit.times})"),
        *_divided(draft, epochs.value, edit.times),
    )


def _divided(draft: Draft, epochs: cst.BaseExpression, times: int) -> list[Splice]:
    if not isinstance(epochs, cst.Integer):
        return _around(draft, epochs, _FACTOR, f" // {times}")
    fewer, left = divmod(epochs.evaluated_value, times)
    if left or not fewer:
        raise DeclinedEdit(f"{epochs.value} epochs are no multiple of {times}")
    return [draft.instead(epochs, str(fewer))]


def _around(
    draft: Draft, value: cst.BaseExpression, plain: tuple[type[cst.CSTNode], ...], suffix: str
) -> list[Splice]:
    """Something put after a value, in parentheses where it needs them."""
    begin, end = draft.start(value), draft.end(value)
    if isinstance(value, plain):
        return [Splice(end, end, suffix)]
    return [Splice(begin, begin, "("), Splice(end, end, ")" + suffix)]
