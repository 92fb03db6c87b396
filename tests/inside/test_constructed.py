from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.contract.places import CallLine
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.inputs.constructed import (
    Construction,
    construction,
    watch_construction,
)

THIS = __file__


class Base:
    def __init__(self, workers: int = 1, use_multiprocessing: bool = False) -> None:
        self.workers = workers


class Open(Base):
    def __init__(self, rows: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rows = rows


class Closed(Base):
    def __init__(self, rows: list[int]) -> None:
        super().__init__()
        self.rows = rows


class Careless(Base):
    def __init__(self) -> None:
        pass


class Twice(Open):
    def __init__(self) -> None:
        super().__init__([1])


@pytest.fixture(autouse=True)
def watched():
    recorder: Any = SimpleNamespace(patches=Patches(), suspended=False)
    watch_construction(recorder, Base)
    yield recorder
    recorder.patches.undo()


def facts(made: Any) -> Construction:
    return construction(made, "workers", "use_multiprocessing")


def line() -> int:
    return sys._getframe(1).f_lineno


def test_nothing_is_known_of_an_object_made_unseen(watched: Any) -> None:
    watched.suspended = True
    assert facts(Open([1])) == Construction()
    assert facts(Careless()) == Construction()


def test_a_class_without_an_init_of_its_own() -> None:
    made, at = Base(), line()
    assert facts(made) == Construction(made=CallLine("Base", THIS, at))


def test_a_class_that_passes_options_on() -> None:
    made, at = Open([1]), line()
    found = facts(made)
    assert found.made == CallLine("Open", THIS, at)
    assert found.base_init.line == Open.__init__.__code__.co_firstlineno + 1


def test_a_class_that_takes_no_options_has_only_its_base() -> None:
    found = facts(Closed([1]))
    assert found.made is None
    assert found.base_init.call == "__init__"
    assert found.base_init.line == Closed.__init__.__code__.co_firstlineno + 1


def test_several_inits_are_left_behind() -> None:
    made = Twice()
    found = facts(made)
    assert found.made is None
    assert found.base_init.line == Open.__init__.__code__.co_firstlineno + 1


def test_the_object_can_still_be_pickled() -> None:
    made = pickle.loads(pickle.dumps(Open([1], workers=2)))
    assert (made.rows, made.workers) == ([1], 2)
