"""One layer, or the optimizer's update, by itself: compiled as it would be inside the step."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.not_available import NotAvailable

# Ops that leave the graph for Python.
HOST_OPS = frozenset({"PyFunc", "EagerPyFunc", "PyFuncStateless"})
LOOP_OPS = frozenset({"While", "StatelessWhile"})
HOST_PRIMITIVES = ("pure_callback", "io_callback", "debug_callback")
# Where a tensor of torch becomes a NumPy array or a Python number.
TORCH_EXITS = ("numpy", "item", "tolist")
Values = dict[int, Any]  # variables' values by id, where the variables hold none (JAX in a fit)


@dataclass(frozen=True)
class LayerStep:
    """A layer's own step, and what its graph holds."""

    run: Callable[[], Any]
    backward: bool  # False where the layer has no gradient, so that only its forward was timed
    host_ops: int  # calls that leave the graph for Python
    loops: int


def layer_step(
    backend: str, layer: Any, inputs: Any, values: dict[int, Any], *, is_first: bool = False
) -> LayerStep:
    """The layer on the inputs it was given.

    Args:
        backend: Keras's backend.
        layer: The user's layer; its variables are read, not changed.
        inputs: Its positional arguments as the model gave them.
        values: Variables' values by id, where the variables themselves hold none (JAX in a fit).
        is_first: The inputs are the data, for which no gradient is computed.
    """
    makers = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}
    return makers[backend](layer, inputs, values, is_first)


def _call(layer: Any, inputs: Any) -> Any:
    try:
        return layer(*inputs, training=True)
    except TypeError:  # a layer whose call() does not take it
        return layer(*inputs)


def _tensorflow(layer: Any, inputs: Any, values: dict[int, Any], is_first: bool) -> LayerStep:
    tf = sys.modules["tensorflow"]

    def step(given: Any) -> Any:
        leaves = [] if is_first else batches.leaves(given)
        watched = [leaf for leaf in leaves if leaf.dtype.is_floating]
        with tf.GradientTape() as tape:
            for leaf in watched:
                tape.watch(leaf)
            outputs = batches.leaves(_call(layer, given))
            floats = [out for out in outputs if out.dtype.is_floating]
            total = tf.add_n([tf.reduce_sum(tf.cast(out, "float32")) for out in floats])
        sources = [variable.value for variable in layer.trainable_variables] + watched
        gradients = tape.gradient(total, sources) if sources else []
        return [total, *(gradient for gradient in gradients if gradient is not None)]

    traced = tf.function(step, jit_compile=False)
    graph = traced.get_concrete_function(inputs).graph
    ops = Counter(operation.type for operation in graph.get_operations())
    for function in graph.as_graph_def().library.function:
        ops.update(node.op for node in function.node_def)
    return LayerStep(
        run=lambda: traced(inputs),
        backward=True,
        host_ops=sum(ops[name] for name in HOST_OPS),
        loops=sum(ops[name] for name in LOOP_OPS),
    )


def _jax(layer: Any, inputs: Any, values: dict[int, Any], is_first: bool) -> LayerStep:
    jax = sys.modules["jax"]
    numpy = jax.numpy
    trainable = [values.get(id(v), v._value) for v in layer.trainable_variables]
    fixed = [values.get(id(v), v._value) for v in layer.non_trainable_variables]

    def forward(weights: Any, given: Any) -> Any:
        try:
            out, _ = layer.stateless_call(weights, fixed, *given, training=True)
        except TypeError:
            out, _ = layer.stateless_call(weights, fixed, *given)
        floats = [o for o in batches.leaves(out) if numpy.issubdtype(o.dtype, numpy.floating)]
        return sum(numpy.sum(o.astype("float32")) for o in floats)

    program = str(jax.make_jaxpr(forward)(trainable, inputs))
    host_ops = sum(program.count(name) for name in HOST_PRIMITIVES)
    loops = program.count("while[") + program.count("scan[")
    floats = all(numpy.issubdtype(i.dtype, numpy.floating) for i in batches.leaves(inputs))
    with_inputs = not is_first and floats
    arguments = ((0,) if trainable else ()) + ((1,) if with_inputs else ())
    # With the value: a forward pass that no gradient needs would not be computed at all.
    both = jax.value_and_grad(forward, argnums=arguments) if arguments else forward
    function = jax.jit(both)
    backward = bool(arguments)
    try:
        if backward:
            jax.block_until_ready(function(trainable, inputs))
    except Exception:  # noqa: BLE001 - no gradient through a callback: the forward pass is what is left
        backward = False
    if not backward:
        function = jax.jit(forward)
    return LayerStep(lambda: function(trainable, inputs), backward, host_ops, loops)


def _torch(layer: Any, inputs: Any, values: dict[int, Any], is_first: bool) -> LayerStep:
    torch = sys.modules["torch"]

    def as_leaf(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return tensor
        copy = tensor.detach()
        return copy.requires_grad_() if copy.is_floating_point() and not is_first else copy

    given = batches.map_leaves(as_leaf, inputs)
    watched = [leaf for leaf in batches.leaves(given) if getattr(leaf, "requires_grad", False)]
    weights = [v.value for v in layer.trainable_variables if v.value.requires_grad]

    def step() -> Any:
        outputs = [o for o in batches.leaves(_call(layer, given)) if o.is_floating_point()]
        total = sum(output.float().sum() for output in outputs)
        if not getattr(total, "requires_grad", False):
            return total
        sources = weights + watched
        return torch.autograd.grad(total, sources, allow_unused=True) if sources else total

    exits = _torch_exits(torch, step)
    return LayerStep(step, True, exits, 0)


def _torch_exits(torch: Any, step: Callable[[], Any]) -> int:
    """How often one step leaves torch for NumPy or Python."""
    count = 0

    def leave(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        return original(*args, **kwargs)

    with Patches() as patches:
        for name in TORCH_EXITS:
            patches.around(torch.Tensor, name, leave)
        step()
    return count


def optimizer_update(backend: str, model: Any, optimizer: Any, values: Values) -> Callable[[], Any]:
    """A function that updates every trainable variable once, with gradients of zero.

    It changes weights and the optimizer's state, so state has to be put back afterwards.

    Raises:
        NotAvailable: there is nothing to update.
    """
    variables = list(model.trainable_variables)
    if not variables or optimizer is None:
        raise NotAvailable("the model has no optimizer, or nothing to train")
    if not hasattr(optimizer, "apply"):
        return lambda: optimizer.step()  # torch's own: with the gradients of the last step
    makers = {"tensorflow": _tensorflow_update, "jax": _jax_update, "torch": _torch_update}
    return makers[backend](optimizer, variables, values)


def _tensorflow_update(optimizer: Any, variables: list[Any], values: Values) -> Callable[[], Any]:
    tf = sys.modules["tensorflow"]
    gradients = [tf.zeros(variable.shape, variable.dtype) for variable in variables]

    @tf.function(jit_compile=False, autograph=False)  # type: ignore[untyped-decorator]
    def update(given: Any) -> None:
        optimizer.apply(given, variables)

    return lambda: update(gradients)


def _jax_update(optimizer: Any, variables: list[Any], values: Values) -> Callable[[], Any]:
    jax = sys.modules["jax"]
    weights = [values.get(id(variable), variable._value) for variable in variables]
    slots = [values.get(id(variable), variable._value) for variable in optimizer.variables]
    if any(value is None for value in (*weights, *slots)):
        raise NotAvailable("the optimizer's state is not at hand while the fit runs")
    gradients = [jax.numpy.zeros_like(weight) for weight in weights]

    def update(state: Any, given: Any, trained: Any) -> Any:
        return optimizer.stateless_apply(state, given, trained)

    compiled = jax.jit(update)
    return lambda: compiled(slots, gradients, weights)


def _torch_update(optimizer: Any, variables: list[Any], values: Values) -> Callable[[], Any]:
    torch = sys.modules["torch"]
    gradients = [torch.zeros_like(variable.value) for variable in variables]

    def update() -> Any:
        with torch.no_grad():
            optimizer.apply(gradients, variables)
        return variables[0].value

    return update
