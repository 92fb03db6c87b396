"""Looks at the process's memory between steps, and for what grows where the memory does."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitdoctor.contract.evidence.memory import Holder, MemoryWhileTraining
from fitdoctor.inside.lab.apparatus.growing import Census
from fitdoctor.inside.lab.apparatus.memory import available_bytes, own_bytes
from fitdoctor.inside.seams.backends.device import bytes_in_use, device_facts

# After so many looks the growth so far says whether its cause is worth looking for.
LOOKS = 4
# What allocators take and give back between two looks.
NOTABLE_BYTES = 4 * 2**20
# A run of days must not fill the memory with looks at it: then every other one is kept.
MOST_LOOKS = 600


@dataclass
class _Looks:
    steps: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    host: list[int] = field(default_factory=list)
    device: list[int] = field(default_factory=list)
    census: Census | None = None

    @property
    def columns(self) -> tuple[list[int], ...]:
        return self.steps, self.epochs, self.host, self.device

    @property
    def grows(self) -> bool:
        """In every of the last looks."""
        return any(
            len(column) > LOOKS
            and column[-1] - column[-LOOKS] >= NOTABLE_BYTES
            and sorted(column[-LOOKS:]) == column[-LOOKS:]
            for column in (self.host, self.device)
        )


class MemoryWatch:
    """What each workload's memory was, step by step; called about twice a second."""

    def __init__(self) -> None:
        self._looks: dict[int, _Looks] = {}

    def look(self, workload: int, backend: str, steps: int, epoch: int) -> None:
        """One more look; the first time that memory grows also at what there is."""
        host = own_bytes()
        if host is None:
            return
        looks = self._looks.setdefault(workload, _Looks())
        if looks.steps and steps <= looks.steps[-1]:
            return
        device = bytes_in_use(backend)
        looks.steps.append(steps)
        looks.epochs.append(epoch)
        looks.host.append(host)
        if device is not None:
            looks.device.append(device)
        if looks.census is None and looks.grows:
            looks.census = Census(steps)
        if len(looks.steps) > MOST_LOOKS:
            for column in looks.columns:
                del column[1::2]

    def found(self, workload: int, backend: str) -> MemoryWhileTraining | None:
        """All looks, and what has grown since the first that saw growth."""
        looks = self._looks.get(workload)
        if looks is None:
            return None
        holders: tuple[Holder, ...] = ()
        if looks.census is not None:
            holders = looks.census.grown(looks.steps[-1])
        has_device = len(looks.device) == len(looks.steps)
        return MemoryWhileTraining(
            steps=tuple(looks.steps),
            epochs=tuple(looks.epochs),
            host=tuple(looks.host),
            device=tuple(looks.device) if has_device else None,
            host_left=available_bytes(),
            device_bytes=device_facts(backend).memory_bytes if has_device else None,
            holders=holders,
        )
