"""Whether batches stay the same, in the same order, when threads make them."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import BatchInProcess
from fitdoctor.findings.finding import Safety

# Keras looks at the first batch before it trains. On TensorFlow it asks the dataset itself; on the
# others it takes it from the workers' queue, and every epoch then begins one batch later (3.15).
ORDER_SHIFTS = frozenset({"jax", "torch"})


def threads_safety(view: View) -> tuple[Safety, str]:
    """The class of "give the PyDataset more workers", and what changes where it is not safe."""
    made = view.found(BatchInProcess)
    if made is None or made.native is None or made.native.random is not False:
        return "unsafe", "random numbers that __getitem__ draws then come in the threads' order"
    if view.backend in ORDER_SHIFTS and (view.input.workers or 1) < 2:
        return (
            "unsafe",
            "with workers, Keras begins every epoch one batch later, the first one last",
        )
    return "safe", ""
