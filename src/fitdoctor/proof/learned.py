"""What one untimed run wrote down: its batches, its losses, its outputs and its weights."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.codec import decode
from fitdoctor.contract.learning import (
    KINDS,
    Batch,
    LearningEnd,
    LearningRecord,
    Loss,
    NoWeights,
    Output,
)
from fitdoctor.contract.records import Recording
from fitdoctor.proof.timeline import timeline_of

OUTPUTS = "~outputs"
NOT_READ = "the script ended before its weights were read"


@dataclass(frozen=True)
class Learned:
    """Everything that two runs are compared by."""

    steps: int
    batches: tuple[Batch, ...]
    losses: dict[int, float]  # by the number of steps done
    outputs: tuple[str, ...]  # digests
    weights: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    why_no_weights: str = ""
    epoch_ends: tuple[int, ...] = ()  # steps done at the end of each complete epoch


def read_learned(path: Path, weights: Path, recording: Recording) -> Learned:
    """Read what a run of `LearningWatch` left behind."""
    records = list(_records(path))
    steps = max((one.steps for one in records if isinstance(one, LearningEnd)), default=0)
    reasons = [one.reason for one in records if isinstance(one, NoWeights)]
    timeline = timeline_of(recording)
    arrays = _arrays(weights)
    has_weights = any(name != OUTPUTS for name in arrays)
    return Learned(
        steps=steps or (timeline.steps if timeline is not None else 0),
        batches=tuple(one for one in records if isinstance(one, Batch)),
        losses={one.steps: float.fromhex(one.loss) for one in records if isinstance(one, Loss)},
        outputs=tuple(one.digest for one in records if isinstance(one, Output)),
        weights=arrays,
        why_no_weights="" if has_weights else [NOT_READ, *reasons][-1],
        epoch_ends=_epoch_ends(recording),
    )


def _records(path: Path) -> Iterator[LearningRecord]:
    """The lines of a recording that are about learning; what is damaged is left out."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
            kind = KINDS.get(record["k"])
            if kind is not None:
                yield decode(kind, record)
        except (ValueError, LookupError, TypeError):
            continue


def _arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    if not path.exists():
        return {}
    # Never unpickled: an archive with objects in it is refused.
    with np.load(path, allow_pickle=False) as archive:
        names = [str(name) for name in archive["names"]]
        return {name: archive[f"a{number}"] for number, name in enumerate(names)}


def _epoch_ends(recording: Recording) -> tuple[int, ...]:
    """Where every epoch that another one follows, or whose fit returned, came to its end."""
    ends: list[int] = []
    done = 0
    for workload in recording.workloads:
        epochs = itertools.groupby(workload.blocks, key=lambda block: (block.call, block.epoch))
        for number, (_, blocks) in enumerate(epochs):
            if number:
                ends.append(done)
            done += sum(len(block.t) * block.executions for block in blocks)
    if not recording.examined and done:
        ends.append(done)
    return tuple(ends)
