"""Lines of a recording whose layout differs from the record that becomes of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from fitdoctor.contract.codec import BadValue, Signed, decode
from fitdoctor.contract.host_looks import HostLook, HostPlace
from fitdoctor.contract.records import CallbackTotal, CallRow, Raw, StepBlock


@dataclass(frozen=True)
class WorkloadLine:
    """A line of the script that trains was reached for the first time."""

    w: int
    kind: str
    t: int
    file: str | None = None
    line: int | None = None
    parent: int | None = None


@dataclass(frozen=True)
class StepsLine:
    """Steps, column by column."""

    w: int
    t: tuple[int, ...]
    step: tuple[int, ...]
    wait: tuple[int | None, ...]
    callbacks: tuple[int, ...]
    c: int = 0
    e: int = 0
    n: int = 1
    graph_wait: int | None = None
    others: float | None = None
    after_pause: bool = False

    def block(self) -> StepBlock:
        """The steps, checked.

        Raises:
            BadValue: there are none, columns differ in length, or times do not advance.
        """
        if len({len(column) for column in (self.t, self.step, self.wait, self.callbacks)}) > 1:
            raise BadValue("columns of different lengths")
        if not self.t or self.n < 1:
            raise BadValue("no steps")
        if any(later <= earlier for earlier, later in itertools.pairwise(self.t)):
            raise BadValue("times that do not advance")
        return StepBlock(
            call=self.c,
            epoch=self.e,
            executions=self.n,
            t=self.t,
            step=self.step,
            wait=self.wait,
            callbacks=self.callbacks,
            graph_wait=self.graph_wait,
            others_cores=self.others,
            after_pause=self.after_pause,
        )


@dataclass(frozen=True)
class EventLine:
    """An event; its detail is read by itself."""

    name: str
    t: int
    dur: int
    w: int | None = None
    c: int | None = None
    step: int | None = None


@dataclass(frozen=True)
class NoteLine:
    """A message for the reader of the report."""

    level: str
    message: str
    w: int | None = None


@dataclass(frozen=True)
class ExitLine:
    """How the script ended."""

    code: Signed | None = None
    signal: int | None = None


@dataclass(frozen=True)
class SourcesLine:
    """Digests of the source files."""

    sha256: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class LooksLine:
    """Looks at the script's thread, with the places they met."""

    places: tuple[HostPlace, ...]
    t: tuple[int, ...]
    p: tuple[int, ...]

    def looks(self) -> Iterator[HostLook]:
        """The looks, checked.

        Raises:
            BadValue: columns differ in length, or a place is not there.
        """
        if len(self.t) != len(self.p):
            raise BadValue("columns of different lengths")
        if any(index >= len(self.places) for index in self.p):
            raise BadValue("a place that is not there")
        return (HostLook(t, self.places[p]) for t, p in zip(self.t, self.p, strict=True))


@dataclass(frozen=True)
class OverheadLine:
    """What the recorder itself takes."""

    ns_per_step: float | None = None


@dataclass(frozen=True)
class OfWorkload:
    """The number of the workload that a line belongs to."""

    w: int


@dataclass(frozen=True)
class CallbacksLine:
    """Callbacks so far."""

    w: int
    items: tuple[CallbackTotal, ...]


def call_rows(record: Raw) -> Iterator[CallRow]:
    """Calls that are written column by column.

    Raises:
        BadValue: columns differ in length, or a value does not fit.
    """
    names = [one.name for one in fields(CallRow) if one.name in record]
    columns = [record[name] for name in names]
    if not all(isinstance(column, list) for column in columns):
        raise BadValue("a column is not a list")
    if len({len(column) for column in columns}) > 1:
        raise BadValue("columns of different lengths")
    for values in zip(*columns, strict=True):
        yield call_row(dict(zip(names, values, strict=True)))


def call_row(record: Raw) -> CallRow:
    """One call.

    Raises:
        BadValue: a value does not fit.
    """
    row = decode(CallRow, record)
    if not row.dur:
        raise BadValue("a call that takes no time")
    return row
