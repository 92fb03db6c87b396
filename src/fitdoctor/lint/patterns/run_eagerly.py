"""`run_eagerly=True`: 21 times slower on TensorFlow, 51 times on JAX (measured); torch is eager."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.lint.module import Module, is_true, keyword
from fitdoctor.lint.pattern import Match, pattern


@pattern(
    code="HO004",
    name="eager-execution",
    evidence="10 to 40 times slower on TensorFlow, 30 to 80 times on JAX; torch is eager anyway",
    measured_by="000-eager",
    example='model.compile(loss="mse", run_eagerly=True)',
)
def find(module: Module) -> Iterator[Match]:
    """The step runs op by op, mostly left over from debugging."""
    if module.backend == "torch":
        return
    for call, _ in module.calls("compile"):
        if is_true(keyword(call, "run_eagerly")):
            yield call, "run_eagerly=True runs every step op by op in Python"
    for call, _ in module.calls("run_functions_eagerly"):
        if is_true(call.args[0] if call.args else keyword(call, "run_eagerly")):
            yield call, "run_functions_eagerly(True) runs every tf.function op by op in Python"
