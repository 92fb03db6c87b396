"""Work whose cost is known, in each framework: what a machine's rates are measured with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.models.layer_step import layer_step

# A GPU is given so much work at once that starting it takes no part of the time.
MATRIX, MATRIX_ON_GPU = 1024, 8192
VECTOR, VECTOR_ON_GPU = 16_000_000, 256_000_000
# A usual convolution: 3x3, 64 to 64 channels, 32x32 pixels, 16 images; on a GPU a larger one.
IMAGES, PIXELS, CHANNELS, KERNEL = 16, 32, 64, 3
IMAGES_ON_GPU, CHANNELS_ON_GPU = 256, 128
# Small operations in a row.
CHAIN = 100
SMALL = 32

Work = Callable[[], Any]


def matrix_product(dtype: str, *, on_gpu: bool = False) -> tuple[Work, float]:
    """One large product, and its floating-point operations."""
    ops = sys.modules["keras"].ops
    size = MATRIX_ON_GPU if on_gpu else MATRIX
    matrix = ops.ones((size, size), dtype=dtype)
    # Whoever waits for a result may copy it: a corner of a large one will do.
    return (
        (lambda: ops.matmul(matrix, matrix)[:1, :1])
        if on_gpu
        else (lambda: ops.matmul(matrix, matrix))
    ), 2.0 * size**3


def vector_sum(*, on_gpu: bool = False) -> tuple[Work, float]:
    """One pass over a large vector, and the bytes it reads and writes."""
    ops = sys.modules["keras"].ops
    size = VECTOR_ON_GPU if on_gpu else VECTOR
    vector = ops.ones((size,), dtype="float32")
    return (
        (lambda: ops.add(vector, 1.0)[:1]) if on_gpu else (lambda: ops.add(vector, 1.0))
    ), 2.0 * 4 * size


def convolution(backend: str, *, on_gpu: bool = False) -> tuple[Work, float]:
    """A convolution with its gradients, and its floating-point operations."""
    keras = sys.modules["keras"]
    images_of, channels = (IMAGES_ON_GPU, CHANNELS_ON_GPU) if on_gpu else (IMAGES, CHANNELS)
    layer = keras.layers.Conv2D(
        channels, KERNEL, padding="same", use_bias=False, dtype="float32", name="fitdoctor_conv"
    )
    images = keras.ops.ones((images_of, PIXELS, PIXELS, channels), dtype="float32")
    layer.build(images.shape)
    step = layer_step(backend, layer, (images,), {})
    forward = 2.0 * images_of * PIXELS**2 * channels**2 * KERNEL**2
    return step.run, 3.0 * forward


def small_operations(backend: str) -> Work:
    """A chain of small operations as a step runs them: compiled, on torch one by one."""
    makers = {"tensorflow": _tensorflow_chain, "jax": _jax_chain, "torch": _torch_chain}
    return makers[backend]()


def small_eager_operation() -> Work:
    """One small operation called from Python."""
    ops = sys.modules["keras"].ops
    small = ops.ones((SMALL,), dtype="float32")
    return lambda: ops.add(small, small)


def _tensorflow_chain() -> Work:
    tf = sys.modules["tensorflow"]

    @tf.function(jit_compile=False, autograph=False)  # type: ignore[untyped-decorator]
    def chain(x: Any, w: Any) -> Any:
        for _ in range(CHAIN):
            x = tf.tanh(tf.matmul(x, w))
        return x

    x, w = tf.ones((SMALL, SMALL)), tf.ones((SMALL, SMALL))
    return lambda: chain(x, w)


def _jax_chain() -> Work:
    jax = sys.modules["jax"]

    def body(x: Any, _: Any) -> Any:
        return jax.numpy.tanh(x @ x), None

    chain = jax.jit(lambda x: jax.lax.scan(body, x, None, length=CHAIN)[0])
    x = jax.numpy.ones((SMALL, SMALL))
    return lambda: chain(x)


def _torch_chain() -> Work:
    torch = sys.modules["torch"]
    w = torch.ones((SMALL, SMALL), requires_grad=True)

    def chain() -> Any:
        x = w
        for _ in range(CHAIN):
            x = torch.tanh(x @ w)
        return torch.autograd.grad(x.sum(), w)

    return chain
