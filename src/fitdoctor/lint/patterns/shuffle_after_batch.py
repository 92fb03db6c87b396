"""`shuffle` after `batch`: batches change places, but hold the same samples for ever (measured)."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.chain import nearest
from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match, pattern

_BATCHING = ("batch", "padded_batch")
# Who caches finished batches and then mixes them has given up the rest on purpose.
_BETWEEN = ("unbatch", "flat_map", "interleave", "cache")


@pattern(
    code="IN006",
    name="late-shuffle",
    evidence="every epoch had the same batches, in another order",
    measured_by="late-shuffle",
    example="data.batch(32).shuffle(1000)",
)
def find(module: Module) -> Iterator[Match]:
    """The buffer holds whole batches: as much memory, and hardly any mixing."""
    message = (
        "shuffle after batch mixes whole batches, whose samples stay together in every epoch; "
        "shuffle before batch"
    )
    for call, _ in module.calls("shuffle"):
        if nearest(module, call, *_BATCHING, *_BETWEEN) in _BATCHING:
            yield call, message
