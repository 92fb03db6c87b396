"""A Python generator's own time, measured where it runs: it can be read only once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.inside.ledger.native_work import NativeWork
from fitdoctor.inside.seams.inputs import tf_stages
from fitdoctor.inside.seams.inputs.tf_pipeline import made_of
from fitdoctor.inside.seams.not_available import NotAvailable

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call

# Batches before the one that is looked into. Keras peeks at two before it trains and hands them out
# again, for nothing; much later ones belong to the steady state.
LOOKED_INTO = 3


class TimedSource:
    """Wall and CPU time that a generator took per batch, on whatever thread pulled it."""

    def __init__(self) -> None:
        self.count = 0
        self.wall_ns = 0
        self.cpu_ns = 0
        self.native: NativePart | None = None  # of one batch that is not counted
        self._has_looked = False

    def watch(self, iterable: Any) -> Iterator[Any]:
        """The same elements, timed."""
        iterator = iter(iterable)
        while True:
            if self.count == LOOKED_INTO and not self._has_looked:
                try:
                    yield self._look_into(iterator)
                except StopIteration:
                    return
                continue
            wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
            try:
                element = next(iterator)
            except StopIteration:
                return
            self.wall_ns += time.perf_counter_ns() - wall
            self.cpu_ns += time.thread_time_ns() - cpu
            self.count += 1
            yield element

    def _look_into(self, iterator: Iterator[Any]) -> Any:
        """The next element, traced: slower, so among the first ones, and not counted."""
        work = NativeWork()
        self._has_looked = True
        element = work.of(lambda: next(iterator))
        self.native = work.to_record()
        return element


def timed_generator(adapter: Any) -> TimedSource | None:
    """Time the generator that Keras's adapter reads; None for other kinds of data."""
    if type(adapter).__name__ != "GeneratorDataAdapter":
        return None
    source = TimedSource()
    original: Callable[[], Any] = adapter.generator
    # The adapter asks for its generator again at each epoch, so an attribute is enough.
    adapter.generator = lambda: source.watch(original())
    return source


def one_shot_source(dataset: Any) -> bool:
    """Whether a `from_generator` in the pipeline hands out one and the same generator.

    A generator function makes a new generator at every call; a lambda around a generator
    object does not, and what a probe read of it, training would miss.
    """
    return any(
        _is_one_shot(made.arguments.get("generator"), made.arguments.get("args") or ())
        for stage in tf_stages.walk(dataset)
        if (made := made_of(stage.dataset)) is not None and made.op == "from_generator"
    )


def _is_one_shot(generator: Any, args: Any) -> bool:
    if not callable(generator):
        return False
    try:
        first, second = generator(*args), generator(*args)
        return first is second and iter(first) is first
    except Exception:  # noqa: BLE001 - the user's function; what fails here is not read by us
        return True


def adapter_of(call: Call) -> Any:
    """Keras's adapter around the user's data."""
    return getattr(call.epoch_iterator, "data_adapter", None)


def is_one_shot(call: Call) -> bool:
    """Whether the data can be read only once: a Python generator."""
    return type(adapter_of(call)).__name__ == "GeneratorDataAdapter"


def refuse_one_shot(call: Call) -> None:
    """Never read a generator behind the user's back: what we take, training would miss."""
    if adapter_of(call) is None:
        raise NotAvailable("Keras's data adapter was not seen")
    if is_one_shot(call):
        raise NotAvailable("a Python generator can be read only once, so it was not read alone")
    dataset = getattr(adapter_of(call), "_dataset", None)
    if dataset is not None and hasattr(dataset, "element_spec") and one_shot_source(dataset):
        raise NotAvailable(
            "the generator behind the dataset can be read only once, so it was not read alone"
        )


def first_generator_batch(call: Call) -> Any:
    """Keras keeps the first batches of a generator to learn their shapes; one of them."""
    if not is_one_shot(call):
        return None
    kept = getattr(adapter_of(call), "_first_batches", None)
    return kept[0] if kept else None
