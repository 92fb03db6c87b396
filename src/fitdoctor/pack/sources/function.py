"""Elements from the user's own function, named as module:function."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.element import normal
from fitdoctor.pack.schema import BadElement
from fitdoctor.pack.shard import Skipped
from fitdoctor.pack.sources.data_source import Block, Range, even_ranges

BLOCK_ITEMS = 64
# Items that are looked at to guess the size of all.
SAMPLED_ITEMS = 8


def load_function(spec: str) -> Callable[..., Any]:
    """Import module:function, with the current folder on the path as `python -m` has it.

    Raises:
        UsageError: There is no such module or function.
    """
    module, _, name = spec.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"cannot import {module}: {error}",
            expected="module:function that can be imported from this folder",
            advice="give the command in the folder of the module, or set PYTHONPATH",
        ) from error
    function = getattr(found, name, None)
    if not callable(function):
        raise UsageError(
            f"there is no function {name!r} in {found.__file__ or module}",
            expected="module:function",
        )
    return function  # type: ignore[no-any-return]


def code_stamp(spec: str) -> str:
    """A digest of the file that a function is defined in."""
    file = getattr(sys.modules.get(spec.partition(":")[0]), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


@dataclass
class Indexed:
    """Something with a length and items by number; a Keras PyDataset's items are batches."""

    spec: str
    count: int
    batches: bool
    item_bytes: float
    _made: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Other processes call the function themselves."""
        return self.__dict__ | {"_made": None}

    def facts(self) -> dict[str, Any]:
        code = code_stamp(self.spec)
        return {"kind": "indexed", "function": self.spec, "code": code, "count": self.count}

    def ranges(self, shard_bytes: int, at_least: int) -> list[Range]:
        """By the mean size of a few items."""
        return even_ranges(self.count, self.item_bytes, shard_bytes, at_least)

    def blocks(self, part: Range) -> Iterator[Block]:
        made = self._made if self._made is not None else load_function(self.spec)()
        step = 1 if self.batches else BLOCK_ITEMS
        for start in range(part.start, part.stop, step):
            stop = min(start + step, part.stop)
            block = Block(stop - start)
            for number in range(start, stop):
                self._add(made, number, block)
            yield block

    def _add(self, made: Any, number: int, block: Block) -> None:
        try:
            item = made[number]
        except Exception as error:  # noqa: BLE001 - the user's code; named and reported
            block.bad.append(Skipped(f"item {number}", f"{type(error).__name__}: {error}"))
            return
        if not self.batches:
            block.elements.append((f"item {number}", item))
            return
        try:
            block.elements.extend(_named_rows(item, number))
        except BadElement as error:
            block.bad.append(Skipped(f"batch {number}", str(error)))


@dataclass
class Streamed:
    """A tf.data dataset, a generator, or anything else that is read from its beginning."""

    spec: str
    unbatch: bool
    _made: Any = None

    def facts(self) -> dict[str, Any]:
        code = code_stamp(self.spec)
        return {"kind": "stream", "function": self.spec, "code": code, "unbatch": self.unbatch}

    def elements(self) -> Iterator[tuple[str, Any]]:
        """All elements, made again on every call except the first."""
        made, self._made = self._made, None
        made = made if made is not None else load_function(self.spec)()
        for number, item in enumerate(_iterated(made)):
            if self.unbatch:
                yield from _named_rows(item, number)
            else:
                yield f"item {number}", item


def _iterated(made: Any) -> Iterator[Any]:
    if not _is_tf_dataset(made):
        return iter(made)
    import tensorflow as tf

    if int(made.cardinality()) == tf.data.INFINITE_CARDINALITY:
        raise UsageError(
            "the tf.data dataset has no end",
            expected="a dataset that is read once",
            advice="leave out repeat()",
        )
    # A pack that is continued reads the same elements again and skips those it has.
    options = tf.data.Options()
    options.deterministic = True
    return iter(made.with_options(options).as_numpy_iterator())


def rows_of(batch: Any) -> Iterator[Any]:
    """The rows of a batch, as flat elements.

    Raises:
        BadElement: Its parts differ in length or have none.
    """
    flat = normal(batch) if not isinstance(batch, list) else normal(tuple(batch))
    lengths = {
        name: len(value) if isinstance(value, np.ndarray) and value.ndim else None
        for name, value in flat.items()
    }
    if len(set(lengths.values())) != 1 or None in lengths.values():
        raise BadElement(f"the parts of the batch differ in length: {lengths}")
    for row in range(next(iter(lengths.values())) or 0):
        yield {name: value[row, ...] for name, value in flat.items()}


def _named_rows(batch: Any, number: int) -> Iterator[tuple[str, Any]]:
    for row, element in enumerate(rows_of(batch)):
        yield f"row {row} of batch {number}", element


def open_function(spec: str, *, unbatch: bool) -> Indexed | Streamed:
    """Call the function and see what it returns.

    Raises:
        UsageError: It fails, or returns nothing that elements can come from.
    """
    function = load_function(spec)
    try:
        made = function()
    except Exception as error:
        raise UsageError(
            f"{spec} failed: {type(error).__name__}: {error}",
            expected="a function without arguments that returns a dataset",
        ) from error
    if _is_tf_dataset(made):
        return Streamed(spec, unbatch, made)
    batches = _inherits(made, "PyDataset", "keras")
    if batches or (hasattr(made, "__getitem__") and hasattr(made, "__len__")):
        if not isinstance(made, dict | str | bytes):
            return _indexed(spec, made, batches or unbatch)
    elif hasattr(made, "__iter__"):
        return Streamed(spec, unbatch, made)
    raise UsageError(
        f"{spec} returned a {type(made).__name__}",
        expected="a tf.data dataset, a PyDataset, a generator, or a thing with length and items",
    )


def _indexed(spec: str, made: Any, batches: bool) -> Indexed:
    count = len(made)
    sizes = [0.0]
    step = max(1, count // SAMPLED_ITEMS)
    for number in itertools.islice(range(0, count, step), SAMPLED_ITEMS):
        try:
            item = made[number]
            parts = normal(tuple(item) if batches and isinstance(item, list) else item)
        except Exception:  # noqa: BLE001 - a bad item is named when its turn comes
            continue
        sizes.append(sum(v.nbytes if isinstance(v, np.ndarray) else len(v) for v in parts.values()))
    return Indexed(spec, count, batches, sum(sizes) / max(1, len(sizes) - 1), made)


def _inherits(made: Any, name: str, package: str) -> bool:
    """Whether an object is of a library's class, which may not be imported here."""
    classes = type(made).__mro__
    return any(c.__name__ == name and c.__module__.startswith(package) for c in classes)


def _is_tf_dataset(made: Any) -> bool:
    return _inherits(made, "DatasetV2", "tensorflow")
