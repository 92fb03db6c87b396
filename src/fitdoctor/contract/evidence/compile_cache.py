"""Compiled programs that are kept on disk from one start of a script to the next."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.codec import Positive
from fitdoctor.contract.results import result


@result("compile_cache")
@dataclass(frozen=True)
class CompileCache:
    """Where the framework keeps compiled programs; None where it keeps none."""

    folder: str | None = None


@result("warm_start")
@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Two starts in fresh processes, the second with the programs that the first one kept.

    Nanoseconds from the start of the process to the end of its first step.
    """

    cold_ns: Positive
    warm_ns: Positive
    cold_compile_ns: float
    warm_compile_ns: float
    bytes: int  # on disk
