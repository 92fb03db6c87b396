"""`fit(workers=…)`: Keras 3 took it away; it is an argument of the PyDataset now."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match

_GONE = ("workers", "use_multiprocessing", "max_queue_size")


class RemovedWorkers:
    """A TypeError on today's Keras."""

    code = "IN008"
    name = "shipping-batches"
    evidence = "a TypeError since Keras 3"
    measured_by = "003-2-workers"
    example = "model.fit(data, workers=4, use_multiprocessing=True)"

    def find(self, module: Module) -> Iterator[Match]:
        """`fit`, `evaluate` and `predict` with arguments that are gone."""
        for call, function in module.calls("fit", "evaluate", "predict", "fit_generator"):
            gone = [k.arg for k in call.keywords if k.arg in _GONE]
            if gone:
                yield (
                    call,
                    f"{function.attr} has no argument {', '.join(map(str, gone))} in Keras "
                    "3; give it to the PyDataset: super().__init__(workers=…)",
                )


PATTERN = RemovedWorkers()
