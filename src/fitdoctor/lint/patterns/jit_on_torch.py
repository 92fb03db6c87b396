"""`jit_compile=True` on torch: 32 s before the first step, then 1.26 times slower (measured)."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.module import Module, is_true, keyword
from fitdoctor.lint.pattern import Match, pattern


@pattern(
    code="CO004",
    name="harmful-compilation",
    evidence="32 s before the first step of a small convolutional network, then 1.26 times slower",
    measured_by="",
    example='os.environ["KERAS_BACKEND"] = "torch"\nmodel.compile(loss="mse", jit_compile=True)',
)
def find(module: Module) -> Iterator[Match]:
    """Only where the file itself asks for the torch backend."""
    message = (
        "jit_compile=True on the torch backend compiles for half a minute "
        "and makes steps slower; leave it out"
    )
    for call, _ in module.calls("compile"):
        if module.backend == "torch" and is_true(keyword(call, "jit_compile")):
            yield call, message
