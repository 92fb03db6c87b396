"""More workers for a loader, and whether batches stay the same, in the same order."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import BatchInProcess
from fitdoctor.findings.finding import Cure
from fitdoctor.rules.support.places import loader_options

# Keras looks at the first batch before it trains. On TensorFlow it asks the dataset itself; on the
# others it takes it from the workers' queue, and every epoch then begins one batch later (3.15).
ORDER_SHIFTS = frozenset({"jax", "torch"})


def with_threads(view: View, text: str, workers: str) -> Cure:
    """The cure "give the PyDataset more workers", and what changes where it is not safe."""
    edits, made = loader_options(view, workers=workers), view.found(BatchInProcess)
    if made is None or made.native is None or made.native.random is not False:
        changes = "random numbers that __getitem__ draws then come in the threads' order"
    elif view.backend in ORDER_SHIFTS and (view.input.workers or 1) < 2:
        changes = "with workers, Keras begins every epoch one batch later, the first one last"
    else:
        return Cure("safe", text, edits)
    return Cure("unsafe", f"{text}; {changes}", edits)


def with_processes(view: View, workers: str) -> Cure:
    """The cure "give the DataLoader more workers"."""
    # Workers that stay draw their random numbers, and the sampler its order, otherwise.
    return Cure(
        "unsafe",
        f"DataLoader(num_workers={workers}, persistent_workers=True)",
        loader_options(view, num_workers=workers, persistent_workers="True"),
    )
