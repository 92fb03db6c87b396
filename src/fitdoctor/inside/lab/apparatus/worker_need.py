"""How many threads a PyDataset could use that waits for its reads."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.evidence.loading import LoaderAlone
from fitdoctor.contract.limits import MOST_THREADS, THREADS_PER_CORE
from fitdoctor.inside.lab.apparatus.slow_input import IDLE_CORES
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.ledger.cpu import cores_by_affinity


def threads_for_waits() -> int:
    """As many as may wait at the same time on these cores."""
    return min(MOST_THREADS, THREADS_PER_CORE * cores_by_affinity())


def waits_for_more_threads(context: Context, dataset: Any) -> bool:
    """Whether a PyDataset waits, and has fewer workers than could wait at the same time."""
    alone = context.found(LoaderAlone)
    busy = alone.own_cores + alone.children_cores if alone is not None else 1.0
    return bool(busy < IDLE_CORES and dataset.workers < threads_for_waits())
