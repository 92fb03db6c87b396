"""Where the user made a PyDataset or a DataLoader: the call whose arguments a cure changes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from fitdoctor.contract.places import CallLine
from fitdoctor.inside.ledger.callsite import place_of, user_frame
from fitdoctor.inside.ledger.recorder import Recorder

PY_DATASET_MODULE = "keras.src.trainers.data_adapters.py_dataset_adapter"
_MADE = "_fitdoctor_made"


def watch_py_datasets(recorder: Recorder, module: ModuleType) -> None:
    """Remember for every PyDataset which line made it."""
    watch_construction(recorder, module.PyDataset)


def watch_construction(recorder: Recorder, owner: type[Any]) -> None:
    """Remember for every instance of a class which line made it."""

    def init(original: Callable[..., None], self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if not recorder.suspended:
            # Plain values: the object may be pickled for a worker process.
            vars(self).setdefault(_MADE, places_of(sys._getframe(2), self))

    recorder.patches.around(owner, "__init__", init)


class Construction(NamedTuple):
    """The calls that can be given options."""

    made: CallLine | None = None  # of the class, if it takes these options or passes them on
    base_init: CallLine | None = None  # of the base class's `__init__` in the user's own


def construction(made: Any, *options: str) -> Construction:
    """Where an object was made, as far as these options could be given there."""
    made_at, base_init = vars(made).get(_MADE) or (None, None)
    name = type(made).__name__
    return Construction(
        made=CallLine(name, *made_at) if made_at and _takes(type(made), options) else None,
        base_init=CallLine("__init__", *base_init) if base_init else None,
    )


def _takes(owner: type[Any], options: tuple[str, ...]) -> bool:
    try:
        parameters = inspect.signature(owner).parameters
    except (TypeError, ValueError):
        return False
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return open_ended or all(option in parameters for option in options)


_At = tuple[str, int] | None


def places_of(frame: FrameType | None, made: Any) -> tuple[_At, _At]:
    """The user's line that made an object, and the one in its own `__init__`."""
    base_init: _At = None
    while frame is not None and _is_init_of(frame, made):
        if base_init is None and user_frame(frame) is frame:
            base_init = place_of(frame)[:2]
        frame = frame.f_back
    outside = user_frame(frame)
    return (place_of(outside)[:2] if outside is not None else None), base_init


def _is_init_of(frame: FrameType, made: Any) -> bool:
    code = frame.f_code
    if code.co_name != "__init__" or not code.co_argcount:
        return False
    return frame.f_locals.get(code.co_varnames[0]) is made
