"""A proof as a picture: how many steps fit into the same time, before and after."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.report.proof_file import Proof
from fitdoctor.report.step_time import time_text

# Steps of the slower side over the width of the picture. The faster side is drawn to scale, up to
# where its steps could not be told apart.
SLOWER_STEPS = 4
NARROWEST = 0.012


@dataclass(frozen=True)
class ProofPicture:
    """Two lanes of steps; widths are shares of the whole picture."""

    before: str
    after: str
    before_width: float
    after_width: float
    is_to_scale: bool


def proof_picture(proof: Proof) -> ProofPicture | None:
    """None where a side has no time of its own."""
    if proof.before_ns is None or proof.after_ns is None:
        return None
    slower = max(proof.before_ns, proof.after_ns)
    widths = [ns / slower / SLOWER_STEPS for ns in (proof.before_ns, proof.after_ns)]
    return ProofPicture(
        before=time_text(proof.before_ns),
        after=time_text(proof.after_ns),
        before_width=max(NARROWEST, widths[0]),
        after_width=max(NARROWEST, widths[1]),
        is_to_scale=min(widths) >= NARROWEST,
    )
