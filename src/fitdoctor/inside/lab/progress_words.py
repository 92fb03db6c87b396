"""What the person at the terminal reads while a script is examined."""

from __future__ import annotations

from fitdoctor.inside.ledger.callsite import Place

ROUND = "this line is inside a loop of your script: watching one round of it"


def recording(seconds: int, most: int, *, is_first: bool) -> str:
    """How far the recording is."""
    if is_first:
        return f"recording training for up to {most} s, then a few probes"
    return f"recording {seconds} of at most {most} s"


def probing(kind: str, place: Place | None, seconds: float) -> str:
    """What is examined now."""
    where = f" at line {place.line}" if place is not None else ""
    return (
        f"recorded {seconds:.0f} s; probing the {kind}{where} "
        "(frozen batch, loader alone, settings)"
    )
