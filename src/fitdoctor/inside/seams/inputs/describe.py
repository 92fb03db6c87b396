"""What a call or loop is fed with, and how that was configured."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.evidence.loading import InputFacts
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


def describe_input(adapter: Any, given: Any = None) -> InputFacts:
    """The kind of input that a Keras data adapter reads, with what it was configured with.

    Args:
        adapter: Keras's data adapter.
        given: what the user passed, which shows where a generator is written.
    """
    kind = _KINDS.get(type(adapter).__name__, type(adapter).__name__)
    if kind == "PyDataset":
        return _describe_py_dataset(adapter.py_dataset)
    if kind == "DataLoader":
        return describe_data_loader(adapter._dataloader)
    if kind == "generator":
        code = getattr(given, "gi_code", None)
        file, line = _first_line(code)
        return InputFacts(kind, code.co_name if code else "generator", file, line)
    dataset = getattr(adapter, "_dataset", None)
    if kind == "tf.data" and dataset is not None:
        return InputFacts(kind, stages=tf_stages.stages(dataset))
    if kind == "grain":
        return InputFacts(kind, stages=grain_chain.stages(dataset))
    return InputFacts(kind)


def describe_data_loader(loader: Any) -> InputFacts:
    """What a torch DataLoader was configured with, and where its samples are made."""
    return _describe(
        "DataLoader",
        loader,
        loader.dataset,
        ("num_workers", "persistent_workers"),
        workers=int(loader.num_workers),
        persistent=bool(getattr(loader, "persistent_workers", False)),
    )


def _describe_py_dataset(dataset: Any) -> InputFacts:
    return _describe(
        "PyDataset",
        dataset,
        dataset,
        ("workers", "use_multiprocessing"),
        workers=int(dataset.workers),
        use_multiprocessing=bool(dataset.use_multiprocessing),
        max_queue_size=int(dataset.max_queue_size),
    )


def _describe(
    kind: str, loader: Any, dataset: Any, options: tuple[str, ...], **settings: Any
) -> InputFacts:
    """Where one element is written, and where the loader could be given these options."""
    code = getattr(getattr(type(dataset), "__getitem__", None), "__code__", None)
    made, base_init = construction(loader, *options)
    return InputFacts(
        kind,
        type(dataset).__name__,
        *_first_line(code),
        made=made,
        base_init=base_init,
        **settings,
    )


def _first_line(code: Any) -> tuple[str | None, int | None]:
    return (code.co_filename, code.co_firstlineno) if code else (None, None)
