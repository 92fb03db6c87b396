"""`shuffle` after `batch`: batches change places, but hold the same samples for ever (measured)."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.chain import stages_before
from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match


class ShuffleAfterBatch:
    """The buffer holds whole batches: as much memory, and hardly any mixing."""

    code = "IN006"
    name = "late-shuffle"
    evidence = "every epoch had the same batches, in another order"
    measured_by = "late-shuffle"
    example = "data.batch(32).shuffle(1000)"

    def find(self, module: Module) -> Iterator[Match]:
        """`.batch(…)…shuffle(…)` without an unbatch or a cache between them.

        Who caches finished batches and then mixes them has given up the rest on purpose.
        """
        for call, _ in module.calls("shuffle"):
            for method, _stage in stages_before(module, call):
                if method in ("unbatch", "flat_map", "interleave", "cache"):
                    break
                if method in ("batch", "padded_batch"):
                    yield (
                        call,
                        "shuffle after batch mixes whole batches, whose samples stay "
                        "together in every epoch; shuffle before batch",
                    )
                    break


PATTERN = ShuffleAfterBatch()
