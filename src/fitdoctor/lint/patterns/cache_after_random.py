"""`cache` after a random map: every epoch repeats the first one's augmentation (measured)."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.chain import is_random, stages_before
from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match, pattern


@pattern(
    code="IN004",
    name="frozen-augmentation",
    evidence="three epochs were the same to the last digit",
    measured_by="cache-last",
    example="data.map(augment).cache()",
)
def find(module: Module) -> Iterator[Match]:
    """The cache keeps what was drawn in the first epoch."""
    message = (
        "cache after a random map freezes it: every epoch sees the same; "
        "put cache before the random map"
    )
    for call, _ in module.calls("cache"):
        maps = [stage for method, stage in stages_before(module, call) if method == "map"]
        if any(stage.args and is_random(module, stage.args[0]) for stage in maps):
            yield call, message
