"""Data that can be read only once: a Python generator, in Keras's hands or behind a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fitdoctor.inside.seams.inputs.generators import one_shot_source
from fitdoctor.inside.seams.not_available import NotAvailable

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call


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
