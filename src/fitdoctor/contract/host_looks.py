"""Where the script was, a few times a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostPlace:
    """A line of the user's that the script was at."""

    file: str
    line: int
    function: str
    package: str | None = None  # that the line had called; None: its own Python ran


@dataclass(frozen=True)
class HostLook:
    """One look at the script's thread."""

    t: int
    place: HostPlace
