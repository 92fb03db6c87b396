"""What a line computes, and whose work that is, where no frame shows it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from fitdoctor.inside.ledger.expressions import Expression, expression_at

found: list[Expression | None] = []


class Looking:
    """Remembers the expression that calls it."""

    def __call__(self, *_: Any) -> Looking:
        found.append(expression_at(sys._getframe(1)))
        return self

    def __float__(self) -> float:
        found.append(expression_at(sys._getframe(1)))
        return 0.0

    item = numpy = cpu = repeat = asarray = mean = __call__


class Tensor(Looking):
    """As if it were torch's."""


Tensor.__module__ = "torch"


@pytest.fixture(autouse=True)
def empty() -> None:
    found.clear()


def last() -> Expression:
    assert found[-1] is not None
    return found[-1]


def test_own_code_belongs_to_no_framework() -> None:
    own = Looking()
    own()
    assert last().text == "own()"
    assert not last().reads
    assert last().package not in ("torch", "numpy")


def test_a_read_of_a_tensor() -> None:
    loss = Tensor()
    loss.item()
    assert (last().text, last().package, last().reads) == ("loss.item()", "torch", True)


def test_other_methods_of_a_tensor_are_the_frameworks_work() -> None:
    loss = Tensor()
    loss.mean()
    assert (last().package, last().reads) == ("torch", False)


def test_what_follows_a_read_is_numpys() -> None:
    out = Tensor()
    out.cpu().numpy().repeat(8)
    assert (last().package, last().reads) == ("numpy", False)


def test_a_number_of_a_tensor() -> None:
    loss = Tensor()
    float(loss)
    assert (last().text, last().reads) == ("float(loss)", True)
    own = Looking()
    float(own)
    assert not last().reads


def test_an_array_of_a_tensor() -> None:
    class Numpy(Looking):
        pass

    Numpy.__module__ = "numpy"
    library, predicted = Numpy(), Tensor()
    library.asarray(predicted)
    assert last().reads
    library.asarray(np.ones(3))
    assert not last().reads


def test_a_call_over_several_lines() -> None:
    loss = Tensor()
    # fmt: off
    loss.item(
        1,
        2,
    )
    # fmt: on
    assert last().text == "loss.item( 1, 2, )"


def test_code_without_a_source_says_nothing() -> None:
    names: dict[str, Any] = {"look": Looking()}
    exec("look()", names)
    assert found == [None]
