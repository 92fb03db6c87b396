"""Memory while training runs, and what holds more of it with every step."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.results import result


@dataclass(frozen=True, kw_only=True)
class Holder:
    """Something of the user's that grew with the steps."""

    name: str  # as the script writes it: `losses`, `Tracker.seen`
    kind: str  # list, dict, deque, set; graph: a tensor and all it was computed from
    entries: float  # more per step
    bytes: float | None = None  # more per step, as far as its entries tell
    entry: str | None = None  # what it keeps: a type with its shape
    limit: int | None = None  # entries that it may have at most, where it says so
    file: str | None = None
    line: int | None = None


@result("memory")
@dataclass(frozen=True, kw_only=True)
class MemoryWhileTraining:
    """Looks at the process's own memory between steps; one entry per look."""

    steps: tuple[int, ...]
    epochs: tuple[int, ...]
    host: tuple[int, ...]  # anonymous memory: no pages of files
    device: tuple[int, ...] | None = None  # in use on the accelerator
    host_left: int | None = None  # that can still be had, at the last look
    device_bytes: int | None = None  # in all
    holders: tuple[Holder, ...] = ()
