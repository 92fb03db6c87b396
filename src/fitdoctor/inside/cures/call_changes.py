"""Calls of the script that are made with other arguments: cures that its source cannot take.

A value may come from `**settings`, from the command line or from an installed package. The call is
then changed on its way into the framework, when it is made from the recorded line; nothing else
about the script is touched. All seams are public: methods of `keras.Model` and `tf.data.Dataset`,
and the constructors of loaders and callbacks.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import ModuleType
from typing import Any

from fitdoctor.contract.changed_calls import ChangedCall
from fitdoctor.inside.import_hooks import ImportHooks
from fitdoctor.inside.ledger.callsite import user_place
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.inputs.constructed import places_of

# Where a call enters its framework: the module whose import makes it known, and its owner there.
SEAMS: dict[str, tuple[str, Callable[[ModuleType, str], Any]]] = {
    "model": ("keras", lambda keras, call: keras.Model),
    "callback": ("keras", lambda keras, call: getattr(keras.callbacks, call)),
    "py_dataset": ("keras", lambda keras, call: keras.utils.PyDataset),
    "dataset": ("tensorflow", lambda tensorflow, call: tensorflow.data.Dataset),
    "loader": ("torch.utils.data.dataloader", lambda module, call: module.DataLoader),
}
CONSTRUCTED = frozenset({"callback", "py_dataset", "loader"})


_Place = tuple[str, int]
_Changes = dict[_Place, ChangedCall]


def install(hooks: ImportHooks, patches: Patches, calls: Iterable[ChangedCall]) -> None:
    """Change calls as their frameworks are imported."""
    by_seam: dict[tuple[str, str], _Changes] = {}
    for one in calls:
        place = (os.path.realpath(one.file), one.line)
        found = by_seam.setdefault((one.seam, one.call), {})
        found[place] = _joined(found.get(place), one)
    for (seam, call), changes in by_seam.items():
        patch = functools.partial(_patch, patches, seam, call, changes)
        hooks.when_imported(SEAMS[seam][0], patch)


def _patch(patches: Patches, seam: str, call: str, changes: _Changes, module: ModuleType) -> None:
    _, owner_of = SEAMS[seam]
    method = "__init__" if seam in CONSTRUCTED else call
    make = functools.partial(_changed, changes, constructs=seam == "py_dataset")
    patches.replace(owner_of(module, call), method, make)


def _joined(one: ChangedCall | None, other: ChangedCall) -> ChangedCall:
    """Two cures of one call."""
    if one is None:
        return other
    return replace(
        one,
        set={**one.set, **other.set},
        drop=(*one.drop, *other.drop),
        instead=other.instead or one.instead,
        takes=other.takes or one.takes,
        ignores=other.ignores or one.ignores,
        cache=one.cache or other.cache,
        options={**one.options, **other.options},
    )


def _changed(
    changes: _Changes, original: Callable[..., Any], *, constructs: bool
) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        change = _change_here(changes, self, constructs=constructs)
        if change is None:
            return original(self, *args, **kwargs)
        try:
            arguments = signature.bind(self, *args, **kwargs)
        except TypeError:  # the call itself raises, with the framework's own words
            return original(self, *args, **kwargs)
        for name in change.drop:
            _drop(arguments, name)
        for name, value in change.set.items():
            _set(arguments, name, value)
        if change.instead is not None:
            given = dict(list(arguments.arguments.items())[1:])
            if given.keys() <= {*change.takes, *change.ignores}:
                taken = {name: given[name] for name in given if name in change.takes}
                return getattr(self, change.instead)(**taken)
        return _with_more(original(*arguments.args, **arguments.kwargs), change)

    return method


def _change_here(changes: _Changes, made: Any, *, constructs: bool) -> ChangedCall | None:
    """The change of the line that this call is made from."""
    if constructs:
        # A dataset class of the user's is given its options where it is made, or where its own
        # `__init__` calls this one.
        places: tuple[_Place | None, ...] = places_of(sys._getframe(2), made)
    else:
        found = user_place(3)
        places = (None if found is None else found[:2],)
    for place in places:
        if place is not None:
            change = changes.get((os.path.realpath(place[0]), place[1]))
            if change is not None:
                return change
    return None


def _more(arguments: inspect.BoundArguments) -> dict[str, Any]:
    """What the call takes beyond its named parameters; empty where it takes nothing more."""
    for parameter in arguments.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            found: dict[str, Any] = arguments.arguments.setdefault(parameter.name, {})
            return found
    return {}


def _set(arguments: inspect.BoundArguments, name: str, value: Any) -> None:
    if name in arguments.signature.parameters:
        arguments.arguments[name] = value
    else:
        _more(arguments)[name] = value


def _drop(arguments: inspect.BoundArguments, name: str) -> None:
    arguments.arguments.pop(name, None)
    _more(arguments).pop(name, None)


def _with_more(result: Any, change: ChangedCall) -> Any:
    """The dataset with a cache and options after it."""
    if change.cache:
        result = result.cache()
    if change.options:
        options = sys.modules["tensorflow"].data.Options()
        for path, value in change.options.items():
            *parents, last = path.split(".")
            setattr(functools.reduce(getattr, parents, options), last, value)
        result = result.with_options(options)
    return result
