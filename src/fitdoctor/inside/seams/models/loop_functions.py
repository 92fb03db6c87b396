"""The function that a hand-written loop calls for a step, called again and made again.

Made again: compiled with or without XLA, or traced while something of the model is changed. The
loop's own compiled function is never touched.
"""

from __future__ import annotations

import abc
import functools
import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.models.contexts import Context
from fitdoctor.inside.seams.models.observed import ModelCall, observed_models
from fitdoctor.inside.seams.models.traced_trials import GraphTrial, JitTrial
from fitdoctor.inside.seams.not_available import NotAvailable

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class LoopFunction(abc.ABC):
    """A step of a hand-written loop."""

    is_compiled = True
    has_jit = False  # XLA was asked for

    @abc.abstractmethod
    def call(self, arguments: Arguments) -> Any:
        """As the loop calls it."""

    @abc.abstractmethod
    def made_again(self, *, jit: bool | None = None) -> Callable[..., Any]:
        """A new function of the same Python code, compiled as the loop's is.

        Args:
            jit: with or without XLA, whatever the loop asks for.
        """

    def under(self, change: Context) -> Callable[..., Any]:
        """A new function, traced and called while something is changed."""
        made = self.made_again()

        def changed(*args: Any, **kwargs: Any) -> Any:
            with change():
                return made(*args, **kwargs)

        return changed

    @abc.abstractmethod
    def models(self, arguments: Arguments) -> list[ModelCall]:
        """The models that it calls, found by tracing it once more."""


class TensorFlowFunction(LoopFunction):
    """A tf.function."""

    def __init__(self, function: Any) -> None:
        self._tf = sys.modules["tensorflow"]
        self._function = function
        self._python = function.python_function
        self.has_jit = bool(getattr(function, "_jit_compile", False))

    def call(self, arguments: Arguments) -> Any:
        args, kwargs = arguments
        return self._function(*args, **kwargs)

    def made_again(self, *, jit: bool | None = None) -> Callable[..., Any]:
        wanted = self.has_jit if jit is None else jit
        made: Callable[..., Any] = self._tf.function(
            self._python, jit_compile=wanted or None, reduce_retracing=True
        )
        return made

    def models(self, arguments: Arguments) -> list[ModelCall]:
        args, kwargs = arguments
        with observed_models() as found:
            self._tf.function(self._python).get_concrete_function(*args, **kwargs)
        return found


class JaxFunction(LoopFunction):
    """A jitted function; without donation, so that its arguments may be used again."""

    def __init__(self, jitted: Any, options: dict[str, Any]) -> None:
        self._jax = sys.modules["jax"]
        self._jitted = jitted
        self._python = jitted.__wrapped__
        self._options = {k: v for k, v in options.items() if not k.startswith("donate")}
        self._donates = len(self._options) < len(options)
        self._own: Callable[..., Any] | None = None if self._donates else jitted

    def call(self, arguments: Arguments) -> Any:
        args, kwargs = arguments
        if self._own is None:
            self._own = self.made_again()
        return self._own(*args, **kwargs)

    def made_again(self, *, jit: bool | None = None) -> Callable[..., Any]:
        if jit is False:
            raise NotAvailable("JAX without jit runs op by op")
        made: Callable[..., Any] = self._jax.jit(self._fresh(), **self._options)
        return made

    def models(self, arguments: Arguments) -> list[ModelCall]:
        args, kwargs = arguments
        with observed_models() as found:
            self._jax.jit(self._fresh(), **self._options).lower(*args, **kwargs)
        return found

    def _fresh(self) -> Callable[..., Any]:
        """A function that JAX has never seen: it keeps traces by equality."""
        python = self._python

        @functools.wraps(python)
        def step(*args: Any, **kwargs: Any) -> Any:
            return python(*args, **kwargs)

        return step


class PlainFunction(LoopFunction):
    """A Python function that runs the framework's operations one by one."""

    is_compiled = False

    def __init__(self, backend: str, function: Callable[..., Any]) -> None:
        self._backend = backend
        self._function = function

    def call(self, arguments: Arguments) -> Any:
        args, kwargs = arguments
        return self._function(*args, **kwargs)

    def made_again(self, *, jit: bool | None = None) -> Callable[..., Any]:
        return self._function if not jit else self.compiled()

    def compiled(self) -> Callable[..., Any]:
        """As a graph, or under jit; numbers that it reads on the way are stand-ins."""
        if self._backend == "tensorflow":
            return GraphTrial(sys.modules["tensorflow"], self._function)
        if self._backend == "jax":
            return JitTrial(sys.modules["jax"], self._function)
        raise NotAvailable("torch.compile is not tried while a script is examined")

    def models(self, arguments: Arguments) -> list[ModelCall]:
        """By running it: a step more does no harm to a script that ends after it."""
        with observed_models() as found:
            self.call(arguments)
        return found


class ReferenceStep(PlainFunction):
    """Forward, backward and update of the loop's own model, where the loop has no step function.

    The loss is a stand-in (mean square of the outputs): its cost is small beside the model's.
    Called with the inputs of the model.
    """

    def __init__(self, backend: str, seen: ModelCall, optimizer: Any) -> None:
        makers = {"tensorflow": _tensorflow_step, "torch": _torch_step, "jax": _jax_step}
        super().__init__(backend, makers[backend](seen.model, seen.kwargs, optimizer))
        self._seen = seen

    def models(self, arguments: Arguments) -> list[ModelCall]:
        return [self._seen]


def _outputs(tree: Any, value: Any) -> list[Any]:
    return [leaf for leaf in tree.flatten(value) if leaf is not None]


def _tensorflow_step(model: Any, kwargs: dict[str, Any], optimizer: Any) -> Callable[..., Any]:
    tf = sys.modules["tensorflow"]

    def step(*inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = tf.nest.flatten(model(*inputs, **kwargs))
            loss = tf.add_n([tf.reduce_mean(tf.square(tf.cast(o, "float32"))) for o in outputs])
        variables = model.trainable_variables
        gradients = tape.gradient(loss, variables)
        if optimizer is not None:
            pairs = zip(gradients, variables, strict=True)
            optimizer.apply_gradients([pair for pair in pairs if pair[0] is not None])
        return loss

    return step


def _torch_step(model: Any, kwargs: dict[str, Any], optimizer: Any) -> Callable[..., Any]:
    tree = sys.modules["keras"].tree

    def step(*inputs: Any) -> Any:
        model.zero_grad()
        outputs = _outputs(tree, model(*inputs, **kwargs))
        loss = sum((output.float() ** 2).mean() for output in outputs)
        loss.backward()
        if hasattr(optimizer, "step"):
            optimizer.step()
        elif optimizer is not None:
            torch = sys.modules["torch"]
            weights = [v for v in model.trainable_variables if v.value.grad is not None]
            with torch.no_grad():
                optimizer.apply([v.value.grad for v in weights], weights)
        return loss

    return step


def _jax_step(model: Any, kwargs: dict[str, Any], optimizer: Any) -> Callable[..., Any]:
    jax = sys.modules["jax"]
    numpy, tree = jax.numpy, jax.tree

    def loss_of(weights: Any, fixed: Any, inputs: Any) -> Any:
        outputs, _ = model.stateless_call(weights, fixed, *inputs, **kwargs)
        return sum(numpy.mean(numpy.square(leaf)) for leaf in tree.leaves(outputs))

    def step(*inputs: Any) -> Any:
        weights = [v.value for v in model.trainable_variables]
        fixed = [v.value for v in model.non_trainable_variables]
        loss, gradients = jax.value_and_grad(loss_of)(weights, fixed, inputs)
        if optimizer is None or not hasattr(optimizer, "stateless_apply"):
            return loss, gradients
        slots = [v.value for v in optimizer.variables]
        return loss, optimizer.stateless_apply(slots, gradients, weights)

    return step
