"""NumPy functions of a step, written with keras.ops."""

from __future__ import annotations

import ast
import os
from typing import Any

import pytest
from edit_text import after, at, why_not

from fitdoctor.findings.edits import UseKerasOps

EDIT = UseKerasOps(at(1))
HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\n\n\n"


def called(body: str, call: str = "tf.numpy_function(f, [x], tf.float32)") -> str:
    return f"{HEAD}def f(x):\n{body}\n\n\ndef call(x):\n    return {call}\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    for row in x:\n        pass\n    return x", "f is more than arithmetic"),
        ("    return np.linalg.svd(x)", "f calls `np.linalg.svd(x)`, which keras.ops has no twin"),
        ("    return np.random.normal(x)", "f calls `np.random.normal(x)`"),
        ("    return other(x)", "f calls `other(x)`"),
        ("    return np.sum(x, dtype=float)", "f calls `np.sum(x, dtype=float)` with arguments of"),
        ("    return x.astype(kind)", "f casts to what is not written out"),
        ("    return x.shape", "f uses `x.shape`"),
        ("    return [y for y in x]", "f is more than arithmetic"),
        ("    x += 1\n    return x", "f is more than arithmetic"),
    ],
)
def test_what_is_no_arithmetic_is_for_a_person(body: str, reason: str) -> None:
    assert why_not(called(body), EDIT).startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HEAD + "x = 1\n", "no function is called through numpy_function"),
        ("import tf\n", "`import keras` is not at the top of this file"),
        (
            called("    return np.sin(x)", "tf.numpy_function(lambda y: y, [x], tf.float32)"),
            "what numpy_function() calls is not one function of this file",
        ),
        (
            called("    return np.sin(x)", "tf.numpy_function(f, inputs, tf.float32)"),
            "the inputs of numpy_function() are not written out",
        ),
        (
            called("    return np.sin(x)", "tf.numpy_function(f, [x], [tf.int32, tf.int32])"),
            "numpy_function() does not return one floating-point tensor",
        ),
        (
            called("    return np.sin(x)", "tf.numpy_function(f, [x, x], tf.float32)"),
            "f does not take the arguments that it is given",
        ),
        (called("    return np.sin(x)") + "print(f(1))\n", "f is used elsewhere as well"),
    ],
)
def test_declined_where_the_call_is_not_plain(text: str, reason: str) -> None:
    assert why_not(text, EDIT).startswith(reason)


def test_a_function_and_its_call() -> None:
    body = (
        '    """Doc."""\n'
        "    y = np.asarray(x)  # here\n"
        "    return (np.cos(y * w) * w).astype(np.float32)"
    )
    changed = after(called(body), EDIT)
    assert changed == (
        HEAD + "def f(x):\n"
        '    """Doc."""\n'
        "    y = keras.ops.convert_to_tensor(x)  # here\n"
        '    return keras.ops.cast((keras.ops.cos(y * w) * w), "float32")\n'
        "\n\ndef call(x):\n"
        "    return keras.ops.stop_gradient(f(x))\n"
    )


def test_where_the_gradient_is_the_users_own_it_is_not_stopped() -> None:
    text = called("    return np.sin(x)").replace("def call", "@tf.custom_gradient\ndef call")
    assert 'return keras.ops.cast(f(x), "float32")' in after(text, EDIT)
    eager = called("    return np.sin(x)", "tf.py_function(func=f, inp=[x], Tout=tf.float32)")
    assert "is not one function" in why_not(eager, EDIT)


def test_a_callback_of_jax() -> None:
    spec = "jax.ShapeDtypeStruct(x.shape, x.dtype)"
    text = called("    return np.tanh(x) / np.pi", f"jax.pure_callback(f, {spec}, x)")
    text = text.replace("def call", "@jax.custom_jvp\ndef call")
    changed = after(text, EDIT)
    assert "return keras.ops.tanh(x) / np.pi" in changed
    assert "    return f(x)\n" in changed


def test_tf_keras_is_keras() -> None:
    text = called("    return np.sin(x)").replace("import keras\n", "")
    assert "tf.keras.ops.sin(x)" in after(text, EDIT)


@pytest.mark.end_to_end
def test_the_rewritten_function_gives_the_same_numbers() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf: Any = pytest.importorskip("tensorflow")
    np: Any = pytest.importorskip("numpy")
    body = (
        "    y = np.where(x > 0, np.sqrt(np.abs(x)), np.expm1(x))\n"
        "    return (np.clip(y, -2, 2) * w + np.mean(x, axis=-1, keepdims=True)).astype(np.float32)"
    )
    text = called(body).replace("\n\n\ndef f", "\n\nw = np.linspace(1, 2, 5)\n\n\ndef f", 1)
    x = tf.constant(np.random.default_rng(1).normal(size=(4, 5)).astype("float32"))
    results = []
    for source in (text, after(text, EDIT)):
        names: dict[str, Any] = {}
        exec(compile(ast.parse(source), "train.py", "exec"), names)
        results.append(tf.function(names["call"])(x).numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)
