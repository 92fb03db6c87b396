"""`run_eagerly=True`: 21 times slower on TensorFlow, 51 times on JAX (measured); torch is eager."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Module, is_true, keyword
from fitdoctor.lint.pattern import Match


class RunEagerly:
    """The step runs op by op, mostly left over from debugging."""

    code = "HO004"
    name = "eager-execution"
    evidence = "10 to 40 times slower on TensorFlow, 30 to 80 times on JAX; torch is eager anyway"
    measured_by = "000-eager"
    example = 'model.compile(loss="mse", run_eagerly=True)'

    def find(self, module: Module) -> Iterator[Match]:
        """`compile(run_eagerly=True)` and `tf.config.run_functions_eagerly(True)`."""
        if module.backend == "torch":
            return
        for call, function in module.calls("compile", "run_functions_eagerly"):
            if function.attr == "compile" and is_true(keyword(call, "run_eagerly")):
                yield call, "run_eagerly=True runs every step op by op in Python"
            elif function.attr == "run_functions_eagerly" and _asks_for_it(call):
                yield call, "run_functions_eagerly(True) runs every tf.function op by op in Python"


def _asks_for_it(call: ast.Call) -> bool:
    given = call.args[0] if call.args else keyword(call, "run_eagerly")
    return is_true(given)


PATTERN = RunEagerly()
