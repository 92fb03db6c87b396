from __future__ import annotations

import types

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import TENSORFLOW, Decorate

FUNCTION = Decorate(at(2), "step", "tf.function", (TENSORFLOW,))
HEAD = "import tensorflow as tf\n"


def test_decorate() -> None:
    assert after("import tensorflow as tf\ndef step(x):\n    ...\n", FUNCTION) == (
        "import tensorflow as tf\n@tf.function\ndef step(x):\n    ...\n"
    )
    # Python gives the line of the first decorator.
    text = "from tensorflow import function\n@timed\n@logged  # c\ndef step(x):\n    ...\n"
    assert after(text, FUNCTION) == text.replace("@timed", "@function\n@timed")
    method = "class A:\n    def step(self, x): ...\n"
    assert after(method, FUNCTION) == (
        "import tensorflow as tf\nclass A:\n    @tf.function\n    def step(self, x): ...\n"
    )


def test_decorate_declines() -> None:
    text = "import tensorflow as tf\n{}\n    ...\n"
    assert is_there("import tensorflow as tf\n@tf.function\ndef step(): ...\n", FUNCTION)
    assert is_there(
        "import tensorflow as tf\n@tf.function(jit_compile=True)\ndef step(): ...\n", FUNCTION
    )
    assert why_not(text.format("async def step():"), FUNCTION) == "step is a coroutine"
    assert why_not(text.format("def other():"), FUNCTION).startswith("no function step begins")
    assert why_not("import tensorflow as tf\nstep = lambda x: x\n", FUNCTION).startswith("no fun")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        # What Python does beside the arithmetic would be done once, while the step is traced.
        ("print(x)", "calls print()"),
        ("losses.append(x)", "changes something outside of it"),
        ("self.count += 1", "changes self.count"),
        ("self.last = x", "changes self.last"),
        ("logs['loss'] = x", "changes logs['loss']"),
        ("global n", "changes variables outside of it"),
        ("t = time.time()", "calls time.time()"),
        # A number that is used within cannot be read by the caller.
        ("y = x.numpy() + 1", "reads a number (x.numpy())"),
        ("if float(x) > 1: return x", "reads a number (float(x))"),
    ],
)
def test_declines_what_only_plain_python_does(body: str, why: str) -> None:
    found = why_not(f"{HEAD}def step(x, self=None):\n    {body}\n    return x\n", FUNCTION)
    assert why in found
    assert "line 3" in found


@pytest.mark.parametrize(
    "body",
    [
        "parts = []\n    parts.append(x)",
        "logs = {}\n    logs['loss'] = x",
        "rows = int(x.shape[0])",
        "worst = float('inf')",
        "noise = tf.random.normal((2,))",
        "weights.assign(x)",
    ],
)
def test_decorates_what_a_trace_can_do(body: str) -> None:
    text = f"{HEAD}def step(x):\n    {body}\n    return x\n"
    assert after(text, FUNCTION) == text.replace("def step", "@tf.function\ndef step")


def test_numbers_that_are_returned_are_read_outside() -> None:
    text = (
        "class Training:\n"
        "    def step(self, rows, *, rate=0.1):\n"
        "        error, kl = self.losses(rows)  # both\n"
        "        return error.numpy(), float(kl), rows\n"
        "\n"
        "    def run(self):\n"
        "        ...\n"
    )
    assert after(text, FUNCTION) == (
        "import tensorflow as tf\n"
        "class Training:\n"
        "    @tf.function\n"
        "    def step_in_graph(self, rows, *, rate=0.1):\n"
        "        error, kl = self.losses(rows)  # both\n"
        "        return error, kl, rows\n"
        "\n"
        "    def step(self, rows, *, rate=0.1):\n"
        "        error, kl, rows = self.step_in_graph(rows, rate=rate)\n"
        "        return error.numpy(), float(kl), rows\n"
        "\n"
        "    def run(self):\n"
        "        ...\n"
    )


def test_one_number_of_an_expression() -> None:
    text = f"{HEAD}def step(x: float, y):  # one step\n    return float(loss(x) + y)  # mean"
    assert after(text, FUNCTION) == (
        f"{HEAD}@tf.function\ndef step_in_graph(x: float, y):  # one step\n"
        "    return loss(x) + y  # mean\n\n\n"
        "def step(x: float, y):\n    return float(step_in_graph(x, y))"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@timed\ndef step(x):\n    return x.numpy()\n", "has a decorator"),
        ("def step(*x):\n    return x.numpy()\n", "takes any arguments"),
        ("def step(x):\n    return x.numpy()\nstep_in_graph = 1\n", "is taken"),
        # Two ways out: which of them reads a number is not known to the caller.
        ("def step(x):\n    if x: return x\n    return x.numpy()\n", "reads a number"),
    ],
)
def test_declines_to_split(text: str, why: str) -> None:
    assert why in why_not(HEAD + text, FUNCTION)


class Tensor:
    """Something whose number can be read only outside of a compiled function."""

    compiled = False

    def __init__(self, value: float) -> None:
        self.value = value

    def numpy(self) -> float:
        assert not Tensor.compiled
        return self.value

    __float__ = numpy


def compiled(function):
    def call(*args, **kwargs):
        Tensor.compiled = True
        try:
            return function(*args, **kwargs)
        finally:
            Tensor.compiled = False

    return call


@pytest.mark.parametrize(
    "returned",
    [
        "a.numpy()",
        "float(a)",
        "float(a.numpy())",
        "a.numpy(), b",
        "b, a.numpy(), float(b), a.numpy()",
    ],
)
def test_the_split_function_returns_the_same(returned: str) -> None:
    text = f"\ndef step(a, b=Tensor(2.0)):\n    return {returned}\n"
    changed = after(text, FUNCTION).replace("import tensorflow as tf\n", "")
    plain, split = (
        {"Tensor": Tensor, "tf": types.SimpleNamespace(function=compiled)} for _ in "ab"
    )
    exec(text, plain)
    exec(changed, split)
    a = Tensor(1.0)
    one, other = plain["step"](a), split["step"](a)
    assert (
        [getattr(v, "value", v) for v in one] == [getattr(v, "value", v) for v in other]
        if (isinstance(one, tuple))
        else one == other
    )
