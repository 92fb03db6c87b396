"""Attention layers that do not take the fused path, and the step in which they do."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.evidence.timing import TimedBeside
from fitdoctor.contract.results import result


@result("fused_attention")
@dataclass(frozen=True, kw_only=True)
class FusedAttention(TimedBeside):
    """The user's own model, its attention layers free to take the fused path."""

    types: tuple[str, ...] = ()  # of the layers that were off it
    reasons: tuple[str, ...] = ()  # as Keras calls what kept them from it
