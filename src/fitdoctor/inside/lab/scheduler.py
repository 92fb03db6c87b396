"""Runs the probes of an examination: in order, with one patience, and everything put back."""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from graphlib import CycleError, TopologicalSorter
from typing import Any

from fitdoctor.inside.lab.apparatus.windows import Patience, measuring_with
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject, probes_of
from fitdoctor.inside.lab.recording import run_and_record
from fitdoctor.inside.seams.backends.randomness import snapshot_python

_PROBES = "fitdoctor.inside.lab.probes"
# The running iterator's threads fill their buffers after training pauses.
SETTLE_S = 0.3

AnyProbe = Probe[Any]


class BadOrder(Exception):
    """Probes that cannot be put in order; says which and why."""


@functools.cache
def all_probes() -> tuple[AnyProbe, ...]:
    """Every probe of `lab/probes`, in order."""
    package = importlib.import_module(_PROBES)
    names = sorted(one.name for one in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{_PROBES}.{name}") for name in names]
    return ordered([probe for module in modules for probe in probes_of(module)])


def ordered(probes: Sequence[AnyProbe]) -> tuple[AnyProbe, ...]:
    """By phase; within a phase by `after`, then by name.

    Raises:
        BadOrder: two have one name, or `after` names no probe of the phase, or goes in a circle.
    """
    by_name = {probe.name: probe for probe in probes}
    if len(by_name) < len(probes):
        raise BadOrder("two probes have the same name")
    phases = {probe.phase for probe in probes}
    found: list[AnyProbe] = []
    for phase in sorted(phases):
        found += _in_phase({n: one for n, one in by_name.items() if one.phase == phase}, phase)
    return tuple(found)


def _in_phase(probes: dict[str, AnyProbe], phase: Phase) -> Iterator[AnyProbe]:
    for name, probe in probes.items():
        unknown = set(probe.after) - set(probes)
        if unknown:
            raise BadOrder(f"{name} comes after {min(unknown)}, which is not in {phase.name}")
    sorter = TopologicalSorter({name: probe.after for name, probe in probes.items()})
    try:
        sorter.prepare()
    except CycleError as error:
        raise BadOrder(f"probes come after each other: {', '.join(error.args[1])}") from None
    while sorter.is_active():
        # The first by name of those that are free, so that the order is always the same.
        free = sorted(sorter.get_ready())
        yield from (probes[name] for name in free)
        sorter.done(*free)


class Scheduler:
    """Runs one examination after another; each starts with all its patience."""

    def __init__(
        self, probes: Sequence[AnyProbe] | None = None, settle_s: float = SETTLE_S
    ) -> None:
        """`probes` in their order; all that there are where none are given."""
        self._probes = probes
        self._settle_s = settle_s

    def examine(self, context: Context) -> None:
        """Snapshot, run what is wanted, and restore; nothing meanwhile counts as training."""
        probes = all_probes() if self._probes is None else self._probes
        patience = Patience()
        with context.recorder.suspend(), _put_back(context):
            if context.subject is Subject.FIT:
                time.sleep(self._settle_s)
            is_spread = context.is_spread
            chosen = [probe for probe in probes if _is_for(probe, context, is_spread)]
            for _, phase in itertools.groupby(chosen, key=lambda probe: probe.phase):
                try:
                    for probe in phase:
                        _run_if_wanted(probe, context, patience)
                finally:
                    # What probes of a phase share must not disturb the next one.
                    context.close()


def _is_for(probe: AnyProbe, context: Context, is_spread: bool) -> bool:
    is_allowed = probe.on_spread_models or not is_spread
    return is_allowed and context.subject in probe.subjects


def _run_if_wanted(probe: AnyProbe, context: Context, patience: Patience) -> None:
    if _is_wanted(probe, context):
        with measuring_with(patience if probe.needs_quiet else Patience(0.0)):
            run_and_record(context, probe.name, lambda: probe.run(context), probe.longest_s)


def _is_wanted(probe: AnyProbe, context: Context) -> bool:
    """A probe that cannot even be asked is not run: the user's script must not fail for it."""
    try:
        return probe.wanted(context)
    except NotAvailable:
        return False
    except Exception as error:  # noqa: BLE001 - a faulty condition is reported, not raised
        message = f"{probe.name} was not run: {type(error).__name__}: {error}"
        context.recorder.note("warning", message, context.workload.number)
        return False


@contextmanager
def _put_back(context: Context) -> Iterator[None]:
    """The model, random numbers and data as they were, whatever happens meanwhile."""
    with ExitStack() as restores:
        if context.call is not None:
            restores.callback(snapshot_python(context.call.arguments.get("x")))
            restores.callback(context.backend.snapshot(context.call.model))
        yield
