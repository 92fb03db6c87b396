"""Timing a Python iterator that Keras pulls its batches from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fitdoctor.inside.ledger.iterator_changes import waited_for_iterator
from fitdoctor.inside.ledger.recorder import Clock

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call


class TimedIterable:
    """An iterable whose every `next` is added to the call's input wait."""

    def __init__(self, iterable: Any, call: Call, clock: Clock) -> None:
        """Stand in for what Keras is about to call `iter` on."""
        self._iterable = iterable
        self._call = call
        self._clock = clock

    def __iter__(self) -> Iterator[Any]:
        return _TimedIterator(self._iterable, self._call, self._clock)


class _TimedIterator:
    __slots__ = ("_call", "_clock", "_iterable", "_made", "_next")

    def __init__(self, iterable: Any, call: Call, clock: Clock) -> None:
        begin = clock()
        self._iterable = iterable  # keeps a DataLoader's workers alive
        self._next = iter(iterable).__next__
        self._call = call
        self._clock = clock
        self._made: int | None = clock()
        call.wait += self._made - begin

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        clock = self._clock
        begin = clock()
        if self._made is not None:
            # Between being made and the first batch, Keras lets go of the epoch's before.
            waited_for_iterator(self._call, begin - self._made, begin)
            self._made = None
        try:
            batch = self._next()
        finally:
            self._call.wait += clock() - begin
        # A reference, not a copy: the frozen-batch probe needs one real batch.
        self._call.last_batch = batch
        return batch
