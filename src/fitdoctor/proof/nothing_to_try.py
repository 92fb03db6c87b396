"""Where no cure can be tried: why, and what to do instead."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.cures.patch import Declined, Patch
from fitdoctor.proof.cured import Examined

# What another option would allow, by kind of cure.
OPTIONS = {
    "unsafe": "--unsafe tries what may change the training",
    "packs": "--pack FOLDER tries what stores data on disk",
}
BY_HAND = "then: fitdoctor prove {script} CHANGED.py"


def nothing_to_try(examined: Examined, patch: Patch) -> tuple[str, tuple[str, ...]]:
    """The reason in a sentence, and lines that say what to do."""
    if not examined.findings:
        verdicts = ", ".join(sorted({w.verdict for w in examined.diagnosis.workloads}))
        reason = f"there was nothing to try: no cause of slowness was found ({verdicts})"
        return reason, ("fitdoctor report -v shows where the time goes",)
    kinds = {one.kind for one in patch.declined}
    # `unsafe` only leaves a cure out while it is not asked for.
    found = "; ".join(dict.fromkeys(f"{one.finding.rule}: {one.reason}" for one in patch.declined))
    reason = f"there was nothing to try: {found or 'no finding has a cure that is an edit'}"
    options = [text for kind, text in OPTIONS.items() if kind in kinds]
    return reason, (*options, *_by_hand(examined, patch.declined))


def _by_hand(examined: Examined, declined: tuple[Declined, ...]) -> Iterator[str]:
    by_hand = [one for one in declined if one.kind in ("declined", "advice")]
    lines = dict.fromkeys(f"{one.finding.rule}: {one.advice}" for one in by_hand)
    if lines:
        yield from lines
        yield BY_HAND.format(script=examined.target.target)
