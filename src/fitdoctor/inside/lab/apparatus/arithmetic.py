"""What a layer's forward pass needs: multiply-adds and bytes, from its shapes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

FLOAT_BYTES = 4
# Ops per output element of a layer without weights: an activation, a norm, a pooling window.
PLAIN_OPS = 10
ATTENTION = frozenset({"MultiHeadAttention", "GroupedQueryAttention"})


def flops(
    kind: str, weights: Sequence[Sequence[int]], inputs: Sequence[int], output: Sequence[int]
) -> float:
    """Floating-point operations of one forward pass.

    Args:
        kind: The layer's class name.
        weights: Shapes of its weights, the kernel first.
        inputs: Shape of its first input.
        output: Shape of its first output.

    Example:
        >>> flops("Dense", [(64, 10), (10,)], (32, 64), (32, 10))
        40960.0
    """
    elements = math.prod(output)
    kernels = [shape for shape in weights if len(shape) >= 2]
    if kind == "Embedding" or not kernels:
        return float(PLAIN_OPS * elements)
    if kind in ("LSTM", "GRU", "SimpleRNN", "Bidirectional") and len(inputs) >= 3:
        # Every time step multiplies by the input's and the state's kernel.
        return 2.0 * inputs[0] * inputs[1] * sum(math.prod(shape) for shape in kernels)
    if kind.startswith("Depthwise"):
        return 2.0 * elements * math.prod(kernels[0][:-2])
    if kind.startswith("Conv") and "Transpose" in kind:
        return 2.0 * math.prod(inputs) * math.prod(kernels[0][:-2]) * kernels[0][-2]
    if kind.startswith("Conv"):
        # The kernel of a grouped convolution has only its group's channels.
        return 2.0 * elements * math.prod(kernels[0][:-1])
    if kind.startswith("Separable"):
        depthwise, pointwise = kernels[0], kernels[-1]
        positions = elements / max(1, output[-1])
        return 2.0 * positions * (math.prod(depthwise) + math.prod(pointwise))
    if kind in ATTENTION and len(inputs) >= 3 and len(kernels[0]) == 3:
        # Each position's query meets each key, and then each value, of as many numbers.
        rows, length = math.prod(inputs[:-2]), inputs[-2]
        scores = 2 * 2.0 * rows * length**2 * math.prod(kernels[0][1:])
        return scores + 2.0 * rows * length * sum(math.prod(shape) for shape in kernels)
    positions = math.prod(inputs[:-1]) if len(inputs) > 1 else 1
    return 2.0 * positions * sum(math.prod(shape) for shape in kernels)


def moved_bytes(
    weights: Sequence[Sequence[int]], inputs: Sequence[int], output: Sequence[int]
) -> float:
    """Bytes read and written at least once in a forward pass."""
    elements = math.prod(inputs) + math.prod(output) + sum(math.prod(shape) for shape in weights)
    return float(FLOAT_BYTES * elements)
