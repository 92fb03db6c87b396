"""Calls of the script that are made with other arguments: cures that its source cannot take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fitdoctor.contract.codec import Signed

# What an argument can be that is written down and read again.
PlainValue = bool | Signed | float | str | None
# Where a call enters its framework.
Seam = Literal["model", "callback", "py_dataset", "dataset", "loader"]

# Calls on a dataset that give a dataset. `apply` is apart: mostly what it calls is noted itself.
TRANSFORMATIONS = (
    "batch",
    "bucket_by_sequence_length",
    "cache",
    "concatenate",
    "enumerate",
    "filter",
    "flat_map",
    "group_by_window",
    "ignore_errors",
    "interleave",
    "map",
    "padded_batch",
    "prefetch",
    "ragged_batch",
    "rebatch",
    "rejection_resample",
    "repeat",
    "scan",
    "shard",
    "shuffle",
    "skip",
    "snapshot",
    "sparse_batch",
    "take",
    "take_while",
    "unbatch",
    "unique",
    "window",
    "with_options",
)


@dataclass(frozen=True)
class ChangedCall:
    """What is different about the calls from one line of the script."""

    file: str
    line: int
    seam: Seam
    call: str
    set: dict[str, PlainValue] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    instead: str | None = None  # another method of the same object, with the arguments it takes
    takes: tuple[str, ...] = ()  # those
    ignores: tuple[str, ...] = ()  # what makes no difference to it; any other is another call
    cache: bool = False  # of what the call returns
    options: dict[str, PlainValue] = field(default_factory=dict)  # of the dataset it returns
