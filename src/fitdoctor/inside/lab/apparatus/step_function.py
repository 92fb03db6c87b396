"""Find the user's own step function inside a hand-written loop, with the arguments it got."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.models.observed import ModelCall, observed_models


class StepCall(NamedTuple):
    """A call that the loop's body made with the batch."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    file: str
    line: int
    name: str


class StepFinder:
    """Watches one iteration of a loop's body with `sys.setprofile`."""

    def __init__(self, loop_code: CodeType, step_codes: set[CodeType], element: Any) -> None:
        """Look for calls made by the loop's own frame.

        Args:
            loop_code: the function that the loop stands in.
            step_codes: functions that were seen to train.
            element: what the loop's loader gave, if it has one; a function that gets a part of it
                may be the step as well.
        """
        self._loop_code = loop_code
        self._step_codes = step_codes
        self._parts: set[int] = set()
        if element is not None:
            self._parts = {id(leaf) for leaf in batches.leaves(element)} | {id(element)}
        self.found: StepCall | None = None
        self.body_locals: dict[str, Any] = {}
        self.models: list[ModelCall] = []
        self._open = ExitStack()

    def begin(self) -> None:
        """Watch calls from now on."""
        self.models = self._open.enter_context(observed_models())
        sys.setprofile(self._profile)

    def end(self) -> None:
        """Stop watching."""
        sys.setprofile(None)
        self._open.close()

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        caller, code = frame.f_back, frame.f_code
        if event != "call" or caller is None:
            return
        if caller.f_code is not self._loop_code:
            return
        self.body_locals = {**caller.f_globals, **caller.f_locals}
        if self.found is not None or not is_user_file(code.co_filename):
            return
        values = _arguments(frame)
        if code in self._step_codes or (not self._step_codes and self._gets_data(values)):
            self.found = _step_call(frame, values)

    def _gets_data(self, values: tuple[Any, ...]) -> bool:
        held = {id(leaf) for value in values for leaf in batches.leaves(value)}
        held |= {id(value) for value in values}
        return bool(held & self._parts)


def _arguments(frame: FrameType) -> tuple[Any, ...]:
    code = frame.f_code
    return tuple(frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount])


def _step_call(frame: FrameType, arguments: tuple[Any, ...]) -> StepCall | None:
    code = frame.f_code
    function = _function_of(code)
    if function is None:
        return None
    return StepCall(function, arguments, code.co_filename, code.co_firstlineno, code.co_name)


def _function_of(code: CodeType) -> Callable[..., Any] | None:
    """The function object that a code object belongs to."""
    for referrer in gc.get_referrers(code):
        if isinstance(referrer, FunctionType) and referrer.__code__ is code:
            return referrer
    return None
