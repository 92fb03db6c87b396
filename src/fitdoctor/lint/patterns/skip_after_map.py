"""`skip` after `map`: everything that is skipped is made first (54 times later, measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.chain import nearest
from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match, pattern

# Elements that may be made in vain.
FEW = 10


@pattern(
    code="IN007",
    name="skip-after-decode",
    evidence="the first batch came 6 to 54 times later; `take` stops early and costs nothing",
    measured_by="skip-split",
    example="validation = data.map(decode).skip(9000)",
)
def find(module: Module) -> Iterator[Match]:
    """Splitting off a part after the work; `take` is harmless, it stops early."""
    message = (
        "skip after map runs the map on everything it skips, in every pass; split before the map"
    )
    for call, _ in module.calls("skip"):
        if not _is_few(call) and nearest(module, call, "map", "cache") == "map":
            yield call, message


def _is_few(call: ast.Call) -> bool:
    """A header line or two: nothing worth a change."""
    count = call.args[0] if call.args else None
    return isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value <= FEW
