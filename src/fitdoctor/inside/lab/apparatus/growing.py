"""Which containers of the user's grow from one look to another, and by what."""

from __future__ import annotations

import gc
import linecache
import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NamedTuple

from fitdoctor.contract.evidence.memory import Holder
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.seams.models.kept_graphs import graph_size

CONTAINERS = (list, dict, deque, set)
# Of the steps in between, so many entries more: less is no growth with the steps.
OFTEN = 0.2
LEAST_ENTRIES = 3
# Entries that are looked into for their size.
SAMPLED = 8
MOST_HOLDERS = 3
# A dict of few entries may be a record whose entries grow.
SMALL = 64
# Names of a number that a buffer's author gives its largest length.
_LIMIT = re.compile(r"cap|max|size|limit|len", re.IGNORECASE)


class Owned(NamedTuple):
    """A container that a name of the user's stands for."""

    name: str
    file: str
    container: Any
    beside: dict[str, Any]  # what else its owner has


class Census:
    """Lengths of all containers of the user's, and the graphs behind tensors they have."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        # Numbers, not objects: what goes away must not be kept by being looked at.
        self._lengths = {id(one.container): len(one.container) for one in _owned()}
        self._graphs = {
            name: graph_size(value) for name, _, value in _locals() if _is_tensor(value)
        }

    def grown(self, steps: int) -> tuple[Holder, ...]:
        """What has grown since, the largest first; `steps` are done by now."""
        passed = steps - self._steps
        if passed <= 0:
            return ()
        found = [*self._grown_graphs(passed), *self._grown_containers(passed)]
        found.sort(key=lambda one: -(one.bytes or 0.0))
        return tuple(found[:MOST_HOLDERS])

    def _grown_containers(self, passed: int) -> Iterator[Holder]:
        least = max(LEAST_ENTRIES, OFTEN * passed)
        for one in {id(one.container): one for one in reversed(list(_owned()))}.values():
            before = self._lengths.get(id(one.container))
            if before is not None and len(one.container) - before >= least:
                yield _holder(one, (len(one.container) - before) / passed)

    def _grown_graphs(self, passed: int) -> Iterator[Holder]:
        for name, file, value in _locals():
            before = self._graphs.get(name)
            if before is None or not _is_tensor(value):
                continue
            more = graph_size(value) - before
            if more >= max(LEAST_ENTRIES, OFTEN * passed):
                line = _line_that_grows(file, name, rf"{name}\s*(\+=|=.*\b{name}\b)")
                yield Holder(name=name, kind="graph", entries=more / passed, file=file, line=line)


def _holder(owned: Owned, per_step: float) -> Holder:
    entries = _last_entries(owned.container)
    sizes = [_bytes_of(entry) for entry in entries]
    short = owned.name.rpartition(".")[2].partition("[")[0]
    entry = rf"\b{short}(\[[^\]]*\])*"
    adds = r"\.(append|appendleft|extend|add|insert|update|setdefault)\("
    grows = rf"{entry}\s*({adds}|\+=)|\b{short}(\[[^\]]*\])+\s*=[^=]"
    return Holder(
        name=owned.name,
        kind=type(owned.container).__name__,
        entries=per_step,
        bytes=per_step * sum(sizes) / len(sizes) if sizes else None,
        entry=_words(entries[-1]) if entries else None,
        limit=_limit(owned),
        file=owned.file,
        line=_line_that_grows(owned.file, short, grows),
    )


def _owned() -> Iterator[Owned]:
    """Of the functions that run, the modules and the objects of the user's classes.

    The garbage collector's own list lacks dicts of arrays.
    """
    for name, place, value in _locals():
        yield from _within(Owned(name, place, value, {}))
    for module in list(sys.modules.values()):
        if (file := _file_of(module)) is not None:
            yield from _attributes(file, "", vars(module))
    files = {
        kind: file
        for kind in {type(one) for one in gc.get_objects()}
        if (file := _file_of(sys.modules.get(kind.__module__))) is not None
    }
    for one in gc.get_objects():
        users = files.get(type(one))
        if users is not None and isinstance(getattr(one, "__dict__", None), dict):
            yield from _attributes(users, f"{type(one).__name__}.", vars(one))


def _attributes(file: str, prefix: str, names: dict[str, Any]) -> Iterator[Owned]:
    for name, value in list(names.items()):
        yield from _within(Owned(f"{prefix}{name}", file, value, names))


def _within(owned: Owned) -> Iterator[Owned]:
    """A container, and the containers in a small one: `history["loss"]`."""
    if type(owned.container) not in CONTAINERS:
        return
    yield owned
    if isinstance(owned.container, dict) and len(owned.container) <= SMALL:
        for key, value in list(owned.container.items()):
            if type(value) in CONTAINERS and isinstance(key, str):
                yield owned._replace(name=f'{owned.name}["{key}"]', container=value)


def _file_of(module: Any) -> str | None:
    """Of a module of the user's."""
    file = getattr(module, "__file__", None)
    return os.path.abspath(file) if isinstance(file, str) and is_user_file(file) else None


def _last_entries(one: Any) -> list[Any]:
    if isinstance(one, list | deque):
        return list(one)[-SAMPLED:]
    values = list(one.values()) if isinstance(one, dict) else list(one)
    return values[-SAMPLED:]


def _bytes_of(entry: Any, depth: int = 2) -> float:
    """Of an entry, with the arrays in it."""
    count = getattr(entry, "nbytes", None)
    if isinstance(count, int):
        return float(count)
    if depth and isinstance(entry, list | tuple | set | deque):
        return sys.getsizeof(entry) + sum(_bytes_of(one, depth - 1) for one in entry)
    if depth and isinstance(entry, dict):
        return sys.getsizeof(entry) + sum(_bytes_of(one, depth - 1) for one in entry.values())
    return float(sys.getsizeof(entry))


def _words(entry: Any) -> str:
    shape = getattr(entry, "shape", None)
    name = type(entry).__name__
    return name if shape is None else f"{name} {tuple(shape)}"


def _is_tensor(value: Any) -> bool:
    return getattr(value, "grad_fn", None) is not None


def _locals() -> Iterator[tuple[str, str, Any]]:
    """Names of the user's functions that run now, with their files and values."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_file(file):
            for name, value in list(frame.f_locals.items()):
                yield name, os.path.abspath(file), value
        frame = frame.f_back


def _limit(owned: Owned) -> int | None:
    """The length that a buffer stops at, where it or its owner says so."""
    container = owned.container
    if isinstance(container, deque) and container.maxlen is not None:
        return container.maxlen
    named = (
        value
        for name, value in owned.beside.items()
        if isinstance(name, str) and type(value) is int and _LIMIT.search(name)
    )
    return min((value for value in named if value >= len(container)), default=None)


def _line_that_grows(file: str, name: str, pattern: str) -> int | None:
    """The first line of a file that adds to what has this name."""
    if not name.isidentifier():
        return None
    lines: Iterable[str] = linecache.getlines(file)
    found = re.compile(pattern)
    return next((number for number, text in enumerate(lines, 1) if found.search(text)), None)
