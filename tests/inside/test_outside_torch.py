"""Steps on torch that leave for Python in their middle, seen by the gaps between operations."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from fitdoctor.inside.seams.watch.outside_torch import Absences, watch_absences

MS = 1_000_000


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def away(step: Callable[[], None]) -> dict[str, int]:
    """Nanoseconds per step away from torch, by function."""
    steps = 0

    def counted() -> None:
        nonlocal steps
        steps += 1
        step()

    found = watch_absences(counted, 0.05)
    return {name: ns // steps for _, _, name, ns in found.functions}


def test_operations_alone_are_no_absence() -> None:
    x = torch.ones((64, 64))

    def step() -> None:
        y = x
        for _ in range(20):
            y = torch.tanh(y @ x)

    assert away(step) == {}


def test_a_value_read_at_the_end_costs_what_it_takes() -> None:
    x = torch.ones((64, 64))

    def step() -> None:
        float((x @ x).sum())

    assert sum(away(step).values()) < 5 * MS


def test_python_between_two_operations_is_counted_for_its_function() -> None:
    x = torch.ones((64, 64))

    def mine(values: torch.Tensor) -> torch.Tensor:
        array = values.numpy()
        time.sleep(0.01)
        return torch.as_tensor(np.sqrt(array))

    def step() -> None:
        torch.tanh(mine(x @ x))

    found = away(step)
    assert set(found) == {"mine"}
    assert found["mine"] >= 10 * MS


def test_numpy_on_a_tensor_leaves_too() -> None:
    x = torch.ones((8, 8))

    def mine() -> None:
        np.asarray(x)
        time.sleep(0.01)
        torch.tanh(x)

    assert away(mine)["mine"] >= 10 * MS


def test_what_comes_after_the_step_is_not_its_absence() -> None:
    clock = Clock()
    absences = Absences(clock)
    absences.left(sys._getframe())
    clock.now += 3
    absences.back()
    clock.now += 100
    absences.back()
    assert list(absences.away.values()) == [3]
