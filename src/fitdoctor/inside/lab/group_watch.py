"""A line that calls Keras again and again is watched: what the loop around it does in between."""

from __future__ import annotations

import sys
from types import CodeType

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.inside.lab.apparatus.loop_lines import LoopSampler
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.watched_lines import record_lines
from fitdoctor.inside.ledger.enclosing_loop import enclosing_loop

WATCHED_NS = 2 * NS_PER_S
CALLS = 8


class GroupWatch:
    """Samples the loop over some calls, then traces one element as it is made."""

    def __init__(self, context: Context, code: CodeType) -> None:
        """To be made on the loop's own thread, inside its body."""
        self._context = context
        self._sampler = LoopSampler(code)
        self._sampler.begin()
        self._begin = context.recorder.clock()
        self._calls = 0
        self._is_tracing = False

    def called(self) -> bool:
        """Another call has ended; True when enough was seen."""
        self._calls += 1
        if self._is_tracing:
            self._sampler.end_trace()
            self._record()
            return True
        elapsed = self._context.recorder.clock() - self._begin
        if elapsed >= WATCHED_NS and self._calls >= CALLS:
            self._sampler.end()
            self._sampler.trace()
            self._is_tracing = True
        return False

    def give_up(self) -> None:
        """The script ends: what was seen so far counts."""
        self._sampler.end()
        self._record()

    def _record(self) -> None:
        record_lines(self._context, self._sampler, self._calls)


def watch_group(context: Context) -> GroupWatch | None:
    """Begin to watch the loop that the last call was made in; None where there is none."""
    around = enclosing_loop(sys._getframe(1))
    return None if around is None else GroupWatch(context, around.frame.f_code)
