"""One line, and the facts a rule needs, about the data that a call or loop is fed with."""

from __future__ import annotations

from typing import Any

from fitdoctor.inside.seams.inputs import grain_chain, tf_stages
from fitdoctor.inside.seams.inputs.constructed import construction

_KINDS = {
    "ArrayDataAdapter": "arrays",
    "TFDatasetAdapter": "tf.data",
    "PyDatasetAdapter": "PyDataset",
    "GeneratorDataAdapter": "generator",
    "TorchDataLoaderAdapter": "DataLoader",
    "GrainDatasetAdapter": "grain",
}


def describe_input(adapter: Any, given: Any = None) -> dict[str, Any]:
    """The kind of input behind a Keras data adapter, with what it was configured with.

    Args:
        adapter: Keras's data adapter.
        given: what the user passed, which tells where a generator is written.
    """
    kind = _KINDS.get(type(adapter).__name__, type(adapter).__name__)
    facts: dict[str, Any] = {"kind": kind}
    if kind == "PyDataset":
        dataset = adapter.py_dataset
        code = getattr(type(dataset).__getitem__, "__code__", None)
        facts.update(
            workers=int(dataset.workers),
            use_multiprocessing=bool(dataset.use_multiprocessing),
            max_queue_size=int(dataset.max_queue_size),
            name=type(dataset).__name__,
            file=code.co_filename if code else None,
            line=code.co_firstlineno if code else None,
            **construction(dataset, "workers", "use_multiprocessing"),
        )
    elif kind == "tf.data":
        dataset = getattr(adapter, "_dataset", None)
        facts["stages"] = tf_stages.stages(dataset) if dataset is not None else []
    elif kind == "grain":
        facts["stages"] = grain_chain.stages(getattr(adapter, "_dataset", None))
    elif kind == "DataLoader":
        facts.update(describe_data_loader(adapter._dataloader))
    elif kind == "generator":
        code = getattr(given, "gi_code", None)
        facts.update(
            name=code.co_name if code else "generator",
            file=code.co_filename if code else None,
            line=code.co_firstlineno if code else None,
        )
    return facts


def describe_data_loader(loader: Any) -> dict[str, Any]:
    """What a torch DataLoader was configured with, and where its samples are made."""
    dataset = loader.dataset
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    return {
        "kind": "DataLoader",
        "workers": int(loader.num_workers),
        "persistent": bool(getattr(loader, "persistent_workers", False)),
        "name": type(dataset).__name__,
        "file": code.co_filename if code else None,
        "line": code.co_firstlineno if code else None,
        **construction(loader, "num_workers", "persistent_workers"),
    }
