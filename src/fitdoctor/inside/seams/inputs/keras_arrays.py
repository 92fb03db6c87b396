"""Keras's own way of reading arrays, on the arrays of a `from_tensor_slices`."""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable

ADAPTER_MODULE = "keras.src.trainers.data_adapters.array_data_adapter"


def as_arrays(source: Any, batch_size: int, shuffle: bool) -> Any:
    """The dataset that `fit(x, y)` would make of the arrays of a `from_tensor_slices`."""
    adapters = sys.modules.get(ADAPTER_MODULE)
    tensors = getattr(source, "_tensors", None)
    if adapters is None or not tensors:
        raise NotAvailable("the arrays of the dataset were not seen")
    x, *more = tensors
    adapter = adapters.ArrayDataAdapter(
        x, y=more[0] if more else None, batch_size=batch_size, shuffle=shuffle
    )
    return adapter.get_tf_dataset()


def converted(backend: str, arrays: list[Any]) -> Any:
    """What Keras makes of arrays before the first step of a call."""
    adapters = sys.modules.get(ADAPTER_MODULE)
    if adapters is None:
        raise NotAvailable("Keras's array adapter was not seen")
    x, *more = arrays
    adapter = adapters.ArrayDataAdapter(x, y=more[0] if more else None, batch_size=32)
    makers = {"tensorflow": "get_tf_dataset", "jax": "get_jax_iterator"}
    return getattr(adapter, makers.get(backend, "get_torch_dataloader"))()


def conversions_per_epoch(backend: str) -> int:
    """How often a fit on arrays converts them in each of its epochs.

    On TensorFlow one dataset serves the whole call. On JAX and torch Keras makes a new iterator
    before and after every epoch, and each of them converts the arrays (of a call, the first one
    belongs to its start).
    """
    return 0 if backend == "tensorflow" else 2
