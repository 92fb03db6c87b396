"""The clock inside TensorFlow's step stands still while probes run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fitdoctor.inside.seams.watch.graph_clock import GraphClock


class Variable:
    def __init__(self) -> None:
        self.seconds = 0.0

    def numpy(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> GraphClock:
    found = GraphClock(SimpleNamespace())  # type: ignore[arg-type]
    found._variables["training"] = Variable()
    return found


def test_a_clock_that_is_not_in_the_graph_says_nothing(clock: GraphClock) -> None:
    assert clock.read("validation") is None
    clock.stop()()
    assert clock.read("validation") is None


def test_what_was_waited_since_the_last_look(clock: GraphClock) -> None:
    variable = clock._variables["training"]
    variable.seconds = 0.5
    assert clock.read("training") == 500_000_000
    variable.seconds = 0.75
    assert clock.read("training") == 250_000_000


def test_probes_do_not_wait_for_the_training(clock: GraphClock) -> None:
    variable = clock._variables["training"]
    variable.seconds = 0.5  # not read yet when the probes begin
    start_again = clock.stop()
    variable.seconds = 7.5
    start_again()
    variable.seconds = 7.75
    assert clock.read("training") == 750_000_000


def test_a_clock_that_a_probe_made_counts_from_its_end_on(clock: GraphClock) -> None:
    start_again = clock.stop()
    later = Variable()
    later.seconds = 3.0
    clock._variables["validation"] = later
    start_again()
    later.seconds = 3.5
    assert clock.read("validation") == 500_000_000
