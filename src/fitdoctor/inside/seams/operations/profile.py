"""Some steps under the framework's profiler, as times by layer and kind of operation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fitdoctor.contract.evidence.operations import Operations, OperationTime
from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.layer_names import LayerNames
from fitdoctor.inside.seams.operations.spans import Span, divided

MOST_ROWS = 200


class Operation(NamedTuple):
    """What a span is: the scopes it was made in, its kind, and whether it makes gradients."""

    path: tuple[str, ...]
    op: str
    backward: bool = False


class Profile(NamedTuple):
    """What a profiler saw, thread by thread, and from when to when the steps ran."""

    threads: Sequence[Sequence[Span[Operation]]]
    begin: float
    end: float
    on_device: bool = False  # the threads are streams of a GPU


Profiler = Callable[[Callable[[], None]], Profile]


def operations(
    profiler: Profiler, run: Callable[[], None], steps: int
) -> Callable[..., Operations]:
    """Profile `run`, which does so many steps and waits for them.

    Returns:
        A function from the names of the layers to what was seen.
    """
    begin = time.perf_counter_ns()
    profile = profiler(run)
    took = time.perf_counter_ns() - begin
    if not any(profile.threads) or profile.end <= profile.begin:
        raise NotAvailable("the profiler saw no operation")
    return lambda layers: summed(profile, steps, layers, took)


def summed(profile: Profile, steps: int, layers: Sequence[str], took_ns: float) -> Operations:
    """Times per step, by layer and kind of operation; the costliest first."""
    names = LayerNames(layers)
    names.learn(span.key.path for spans in profile.threads for span in spans)
    found = divided(profile.threads, profile.begin, profile.end)
    rows: dict[tuple[str | None, str | None, str, bool], tuple[float, int]] = {}
    for operation, ns in found.ns.items():
        layers_on = names.layers_on(operation.path)
        inner, outer = (layers_on[-1], layers_on[0]) if layers_on else (None, None)
        key = (inner, outer, operation.op, operation.backward)
        before = rows.get(key, (0.0, 0))
        rows[key] = (before[0] + ns, before[1] + found.times[operation])
    ordered = sorted(rows.items(), key=lambda row: -row[1][0])
    wall = min(took_ns, profile.end - profile.begin)
    return Operations(
        steps=steps,
        wall_ns=max(1.0, wall / steps),
        idle_ns=found.idle_ns / steps,
        count=sum(found.times.values()) / steps,
        on_device=profile.on_device,
        rows=tuple(
            OperationTime(
                layer=layer, within=within, op=op, backward=backward, ns=ns / steps, count=n / steps
            )
            for (layer, within, op, backward), (ns, n) in ordered[:MOST_ROWS]
        ),
    )
