"""The user's own model with one thing changed for a while, and back again.

For changes that need no other layers, so that subclassed models can be tried as well. Each is
a context that has to be open while the step is made, traced and called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.model_state import all_layers

Context = Callable[[], AbstractContextManager[None]]

# Of the kernels of cuDNN.
_FUSED_ACTIVATIONS = {"activation": "tanh", "recurrent_activation": "sigmoid"}


def with_optimizer(model: Any, name: str) -> Context:
    """Another optimizer, with slots of its own."""
    optimizer = sys.modules["keras"].optimizers.get(name)
    optimizer.build(model.trainable_variables)
    return lambda: attribute(model, "optimizer", optimizer)


def in_policy(model: Any, name: str) -> Context:
    """Every layer computes by another dtype policy, with the variables it has.

    The variables of mixed policies are float32 already.
    """
    policy = sys.modules["keras"].dtype_policies.DTypePolicy(name)
    layers = [model, *all_layers(model)]
    # Losses are scaled for float16 only; Keras wraps the optimizer for it.
    optimizer = getattr(model.optimizer, "inner_optimizer", None) or model.optimizer

    @contextmanager
    def changed() -> Iterator[None]:
        before = [layer.dtype_policy for layer in layers]
        for layer in layers:
            layer.dtype_policy = policy
        try:
            with attribute(model, "optimizer", optimizer):
                yield
        finally:
            for layer, own in zip(layers, before, strict=True):
                layer.dtype_policy = own

    return changed


def without_metrics(model: Any) -> Context:
    """The step without the metrics given to compile(); the loss is still tracked."""
    return lambda: attribute(model, "_compile_metrics", None)


def with_plain_loss(model: Any) -> Context:
    """The mean square of the outputs in the place of the loss, and what the layers add to it."""
    ops = sys.modules["keras"].ops

    def compute_loss(
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        outputs = [ops.cast(one, "float32") for one in batches.leaves(y_pred)]
        return sum([*(ops.mean(ops.square(one)) for one in outputs), *model.losses])

    return lambda: attribute(model, "compute_loss", compute_loss)


def without_recurrent_dropout(model: Any) -> Context:
    """Recurrent layers may take their fused path: the dropout inside the recurrence is off."""
    cells = [
        getattr(layer, "cell", layer)
        for layer in all_layers(model)
        if getattr(layer, "recurrent_dropout", 0)
    ]
    return _fused(model, [(cell, {"recurrent_dropout": 0.0}) for cell in cells])


def with_default_activations(model: Any) -> Context:
    """Recurrent layers may take their fused path: their activations are those that it has."""
    given = [
        (layer.cell, dict.fromkeys(other_activations(layer)))
        for layer in all_layers(model)
        if other_activations(layer)
    ]
    default = {name: getattr(_activations(), value) for name, value in _FUSED_ACTIVATIONS.items()}
    return _fused(model, [(cell, {name: default[name] for name in names}) for cell, names in given])


def other_activations(layer: Any) -> tuple[str, ...]:
    """The keywords of an LSTM or GRU whose activation no fused kernel has."""
    cell = getattr(layer, "cell", None)
    if cell is None or type(layer).__name__ not in ("LSTM", "GRU"):
        return ()
    return tuple(
        name
        for name, default in _FUSED_ACTIVATIONS.items()
        if getattr(cell, name, None) is not getattr(_activations(), default)
    )


def _activations() -> Any:
    return sys.modules["keras"].activations


def _fused(model: Any, changes: list[tuple[Any, dict[str, Any]]]) -> Context:
    @contextmanager
    def changed() -> Iterator[None]:
        with ExitStack() as stack:
            for cell, settings in changes:
                for name, value in settings.items():
                    stack.enter_context(attribute(cell, name, value))
            if sys.modules["keras"].backend.backend() == "tensorflow":
                # XLA has no cuDNN kernel; Keras leaves it out by itself where a layer is fused.
                stack.enter_context(with_settings(model, {"jit_compile": False})())
            yield

    return changed


def as_native_operations(layer: Any) -> Context:
    """Some operations of the framework in a layer's place, for its inputs and its gradient.

    What the layer would cost if it were written so; its numbers are others.
    """
    tanh = sys.modules["keras"].ops.tanh

    def call(inputs: Any, *_: Any, **__: Any) -> Any:
        return tanh(0.5 * inputs) + inputs

    return lambda: attribute(layer, "call", call)


def with_layers_in_front(model: Any, layers: list[Any]) -> Context:
    """The model computes these layers first, as a part of its own step."""
    own = model.call

    def call(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        for layer in layers:
            inputs = layer(inputs, training=True)
        return own(inputs, *args, **kwargs)

    return lambda: attribute(model, "call", call)


@contextmanager
def attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another value of an attribute for a while."""
    # Past Keras's own tracking: a change for a moment is not part of the model.
    is_own = name in vars(owner)
    before = getattr(owner, name)
    object.__setattr__(owner, name, value)
    try:
        yield
    finally:
        if is_own:
            object.__setattr__(owner, name, before)
        else:  # the class has it: a method, for one
            object.__delattr__(owner, name)


def with_settings(model: Any, settings: dict[str, Any]) -> Context:
    """Some of `steps_per_execution`, `run_eagerly`, `jit_compile` as compile() would set them.

    Keras reads some of them when the step is made and others when it is traced.
    """

    @contextmanager
    def changed() -> Iterator[None]:
        before = {name: getattr(model, name) for name in settings}
        _set_all(model, settings)
        try:
            yield
        finally:
            _set_all(model, before)

    return changed


def _set_all(model: Any, settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        if getattr(model, name) != value:
            setattr(model, name, value)


def step_under(model: Any, context: Context) -> Callable[..., Any]:
    """A new step function, made, traced and called inside the context; the model keeps its own."""
    own_function = model.train_function
    try:
        with context():
            model.make_train_function(force=True)
            made = model.train_function
    finally:
        model.train_function = own_function

    def function(*arguments: Any) -> Any:
        with context():
            return made(*arguments)

    return function
