"""`skip` after `map`: everything that is skipped is made first (54 times later, measured)."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.chain import stages_before
from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match


class SkipAfterMap:
    """Splitting off a part behind the work; `take` is harmless, it stops early."""

    code = "IN007"
    name = "skip-after-decode"

    def find(self, module: Module) -> Iterator[Match]:
        """`.map(…)…skip(…)` without a cache between them."""
        for call, _ in module.calls("skip"):
            for method, _stage in stages_before(module, call):
                if method == "cache":
                    break
                if method == "map":
                    yield (
                        call,
                        "skip after map runs the map on everything it skips, in every "
                        "pass; split before the map",
                    )
                    break


PATTERN = SkipAfterMap()
