"""A piece of a step that is not divided further."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.places import CodeLine


@dataclass(frozen=True)
class Leaf:
    """A piece of a step that is not divided further."""

    part: str  # of the breakdown
    what: str
    ns: float
    where: CodeLine | None = None
    floor_ns: float | None = None  # what this machine needs at least; None: not known
    is_kernel: bool = False  # one of the framework's own layers: as fast as its kernels
    layer: str | None = None
    calls: int = 1  # of the layer, in one step

    @property
    def headroom_ns(self) -> float | None:
        """What is above the floor."""
        return None if self.floor_ns is None else max(0.0, self.ns - self.floor_ns)
