"""What counts as looking after a model, and not as training it."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from fitdoctor.inside.lab.apparatus.upkeep import BUILDERS, UPKEEP, upkeep


def stack_of(code: str, module: str, call: str) -> list[FrameType]:
    """The frames above the call, innermost first, as a sampler sees them."""
    seen: list[FrameType] = []

    def look() -> None:
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") == module:
            seen.append(frame)
            frame = frame.f_back  # type: ignore[assignment]

    names = {"__name__": module, "look": look}
    exec(code, names)
    eval(call, names)
    return seen


def test_a_layer_that_computes_is_training() -> None:
    code = "def __call__(): look()"
    assert upkeep(stack_of(code, "keras.src.layers.layer", "__call__()")) is None


def test_a_function_of_the_users_with_such_a_name_is_the_users() -> None:
    assert upkeep(stack_of("def set_weights(): look()", "train", "set_weights()")) is None


def test_the_outermost_call_is_named() -> None:
    code = "def clone_model(): from_config()\ndef from_config(): look()"
    assert upkeep(stack_of(code, "keras.src.models.cloning", "clone_model()")) == "clone_model"


def test_a_model_that_is_built_is_named_by_its_class() -> None:
    code = "class Sequential:\n    def __init__(self): look()"
    stack = stack_of(code, "keras.src.models.sequential", "Sequential()")
    assert upkeep(stack) == "Sequential"


@pytest.mark.parametrize("name", sorted(UPKEEP["keras"]))
def test_keras_has_it(name: str) -> None:
    import keras

    places = (keras.Model, keras.models, keras.saving, keras.layers.Layer)
    assert any(callable(getattr(place, name, None)) for place in places)


def test_keras_keeps_its_classes_there() -> None:
    import keras

    classes = (keras.layers.Layer, keras.Model, keras.optimizers.Optimizer, keras.metrics.Metric)
    assert all(one.__module__.startswith(BUILDERS) for one in classes)


@pytest.mark.parametrize("name", sorted(UPKEEP["torch"]))
def test_torch_has_it(name: str) -> None:
    import torch

    assert any(callable(getattr(place, name, None)) for place in (torch, torch.nn.Module))
