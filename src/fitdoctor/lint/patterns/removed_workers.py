"""`fit(workers=…)`: Keras 3 took it away; it is an argument of the PyDataset now."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match, pattern

_GONE = ("workers", "use_multiprocessing", "max_queue_size")


@pattern(
    code="IN008",
    name="shipping-batches",
    evidence="a TypeError since Keras 3",
    measured_by="003-2-workers",
    example="model.fit(data, workers=4, use_multiprocessing=True)",
)
def find(module: Module) -> Iterator[Match]:
    """A TypeError on today's Keras."""
    for call, function in module.calls("fit", "evaluate", "predict", "fit_generator"):
        gone = ", ".join(k.arg for k in call.keywords if k.arg in _GONE)
        if gone:
            message = f"{function.attr} has no argument {gone} in Keras 3; "
            yield call, message + "give it to the PyDataset: super().__init__(workers=…)"
