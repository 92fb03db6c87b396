"""Whatever a step looks like: the compiled one takes and returns the same, and reads no number."""

from __future__ import annotations

import ast
import types
from typing import Any

from edit_text import at, comments
from hypothesis import given, settings, strategies as st
from test_compiling import FUNCTION, Tensor, compiled

from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft
from fitdoctor.cures.edit_engine import edited
from fitdoctor.findings.edits import LongerEpochs

TENSORS = st.sampled_from(["a", "b", "(a + b)", "(a)", "twice(b)", "self.last"])
READERS = st.sampled_from(["{}", "{}.numpy()", "float({})", "float({}.numpy())"])
SIGNATURES = st.sampled_from(["a, b", "a, b=None", "a, *, b", "a: int, b: 'T' = None", "a, /, b"])
INDENTS = st.sampled_from(["    ", "\t", "  "])


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, bool]:
    """A function or a method `step` that begins at the second line, and which of the two."""
    method = draw(st.booleans())
    outer = "    " if method else ""
    inner = outer + draw(INDENTS)
    parts = [draw(READERS).format(draw(TENSORS)) for _ in range(draw(st.integers(1, 3)))]
    if not method:
        parts = [part.replace("self.last", "b") for part in parts]
    comma = draw(st.sampled_from(["", ","])) if len(parts) > 1 else ""
    returned = ", ".join(parts) + comma
    if draw(st.booleans()):
        returned = f"({returned})"
    signature = draw(SIGNATURES)
    head = f"{outer}def step({'self, ' if method else ''}{signature}):  # one step"
    body = [f"{inner}'''What it does.'''", f"{inner}b = a if b is None else b"]
    lines = ["class Training:" if method else "", head, *body, f"{inner}return {returned}  # all"]
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\nlast = 1\n"])), method


class Number(Tensor):
    """A tensor that can be added."""

    def __add__(self, other: Tensor) -> Number:
        return Number(self.value + other.value)


def results(text: str, method: bool) -> Any:
    space: dict[str, Any] = {
        "tf": types.SimpleNamespace(function=compiled_method if method else compiled),
        "twice": lambda tensor: tensor + tensor,
    }
    exec(text.replace("import tensorflow as tf\n", ""), space)
    step = space["step"] if not method else space["Training"]().step
    if method:
        step.__self__.last = Number(3.0)
    found = step(Number(1.0), b=Number(2.0))
    return plain(found)


def compiled_method(function: Any) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return compiled(function)(self, *args, **kwargs)

    return call


def plain(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(plain(one) for one in found)
    return ("tensor", found.value) if isinstance(found, Tensor) else found


@given(steps())
@settings(max_examples=200, deadline=None)
def test_a_split_step_returns_the_same(step: tuple[str, bool]) -> None:
    text, method = step
    draft = edited(Draft(text), FUNCTION)
    ast.parse(draft.text)
    assert comments(draft.text) == comments(text)
    assert results(draft.text, method) == results(text, method)
    # A second time there is nothing to do.
    try:
        assert edited(draft, FUNCTION).text == draft.text
    except (AlreadyThere, DeclinedEdit):
        pass


EPOCHS = st.sampled_from(["100", "n", "2 * n", "max(1, n)", "(100)"])
DATA = st.sampled_from(["d", "make(3)", "a or d", "d[0]", "(d)", "self.d"])


@given(DATA, EPOCHS, st.sampled_from(["", ", verbose=0", ",\n    callbacks=[c],  # mine\n"]))
@settings(max_examples=60, deadline=None)
def test_longer_epochs_are_the_same_number_of_steps(data: str, epochs: str, more: str) -> None:
    text = f"fit({data}, epochs={epochs}{more})\n"
    draft = edited(Draft(text), LongerEpochs(at(1), 50))
    assert comments(draft.text) == comments(text)

    class Data:
        def __init__(self, times: int = 1) -> None:
            self.times = times

        def repeat(self, times: int) -> Data:
            return Data(self.times * times)

        def __getitem__(self, index: int) -> Data:
            return self

    def run(source: str) -> int:
        asked: list[int] = []
        one = Data()
        space = {
            "fit": lambda d, epochs, **more: asked.append(d.times * epochs),
            "d": one,
            "a": None,
            "make": lambda n: one,
            "self": types.SimpleNamespace(d=one),
            "n": 150,
            "c": None,
        }
        exec(source, space)
        return asked[0]

    assert run(draft.text) == run(text)
