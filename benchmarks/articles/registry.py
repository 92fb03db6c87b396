"""All claims, file by file: the articles' first, then what else is repeated."""

from __future__ import annotations

import importlib

from benchmarks.articles.claim import Claim

# In the order of the page.
MODULES = (
    "eager",
    "maps",
    "offline",
    "records",
    "workers",
    "layers",
    "gpu",
    "arrays",
    "order",
    "calls",
    "settings",
    "epochs",
)


def claims_of(module: str) -> tuple[Claim, ...]:
    """The claims of a file."""
    found = importlib.import_module(f"benchmarks.articles.{module}").CLAIMS
    return tuple(found)


def all_claims() -> list[Claim]:
    """Every claim."""
    return [claim for module in MODULES for claim in claims_of(module)]
