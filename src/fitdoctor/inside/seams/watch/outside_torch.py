"""What a step on torch spends away from torch: from a value handed to Python to the next operation.

Torch runs every step from Python, so Python on the stack says nothing. A step that leaves
for NumPy or a loop is known by the gap between its operations. `TorchFunctionMode` is torch's own
public way to see them.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from fitdoctor.contract.evidence.step import PythonInSteps
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.inside.ledger.callsite import user_frame

# Methods that hand a tensor's values to Python.
LEAVING = frozenset(
    ("numpy", "tolist", "item", "__array__", "__float__", "__int__", "__bool__", "__index__")
)

Place = tuple[str, int, str]  # file, first line of the function, its name


class Absences:
    """Nanoseconds away from torch, by the function of the user's that left."""

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._left: tuple[int, Place] | None = None
        self.away: Counter[Place] = Counter()

    def back(self) -> None:
        """An operation of torch begins, or the step is over."""
        if self._left is not None:
            since, place = self._left
            self.away[place] += self._clock() - since
            self._left = None

    def left(self, frame: FrameType | None) -> None:
        """A value was handed to Python, to code called by this frame's function."""
        place = _user_function(frame)
        if place is not None:
            self._left = (self._clock(), place)


def watch_absences(step: Callable[[], None], seconds: float) -> PythonInSteps:
    """The user's functions in which steps were away from torch, and all the time they took."""
    torch = sys.modules["torch"]
    absences = Absences()

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            absences.back()
            result = function(*args, **(kwargs or {}))
            if getattr(function, "__name__", "") in LEAVING:
                absences.left(sys._getframe(1))
            return result

    took = 0
    while took < seconds * NS_PER_S:
        begin = time.perf_counter_ns()
        with Watch():
            step()
            absences.back()
        took += time.perf_counter_ns() - begin
    functions = tuple((*place, ns) for place, ns in absences.away.most_common(5))
    return PythonInSteps(samples=took, functions=functions)


def _user_function(frame: FrameType | None) -> Place | None:
    found = user_frame(frame)
    if found is None:
        return None
    code = found.f_code
    return code.co_filename, code.co_firstlineno, code.co_name
