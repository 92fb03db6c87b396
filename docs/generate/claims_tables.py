"""Tables of the claims: who says what, what was measured, what to make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.articles.__main__ import words
from benchmarks.articles.claim import Claim
from benchmarks.articles.registry import all_claims

RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "articles.json"
_HEAD = ["| claim | measured | verdict |", "|---|---|---|"]


def articles() -> str:
    """The claims of the articles, article by article."""
    found = [claim for claim in all_claims() if claim.source.startswith("article")]
    return _table(sorted(found, key=lambda claim: claim.source))


def advice() -> str:
    """What is said elsewhere."""
    return _table([claim for claim in all_claims() if claim.source == "popular advice"])


def machine() -> str:
    """Where and when it was measured."""
    rows = _rows()
    dates = sorted({row["date"] for row in rows})
    cpus = json.loads(RESULT.read_text(encoding="utf-8"))["machine"]["cpus"]
    return f"Measured on a machine with {cpus} cores and no GPU, {dates[0]} to {dates[-1]}."


def _table(claims: list[Claim]) -> str:
    return "\n".join([*_HEAD, *(_line(claim) for claim in claims)])


def _line(claim: Claim) -> str:
    source = "" if claim.source == "popular advice" else f"**{claim.source}.** "
    says = f"{source}{claim.says}. <br>`{claim.id}`"
    return f"| {says} | {_measured(claim)} | **{claim.verdict}**: {claim.because} |"


def _measured(claim: Claim) -> str:
    if claim.measure is None:
        repeat = f" <br>`{claim.command}`" if claim.command else ""
        return (claim.elsewhere or "not measured") + repeat
    rows = [row for row in _rows() if row["id"] == claim.id]
    if not rows:
        return "not measured"
    several = len(claim.backends) > 1
    texts = [(f"{row['backend']}: " if several else "") + words(row) for row in rows]
    return " <br>".join(texts).replace("|", "\\|")


def _rows() -> list[dict[str, Any]]:
    return list(json.loads(RESULT.read_text(encoding="utf-8"))["rows"])
