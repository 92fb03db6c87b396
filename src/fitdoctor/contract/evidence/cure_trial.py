"""A cure that ran: the changed source, for a few seconds, in a fresh process."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.codec import Positive
from fitdoctor.contract.results import result


@result("cure_trial", keyed=True)
@dataclass(frozen=True, kw_only=True)
class CureTrial:
    """The key is the rule's code; `edits` says which of its cures was tried."""

    edits: str
    before_ns: Positive  # per step, steady state, over the same steps as the cured run
    after_ns: Positive
    steps: int  # of the cured run that were compared
    pairs: int  # fresh runs of both; 0: the cured run against the recorded one
    start_before_ns: Positive | None = None  # from the start of the process to the first step's end
    start_after_ns: Positive | None = None
