"""EDITS -> CHANGED CALLS in the running script, where its source cannot take them.

Only what happens in one call can be done there: another argument, another method, a cache or an
option after a stage. Moving statements, decorating and rewriting needs the source.
"""

from __future__ import annotations

import ast
import functools

from fitdoctor.contract.changed_calls import TRANSFORMATIONS, ChangedCall, PlainValue, Seam
from fitdoctor.cures.draft import DeclinedEdit
from fitdoctor.findings.edits import (
    CACHE,
    AppendCall,
    DatasetOption,
    DropKeyword,
    Edit,
    RenameCall,
    SetKeyword,
)
from fitdoctor.findings.place import ANYWHERE

_MODEL_CALLS = frozenset({"compile", "fit", "evaluate", "predict"})
_CALLBACKS = frozenset({"BackupAndRestore", "ModelCheckpoint", "TensorBoard"})
_PY_DATASET_OPTIONS = frozenset({"workers", "use_multiprocessing", "max_queue_size"})
# Names of plain values.
_NAMED = {"tf.data.AUTOTUNE": -1}


def changed_call(edit: Edit) -> ChangedCall:
    """The form of an edit in the process.

    Raises:
        DeclinedEdit: It has none.
    """
    if edit.where.line == ANYWHERE:
        raise DeclinedEdit("which call it is was not recorded")
    return _in_process(edit)


@functools.singledispatch
def _in_process(edit: Edit) -> ChangedCall:
    raise DeclinedEdit("it needs a change of the source")


@_in_process.register
def _(edit: SetKeyword) -> ChangedCall:
    changed = {edit.keyword: _value(edit.value)}
    entry = _entry(edit.call, edit.keyword)
    return ChangedCall(edit.where.file, edit.where.line, *entry, set=changed)


@_in_process.register
def _(edit: DropKeyword) -> ChangedCall:
    entry = _entry(edit.call, edit.keyword)
    return ChangedCall(edit.where.file, edit.where.line, *entry, drop=(edit.keyword,))


@_in_process.register
def _(edit: RenameCall) -> ChangedCall:
    if not edit.same_result or edit.call not in _MODEL_CALLS:
        raise DeclinedEdit(f"{edit.call}() cannot be replaced in the process")
    return ChangedCall(
        edit.where.file,
        edit.where.line,
        "model",
        edit.call,
        instead=edit.to,
        takes=edit.takes,
        ignores=edit.drop,
    )


@_in_process.register
def _(edit: AppendCall) -> ChangedCall:
    _refuse_other_calls(edit.call)
    if edit.text != CACHE:
        raise DeclinedEdit(f"{edit.text} needs a change of the source")
    return ChangedCall(edit.where.file, edit.where.line, "dataset", edit.call, cache=True)


@_in_process.register
def _(edit: DatasetOption) -> ChangedCall:
    _refuse_other_calls(edit.call)
    options = {edit.option: _value(edit.value)}
    return ChangedCall(edit.where.file, edit.where.line, "dataset", edit.call, options=options)


def _refuse_other_calls(call: str) -> None:
    if call not in TRANSFORMATIONS:
        raise DeclinedEdit(f"{call}() is not a call on a dataset")


def _entry(call: str, keyword: str) -> tuple[Seam, str]:
    """Where the call enters its framework, and its name there."""
    if call in _MODEL_CALLS:
        return "model", call
    if call in _CALLBACKS:
        return "callback", call
    if call == "DataLoader":
        return "loader", call
    if keyword in _PY_DATASET_OPTIONS:
        return "py_dataset", "PyDataset"
    if call in TRANSFORMATIONS:
        return "dataset", call
    raise DeclinedEdit(f"{call}() cannot be changed in the process")


def _value(text: str) -> PlainValue:
    if text in _NAMED:
        return _NAMED[text]
    try:
        value = ast.literal_eval(text)
    except ValueError as error:
        raise DeclinedEdit(f"{text} is not a plain value") from error
    if not isinstance(value, bool | int | float | str | None):
        raise DeclinedEdit(f"{text} is not a plain value")
    return value
