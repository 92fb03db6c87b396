"""tf.data pipelines as the user wrote them: each public call with its arguments, replayable.

A dataset object does not say what it was made with. So the public methods of
`tf.data.Dataset` note on their result which call made it; a probe can then walk the
pipeline call by call, and build it again with one call changed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fitdoctor.contract.changed_calls import TRANSFORMATIONS
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends import batches

# Static calls that make a dataset from data, or from several datasets.
SOURCES = (
    "choose_from_datasets",
    "from_generator",
    "from_tensor_slices",
    "from_tensors",
    "list_files",
    "load",
    "random",
    "range",
    "sample_from_datasets",
    "zip",
)
# Their arguments are the user's arrays, which must not be kept alive by us.
HOLDS_ARRAYS = frozenset({"from_tensor_slices", "from_tensors"})
_MADE = "_fitdoctor_made"


@dataclass(frozen=True, eq=False)
class Made:
    """The public call that made a dataset."""

    op: str
    inputs: tuple[Any, ...]  # the datasets it was called on or with
    function: Callable[..., Any]  # Keras or TensorFlow's own, unpatched
    arguments: dict[str, Any]  # by name, without `self`; empty where arrays were given
    call: Callable[[tuple[Any, ...], dict[str, Any]], Any]  # the same with other inputs


def watch_transformations(recorder: Recorder, module: ModuleType) -> None:
    """Note on every dataset which public call made it."""
    base = module.DatasetV2
    for name in TRANSFORMATIONS:
        recorder.patches.replace(base, name, functools.partial(_noted, recorder, base, name))
    recorder.patches.around(base, "apply", functools.partial(_noted_apply, recorder, base))
    for name in SOURCES:
        recorder.patches.replace(base, name, functools.partial(_noted_source, recorder, base, name))


def made_of(dataset: Any) -> Made | None:
    """The call that made a dataset; None where it was not seen."""
    made = vars(dataset).get(_MADE)
    return made if isinstance(made, Made) else None


def op_of(dataset: Any) -> str:
    """The public name of a stage: `map`, `TFRecordDataset`, ..."""
    made = made_of(dataset)
    return made.op if made is not None and made.op != "apply" else _class_name(dataset)


def _class_name(dataset: Any) -> str:
    return type(dataset).__name__.strip("_").removesuffix("V2")


def inputs_of(dataset: Any) -> tuple[Any, ...]:
    """The datasets that a stage reads."""
    made = made_of(dataset)
    if made is not None:
        return made.inputs
    if type(dataset).__name__.startswith(("TFRecord", "TextLine", "FixedLength", "Csv")):
        return ()  # readers of files: what they are made of inside is theirs
    return tuple(dataset._inputs())


def replayed(dataset: Any, inputs: tuple[Any, ...] | None = None, **changed: Any) -> Any:
    """The same stage with other arguments, and on other inputs if any are given."""
    made = _known(dataset)
    return made.call(made.inputs if inputs is None else inputs, {**made.arguments, **changed})


def moved(dataset: Any, new_input: Any) -> Any:
    """The same one-input stage on another input."""
    made = _known(dataset)
    return made.call((new_input, *made.inputs[1:]), made.arguments)


def substituted(root: Any, stage: Any, replacement: Any) -> Any:
    """The pipeline with one stage replaced; stages that do not depend on it are reused."""
    return rebuilt(root, lambda one, _: replacement if one is stage else None)


def rebuilt(root: Any, change: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
    """The pipeline made again where something changed.

    Args:
        root: the last stage.
        change: called with a stage and its new inputs; returns what replaces the stage,
            or None to leave it as it was written.
    """
    made = made_of(root)
    if made is None:
        found = change(root, ())
        return root if found is None else found
    inputs = tuple(rebuilt(one, change) for one in made.inputs)
    found = change(root, inputs)
    if found is not None:
        return found
    if all(new is old for new, old in zip(inputs, made.inputs, strict=True)):
        return root
    return made.call(inputs, made.arguments)


def with_arguments(root: Any, changed: dict[int, dict[str, Any]]) -> Any:
    """The pipeline with other arguments for some stages, by the ids of their datasets."""

    def change(dataset: Any, inputs: tuple[Any, ...]) -> Any:
        arguments = changed.get(id(dataset))
        return None if arguments is None else replayed(dataset, inputs, **arguments)

    return rebuilt(root, change)


def _known(dataset: Any) -> Made:
    made = made_of(dataset)
    if made is None:
        raise LookupError(f"how {type(dataset).__name__} was made was not seen")
    return made


def _noted(
    recorder: Recorder, base: Any, name: str, original: Callable[..., Any]
) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if not recorder.suspended and isinstance(result, base):
            _note(result, _transformation(name, original, signature, self, args, kwargs, base))
        return result

    return method


def _transformation(
    name: str,
    original: Callable[..., Any],
    signature: inspect.Signature,
    dataset: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    base: Any,
) -> Made:
    bound = dict(signature.bind(dataset, *args, **kwargs).arguments)
    bound.pop("self", None)
    others = tuple(key for key, value in bound.items() if isinstance(value, base))
    inputs = (dataset, *(bound.pop(key) for key in others))

    def call(new_inputs: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
        first, *rest = new_inputs
        given = {**dict(zip(others, rest, strict=True)), **arguments}
        result = original(first, **given)
        _note(result, _transformation(name, original, signature, first, (), given, base))
        return result

    return Made(name, inputs, original, bound, call)


def note_transformation(
    dataset: Any,
    name: str,
    original: Callable[..., Any],
    signature: inspect.Signature,
    source: Any,
    arguments: dict[str, Any],
    base: Any,
) -> None:
    """Note how a dataset was made that nobody watched being made."""
    _note(dataset, _transformation(name, original, signature, source, (), arguments, base))


def _noted_apply(
    recorder: Recorder,
    base: Any,
    original: Callable[..., Any],
    self: Any,
    transformation_func: Callable[..., Any],
) -> Any:
    """`apply` counts only where nothing that it called made the dataset (assert_cardinality)."""
    result = original(self, transformation_func)
    if not recorder.suspended and isinstance(result, base) and made_of(result) is None:
        _note(result, _application(original, self, transformation_func))
    return result


def _application(original: Callable[..., Any], dataset: Any, function: Callable[..., Any]) -> Made:
    def call(new_inputs: tuple[Any, ...], _: dict[str, Any]) -> Any:
        result = original(new_inputs[0], function)
        if made_of(result) is None:
            _note(result, _application(original, new_inputs[0], function))
        return result

    return Made("apply", (dataset,), original, {}, call)


def _noted_source(recorder: Recorder, base: Any, name: str, original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not recorder.suspended and isinstance(result, base):
            _note(result, _source(name, original, args, kwargs, base))
        return result

    return staticmethod(method)


def _source(
    name: str,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    base: Any,
) -> Made:
    if name in HOLDS_ARRAYS:
        return Made(name, (), original, {}, _not_again)
    found = [one for one in batches.leaves((args, kwargs)) if isinstance(one, base)]

    def call(new_inputs: tuple[Any, ...], _: dict[str, Any]) -> Any:
        new = dict(zip(map(id, found), new_inputs, strict=True))
        new_args, new_kwargs = batches.map_leaves(lambda one: new.get(id(one), one), (args, kwargs))
        result = original(*new_args, **new_kwargs)
        _note(result, _source(name, original, new_args, new_kwargs, base))
        return result

    bound = inspect.signature(original).bind(*args, **kwargs)
    return Made(name, tuple(found), original, {} if found else dict(bound.arguments), call)


def _not_again(_: tuple[Any, ...], __: dict[str, Any]) -> Any:
    raise LookupError("a source of arrays is used as it is, never made again")


def _note(dataset: Any, made: Made) -> None:
    """The outermost call wins: the calls that it made inside do not count.

    A call that gives its own input back (`repeat(1)` may) made nothing.
    """
    if not any(dataset is one for one in made.inputs):
        vars(dataset)[_MADE] = made
