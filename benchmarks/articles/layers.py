"""What the layers of a model cost."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.articles.claim import Claim, Seen, Timed
from benchmarks.articles.models import compiled, images, rows
from benchmarks.articles.timing import fit


def _sequences(count: int = 320, steps: int = 30, features: int = 8) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.normal(size=(count, steps, features)).astype("float32"), np.zeros((count, 1))


def _recurrent(*layers: Any, steps: int = 30) -> Any:
    import keras

    return compiled([*layers, keras.layers.Dense(1)], (steps, 8), loss="mse")


def _smaller() -> Timed:
    from keras.layers import LSTM

    x, y = _sequences()
    large = _recurrent(LSTM(256, return_sequences=True), LSTM(128))
    return Timed({"LSTM 256 and 128": fit(large, x, y), "LSTM 64": fit(_recurrent(LSTM(64)), x, y)})


def _gru() -> Timed:
    from keras.layers import GRU, LSTM

    x, y = _sequences(640)
    return Timed(
        {"LSTM 64": fit(_recurrent(LSTM(64)), x, y), "GRU 64": fit(_recurrent(GRU(64)), x, y)}
    )


def _unroll() -> Seen:
    from keras.layers import LSTM

    x, y = _sequences(320, 100)
    found = {}
    for unroll in (False, True):
        model = _recurrent(LSTM(32, unroll=unroll), steps=100)
        begin = time.perf_counter()
        model.fit(x[:32], y[:32], verbose=0)
        first = time.perf_counter() - begin
        step = fit(model, x, y)() / 10
        found[f"unroll={unroll}"] = f"first step after {first:.1f} s, then {step * 1e3:.0f} ms each"
    return Seen(found, timed=True)


def _convolutions(*layers: Any) -> Any:
    import keras

    more = [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, activation="softmax")]
    return compiled([*layers, *more], (28, 28, 1))


def _wide() -> Timed:
    from keras.layers import Conv2D, MaxPooling2D

    x, y = images(64, 28)
    x = x[..., :1]

    def net(first: int, second: int) -> Any:
        conv = {"kernel_size": 3, "activation": "relu"}
        return _convolutions(
            Conv2D(first, **conv), MaxPooling2D(), Conv2D(second, **conv), MaxPooling2D()
        )

    return Timed(
        {"1024 and 512 channels": fit(net(1024, 512), x, y), "64 and 32": fit(net(64, 32), x, y)}
    )


def _regularised() -> Timed:
    from keras.layers import BatchNormalization, Conv2D, Dropout
    from keras.regularizers import l2

    x, y = images(320, 28)
    x = x[..., :1]
    plain = _convolutions(Conv2D(64, 3, activation="relu"), Conv2D(32, 3, activation="relu"))
    dressed = _convolutions(
        Conv2D(64, 3, activation="relu", kernel_regularizer=l2(0.001)),
        BatchNormalization(),
        Conv2D(32, 3, activation="relu", kernel_regularizer=l2(0.001)),
        BatchNormalization(),
        Dropout(0.5),
    )
    return Timed({"plain": fit(plain, x, y), "BatchNorm, L2, Dropout": fit(dressed, x, y)})


def _numpy_layer() -> Timed:
    import keras
    import numpy as np
    import tensorflow as tf

    waves = np.linspace(1, 2, 32)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def numpy_sin(x: Any) -> Any:
        def sine(value: Any) -> Any:
            return np.sin(value * waves).astype("float32")

        def slope(value: Any) -> Any:
            return (np.cos(value * waves) * waves).astype("float32")

        def gradient(upstream: Any) -> Any:
            return upstream * tf.ensure_shape(tf.numpy_function(slope, [x], tf.float32), x.shape)

        return tf.ensure_shape(tf.numpy_function(sine, [x], tf.float32), x.shape), gradient

    class InNumpy(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            return numpy_sin(inputs)

    class InOps(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            return keras.ops.sin(inputs * waves.astype("float32"))

    x, y = images(160)
    models = [
        compiled(
            [
                keras.layers.Conv2D(32, 3, activation="relu"),
                layer,
                keras.layers.Flatten(),
                keras.layers.Dense(10, activation="softmax"),
            ],
            (32, 32, 3),
            optimizer="sgd",
        )
        for layer in (InNumpy(), InOps())
    ]
    return Timed({"NumPy": fit(models[0], x, y), "keras.ops": fit(models[1], x, y)})


def _per_row() -> Timed:
    import keras
    import tensorflow as tf

    class OneByOne(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            return tf.map_fn(lambda row: row / (tf.norm(row) + 1e-6), inputs)

    class AtOnce(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            return inputs / (tf.norm(inputs, axis=-1, keepdims=True) + 1e-6)

    x, y = rows(5120)

    def net(layer: Any) -> Any:
        return compiled([layer, keras.layers.Dense(10, activation="softmax")], (20,))

    return Timed(
        {
            "a loop over rows": fit(net(OneByOne()), x, y, batch_size=256),
            "at once": fit(net(AtOnce()), x, y, batch_size=256),
        }
    )


def _groups() -> Timed:
    import keras
    from keras.layers import Conv2D, DepthwiseConv2D, SeparableConv2D

    x, y = images(64, 32)

    def net(layer: Any) -> Any:
        more = [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, "softmax")]
        return compiled([Conv2D(64, 1), layer, *more], (32, 32, 3))

    return Timed(
        {
            "Conv2D": fit(net(Conv2D(64, 3)), x, y),
            "groups=8": fit(net(Conv2D(64, 3, groups=8)), x, y),
            "separable": fit(net(SeparableConv2D(64, 3)), x, y),
            "depthwise": fit(net(DepthwiseConv2D(3)), x, y),
        }
    )


def _embedding() -> Timed:
    import keras
    import numpy as np

    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 300_000, (320, 20)), rng.integers(0, 10, 320)

    def net(optimizer: str) -> Any:
        layers = keras.layers
        stack = [
            layers.Embedding(300_000, 32),
            layers.GlobalAveragePooling1D(),
            layers.Dense(10, activation="softmax"),
        ]
        return compiled(stack, (20,), optimizer=optimizer)

    return Timed({name: fit(net(name), x, y) for name in ("adam", "adagrad", "sgd")})


def _augmentation() -> Timed:
    import keras
    import tensorflow as tf

    x, y = images(256, 96)
    layers = keras.layers

    def random() -> Any:
        return [layers.RandomFlip("horizontal"), layers.RandomRotation(0.1)]

    def net(*first: Any) -> Any:
        rest = [layers.Conv2D(8, 3, strides=2), layers.GlobalAveragePooling2D()]
        return compiled([*first, *rest, layers.Dense(10, activation="softmax")], (96, 96, 3))

    augment = keras.Sequential(random())
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    mapped = data.map(
        lambda image, label: (augment(image, training=True), label),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    return Timed(
        {
            "in the dataset": fit(net(), mapped),
            "in the model": fit(net(*random()), data),
            "none": fit(net(), data),
        }
    )


def _text() -> Timed:
    import keras
    import numpy as np
    import tensorflow as tf

    words = [f"word{number}" for number in range(2000)]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 40)) for _ in range(1024)]
    labels = np.zeros(len(texts), "int64")
    layers = keras.layers
    vectorize = layers.TextVectorization(max_tokens=2000, output_sequence_length=40)
    vectorize.adapt(texts)

    def net(first: Any, shape: tuple[int, ...], kind: str) -> Any:
        inputs = keras.Input(shape, dtype=kind)
        hidden = layers.Embedding(2000, 16)(first(inputs) if first else inputs)
        outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(hidden))
        model = keras.Model(inputs, outputs)
        model.compile(loss="sparse_categorical_crossentropy")
        return model

    data = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(32)
    mapped = data.map(lambda text, label: (vectorize(text), label))
    column = data.map(lambda text, label: (tf.expand_dims(text, -1), label))
    return Timed(
        {
            "in the model": fit(net(vectorize, (1,), "string"), column),
            "in the dataset": fit(net(None, (40,), "int64"), mapped),
            "in the dataset, cached": fit(net(None, (40,), "int64"), mapped.cache()),
        }
    )


CLAIMS = (
    Claim(
        "000-2-lstm",
        "article 000, example 2",
        "A smaller LSTM trains much faster",
        "true",
        "what becomes of the accuracy is not measured",
        _smaller,
    ),
    Claim(
        "000-2-gru",
        "article 000, example 2",
        "A GRU instead of an LSTM is faster still",
        "depends",
        "a quarter less arithmetic, which a small layer on a CPU hardly shows",
        _gru,
        backends=("tensorflow", "jax", "torch"),
    ),
    Claim(
        "002-layers",
        "article 002",
        "Some layers cannot be computed in parallel, and one such layer holds everything up",
        "true",
        "a loop over the rows of a batch, against the same for all rows at once",
        _per_row,
    ),
    Claim(
        "002-3-numpy",
        "article 002, example 3",
        "A custom layer in NumPy holds the step up",
        "true",
        "as a `numpy_function`, since plain NumPy cannot be compiled at all",
        _numpy_layer,
    ),
    Claim(
        "003-3-wide",
        "article 003, example 3",
        "Excessively wide layers make training slow",
        "true",
        "what becomes of the accuracy is not measured",
        _wide,
    ),
    Claim(
        "003-3-regularised",
        "article 003, example 3",
        "Batch normalisation, Dropout and L2 reduce training time",
        "false",
        "they make a step slower; whether fewer epochs are needed is not a matter of speed",
        _regularised,
    ),
    Claim(
        "unroll",
        "popular advice",
        "`unroll=True` speeds recurrent layers up",
        "depends",
        "a far longer start in any case; whether steps become shorter depends on the layer",
        _unroll,
    ),
    Claim(
        "groups",
        "popular advice",
        "Grouped or depthwise convolutions need less arithmetic, so they are faster",
        "depends",
        "depthwise and separable ones here; `groups` on TensorFlow's CPU kernels are not",
        _groups,
    ),
    Claim(
        "sparse-adam",
        "popular advice",
        "An optimizer for sparse gradients cures large embeddings",
        "depends",
        "Keras updates every row of the table with Adam and Adagrad; only SGD leaves rows alone",
        _embedding,
    ),
    Claim(
        "augmentation-layers",
        "popular advice",
        "Put augmentation layers into the model",
        "depends",
        "on a CPU it is the same work in another place; on a GPU it was not measured",
        _augmentation,
    ),
    Claim(
        "text-vectorization",
        "popular advice",
        "TextVectorization must be in the dataset",
        "depends",
        "on a CPU only with a cache behind it",
        _text,
    ),
)
