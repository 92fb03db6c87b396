"""EDITS -> CHANGES OF CALLS in the running script, where its source cannot take them.

Only what happens in one call can be done there: another argument, another method, a cache or an
option behind a stage. Moving statements, decorating and rewriting needs the source.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any

from fitdoctor.cures.declined import DeclinedEdit
from fitdoctor.findings.edits import (
    CACHE,
    AppendCall,
    DatasetOption,
    DropKeyword,
    Edit,
    RenameCall,
    SetKeyword,
)
from fitdoctor.findings.place import ANYWHERE, Where
from fitdoctor.inside.seams.inputs.tf_pipeline import TRANSFORMATIONS

_MODEL_CALLS = frozenset({"compile", "fit", "evaluate", "predict"})
_CALLBACKS = frozenset({"BackupAndRestore", "ModelCheckpoint", "TensorBoard"})
_PY_DATASET_OPTIONS = frozenset({"workers", "use_multiprocessing", "max_queue_size"})
# Names that stand for a plain value.
_NAMED = {"tf.data.AUTOTUNE": -1}


@dataclass(frozen=True)
class CallChange:
    """What is different about the calls from one line of the script."""

    where: Where
    seam: str  # where the call enters its framework; see recorder/call_changes.py
    call: str
    set: dict[str, Any] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    instead: str | None = None
    takes: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    cache: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def at(self, line: int) -> CallChange:
        """The same on another line: the text above it has changed."""
        return replace(self, where=Where(self.where.file, line))

    def to_json(self) -> dict[str, Any]:
        """The form in which the script's process reads it."""
        return {
            "file": self.where.file,
            "line": self.where.line,
            "seam": self.seam,
            "call": self.call,
            "set": self.set,
            "drop": list(self.drop),
            "instead": self.instead,
            "takes": list(self.takes),
            "ignores": list(self.ignores),
            "cache": self.cache,
            "options": self.options,
        }


def call_change(edit: Edit) -> CallChange:
    """The form of an edit in the process.

    Raises:
        DeclinedEdit: It has none.
    """
    if edit.where.line == ANYWHERE:
        raise DeclinedEdit("which call it is was not recorded")
    if isinstance(edit, SetKeyword):
        return CallChange(edit.where, *_entry(edit), set={edit.keyword: _value(edit.value)})
    if isinstance(edit, DropKeyword):
        return CallChange(edit.where, *_entry(edit), drop=(edit.keyword,))
    if isinstance(edit, RenameCall) and edit.same_result and edit.call in _MODEL_CALLS:
        return CallChange(
            edit.where,
            "model",
            edit.call,
            instead=edit.to,
            takes=edit.takes,
            ignores=edit.drop,
        )
    if isinstance(edit, AppendCall) and edit.text == CACHE and edit.call in TRANSFORMATIONS:
        return CallChange(edit.where, "dataset", edit.call, cache=True)
    if isinstance(edit, DatasetOption) and edit.call in TRANSFORMATIONS:
        options = {edit.option: _value(edit.value)}
        return CallChange(edit.where, "dataset", edit.call, options=options)
    raise DeclinedEdit("it needs a change of the source")


def _entry(edit: SetKeyword | DropKeyword) -> tuple[str, str]:
    """Where the call enters its framework, and its name there."""
    if edit.call in _MODEL_CALLS:
        return "model", edit.call
    if edit.call in _CALLBACKS:
        return "callback", edit.call
    if edit.call == "DataLoader":
        return "loader", edit.call
    if edit.keyword in _PY_DATASET_OPTIONS:
        return "py_dataset", "PyDataset"
    if edit.call in TRANSFORMATIONS:
        return "dataset", edit.call
    raise DeclinedEdit(f"{edit.call}() cannot be changed on its way")


def _value(text: str) -> Any:
    if text in _NAMED:
        return _NAMED[text]
    try:
        return ast.literal_eval(text)
    except ValueError as error:
        raise DeclinedEdit(f"{text} is no plain value") from error
