"""Preprocessing in Python, in a `map`, once for all."""

from __future__ import annotations

from typing import Any

from benchmarks.articles.claim import Claim, Timed
from benchmarks.articles.models import compiled
from benchmarks.articles.timing import fit

_COUNT, _BATCH = 960, 32


def _data() -> Any:
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (_COUNT, 48, 48), dtype=np.uint8), rng.integers(0, 10, _COUNT)


def _model() -> Any:
    import keras

    layers = keras.layers
    return compiled([layers.Flatten(), layers.Dense(10, activation="softmax")], (24, 24))


def _halved(image: Any) -> Any:
    """Half the size and values between 0 and 1, pixel by pixel, as in the casebook's A10."""
    import numpy as np

    lines = image.tolist()
    small = [
        [
            (upper[c] + upper[c + 1] + lower[c] + lower[c + 1]) / 1020
            for c in range(0, len(upper), 2)
        ]
        for upper, lower in zip(lines[::2], lines[1::2], strict=True)
    ]
    return np.array(small, dtype="float32")


def _sequence(make: Any) -> Any:
    import keras

    x, y = _data()

    class Images(keras.utils.PyDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return _COUNT // _BATCH

        def __getitem__(self, index: int) -> Any:
            part = slice(index * _BATCH, (index + 1) * _BATCH)
            return make(x[part]), y[part]

    return Images()


def _in_python(batch: Any) -> Any:
    import numpy as np

    return np.array([_halved(image) for image in batch])


def _in_numpy(batch: Any) -> Any:
    import numpy as np

    blocks = batch.astype("float32").reshape(-1, 24, 2, 24, 2)
    return np.asarray(blocks.sum(axis=(2, 4)) / 1020)


def _mapped() -> Any:
    import tensorflow as tf

    def halve(image: Any, label: Any) -> Any:
        blocks = tf.reshape(tf.cast(image, tf.float32), (24, 2, 24, 2))
        return tf.reduce_sum(blocks, axis=(1, 3)) / 1020.0, label

    data = tf.data.Dataset.from_tensor_slices(_data())
    data = data.map(halve, num_parallel_calls=tf.data.AUTOTUNE)
    return data.batch(_BATCH).prefetch(tf.data.AUTOTUNE)


def _getitem() -> Timed:
    return Timed(
        {
            "image by image in __getitem__": fit(_model(), _sequence(_in_python)),
            "tf.data, as in the article": fit(_model(), _mapped()),
            "the same __getitem__ on whole batches in NumPy": fit(_model(), _sequence(_in_numpy)),
        }
    )


def _jpeg_data() -> Any:
    import tensorflow as tf

    from benchmarks.articles.models import jpegs

    def decode(text: Any, label: Any) -> Any:
        image = tf.image.resize(tf.io.decode_jpeg(text, channels=1), (24, 24)) / 255.0
        return tf.reshape(image, (24, 24)), label

    data = tf.data.Dataset.from_tensor_slices((jpegs(128), [0] * 128))
    return data.map(decode, num_parallel_calls=tf.data.AUTOTUNE)


def _offline() -> Timed:
    mapped = _jpeg_data()
    return Timed(
        {
            "map": fit(_model(), mapped.batch(_BATCH)),
            "map and cache": fit(_model(), mapped.cache().batch(_BATCH)),
        }
    )


def _loop() -> Timed:
    """Article 000, example 1: decoding one by one in the loop, and its tf.data version."""
    import keras
    import numpy as np
    import tensorflow as tf

    from benchmarks.articles.models import jpegs

    texts = jpegs(128)

    def decode(text: Any) -> Any:
        image = tf.image.resize(tf.io.decode_jpeg(text, channels=1), (24, 24)) / 255.0
        return tf.reshape(image, (24, 24))

    class Loop(keras.utils.PyDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(texts) // _BATCH

        def __getitem__(self, index: int) -> Any:
            part = texts[index * _BATCH : (index + 1) * _BATCH]
            return np.array([decode(text).numpy() for text in part]), np.zeros(_BATCH)

    data = tf.data.Dataset.from_tensor_slices((texts, [0] * len(texts)))
    data = data.map(lambda text, label: (decode(text), label), num_parallel_calls=tf.data.AUTOTUNE)
    mapped = data.batch(_BATCH).prefetch(tf.data.AUTOTUNE)
    return Timed(
        {"one by one in the loop": fit(_model(), Loop()), "tf.data": fit(_model(), mapped)}
    )


CLAIMS = (
    Claim(
        "000-1-loop",
        "article 000, example 1",
        "Images loaded one by one in the loop are slow; tf.data is far faster",
        "true",
        "and what is left is decoding again in every epoch",
        _loop,
    ),
    Claim(
        "003-1-getitem",
        "article 003, example 1",
        "Preprocessing in `__getitem__` is inefficient; tf.data is the cure",
        "depends",
        "the Python loop over pixels is slow, not `__getitem__`: on whole batches in NumPy it is "
        "as fast or faster",
        _getitem,
    ),
    Claim(
        "003-1-offline",
        "article 003, example 1",
        "Preprocessing in a `map` is done offline",
        "false",
        "a `map` runs again in every epoch; a cache, or stored results, are offline",
        _offline,
    ),
)
