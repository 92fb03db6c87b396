"""What a run is started with: one typed object that the parent writes and the child reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from fitdoctor.contract.changed_calls import ChangedCall
from fitdoctor.contract.codec import decode, encode

VARIABLE = "FITDOCTOR_OPTIONS"


@dataclass(frozen=True)
class StepLimit:
    """End the script after so many steps or seconds: what two timed runs are compared by."""

    steps: int | None
    seconds: float


@dataclass(frozen=True)
class LearningOptions:
    """Write down what the training learned from and what it learned."""

    steps: int
    seconds: float
    weights: str  # the file that gets the weights
    seed: int | None = None


@dataclass(frozen=True)
class ForcedSettings:
    """What a trial forces on the script, whatever the script asks for."""

    threads: int | None = None
    backend: str | None = None
    device: str | None = None
    replicas: int | None = None


@dataclass(frozen=True)
class RunOptions:
    """How the recorder in the user's process behaves."""

    budget_s: float = 60.0  # of training to examine; up to half of it is recorded, then probed
    keep_running: bool = False  # after the examination
    probes: bool = True
    sweep: bool = False  # batch sizes on this device instead of all probes
    limit: StepLimit | None = None
    learning: LearningOptions | None = None
    forced: ForcedSettings = field(default_factory=ForcedSettings)
    sources: str | None = None  # the manifest of changed source files
    calls: tuple[ChangedCall, ...] = ()  # made with other arguments

    def to_text(self) -> str:
        """For the environment of the child."""
        return json.dumps(encode(self))

    @classmethod
    def from_text(cls, text: str) -> RunOptions:
        """What the parent wrote."""
        return decode(cls, json.loads(text))

    def changed(self, **changes: Any) -> RunOptions:
        """The same with some of them changed."""
        return replace(self, **changes)
