"""Whether loading explains what training loses: only then is it worth asking why it is slow."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.evidence.loading import InputFacts, LoaderAlone
from fitdoctor.contract.limits import MOST_THREADS, THREADS_PER_CORE
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.ledger.cpu import cores_by_affinity
from fitdoctor.inside.ledger.running_call import Call

# Loading must explain this share of what a step takes longer than on a frozen batch.
EXPLAINS = 0.3
# Threads that wait; more of them flood a server.
MOST_WAITING = 32
# Fewer busy cores than this: the loader waits rather than works.
IDLE_CORES = 0.6


def loading_explains_loss(context: Context) -> bool:
    """Whether the loader alone is slow enough for the time that a fit loses."""
    if not context.input_matters:
        return False
    lost = (context.period_ns or 0.0) - (context.step_ns or 0.0)
    alone = context.found(LoaderAlone)
    return lost > 0 and (alone is None or _loading_ns(context.fit, alone) >= EXPLAINS * lost)


def slow_adapter(context: Context, *kinds: str) -> Any:
    """Keras's adapter of data of these kinds, where loading explains the loss; else None."""
    facts = context.found(InputFacts)
    if facts is None or facts.kind not in kinds or not loading_explains_loss(context):
        return None
    return context.adapter


def _loading_ns(call: Call, alone: LoaderAlone) -> float:
    """What loading may cost a step: bursts, and the start of each epoch, are part of it."""
    often = (call.epochs + 1) / max(1, call.steps)
    return sum(alone.ns) / max(1, len(alone.ns)) + often * alone.first_batch_ns


def threads_for_waits() -> int:
    """As many as may wait at the same time on these cores."""
    return min(MOST_THREADS, THREADS_PER_CORE * cores_by_affinity())


def waits_for_more_threads(context: Context, dataset: Any) -> bool:
    """Whether a PyDataset waits, and has fewer workers than could wait at the same time."""
    alone = context.found(LoaderAlone)
    busy = alone.own_cores + alone.children_cores if alone is not None else 1.0
    return bool(busy < IDLE_CORES and 2 * dataset.workers <= MOST_WAITING)
