"""`map`, `batch` and `prefetch` of tf.data: what is parallel, and what was so already."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.articles.claim import Claim, Seen, Timed
from benchmarks.articles.models import images, jpegs, mlp
from benchmarks.articles.timing import fit, read

_IMAGES = 400


def _pictures() -> Any:
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (_IMAGES, 256, 256, 3), dtype=np.uint8)
    return tf.data.Dataset.from_tensor_slices((data, rng.integers(0, 10, _IMAGES)))


def _augment(image: Any, label: Any) -> Any:
    import tensorflow as tf

    image = tf.cast(image, tf.float32) / 255.0
    image = tf.image.random_brightness(image, max_delta=0.2)
    return tf.image.random_flip_left_right(image), label


def _plain(image: Any, label: Any) -> Any:
    import tensorflow as tf

    return tf.cast(image, tf.float32) / 255.0, label


def _autotune() -> Timed:
    import tensorflow as tf

    tune = tf.data.AUTOTUNE
    serial = _pictures().map(_augment).batch(32)
    parallel = _pictures().map(_augment, num_parallel_calls=tune).batch(32)
    return Timed(
        {
            "as written": read(serial),
            "AUTOTUNE": read(parallel),
            "prefetch": read(serial.prefetch(tune)),
            "both": read(parallel.prefetch(tune)),
        }
    )


def _one_thread() -> Timed:
    """If the work had gone to a GPU, the number of CPU threads would not matter."""
    import tensorflow as tf

    tune = tf.data.AUTOTUNE
    parallel = _pictures().map(_augment, num_parallel_calls=tune).batch(32).prefetch(tune)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    return Timed(
        {
            "example 1": read(_pictures().map(_augment).batch(32)),
            "example 2": read(parallel),
            "example 2 on one CPU thread": read(parallel.with_options(options)),
        }
    )


def _stateless() -> Timed:
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices(jpegs(96))

    def decode(text: Any) -> Any:
        return tf.image.resize(tf.io.decode_jpeg(text, channels=3), (224, 224)) / 255.0

    tune = tf.data.AUTOTUNE
    none = tf.data.Options()
    none.experimental_optimization.map_parallelization = False
    none.autotune.enabled = False
    return Timed(
        {
            "map": read(data.map(decode).batch(32)),
            "num_parallel_calls=AUTOTUNE": read(
                data.map(decode, num_parallel_calls=tune).batch(32)
            ),
            "and prefetch": read(
                data.map(decode, num_parallel_calls=tune).batch(32).prefetch(tune)
            ),
            "TensorFlow's own parallel map switched off": read(
                data.map(decode).batch(32).with_options(none)
            ),
        }
    )


def _consumer(data: Any) -> Any:
    """Reads as a busy accelerator would: 15 ms of other work after every batch."""
    kept: list[Any] = []

    def variant() -> float:
        begin = time.perf_counter()
        iterator = iter(data)
        for _ in iterator:
            time.sleep(0.015)
        seconds = time.perf_counter() - begin
        kept[:] = [iterator]
        return seconds

    return variant


def _prefetch() -> Timed:
    import tensorflow as tf

    def wait(x: Any) -> Any:
        time.sleep(0.015)
        return x

    data = tf.data.Dataset.range(20).map(lambda x: tf.numpy_function(wait, [x], tf.int64))
    off = tf.data.Options()
    off.experimental_optimization.inject_prefetch = False
    return Timed(
        {
            "no prefetch": _consumer(data),
            "prefetch(AUTOTUNE)": _consumer(data.prefetch(tf.data.AUTOTUNE)),
            "TensorFlow's own prefetch switched off": _consumer(data.with_options(off)),
        }
    )


def _prefetch_place() -> Timed:
    import tensorflow as tf

    tune = tf.data.AUTOTUNE
    return Timed(
        {
            "prefetch after batch": read(_pictures().map(_plain).batch(32).prefetch(tune)),
            "prefetch before batch": read(_pictures().map(_plain).prefetch(tune).batch(32)),
            "no prefetch": read(_pictures().map(_plain).batch(32)),
        }
    )


def _sleeping() -> Seen:
    """The article's map as it is written, its `time.sleep` counted."""
    import tensorflow as tf

    x, y = images(320)
    slept: list[float] = []

    def preprocess(image: Any) -> Any:
        slept.append(0.0005 * 32)
        return image

    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    data = data.map(lambda image, label: (preprocess(image), label))
    for _ in range(10):
        for _batch in data:
            pass
    return Seen({"batches read": "100", "times that the article's sleep ran": str(len(slept))})


def _slow_map() -> Timed:
    import tensorflow as tf

    x, y = images(320)

    def slow(image: Any) -> Any:
        time.sleep(0.0005 * len(image))
        return image

    def mapped(image: Any, label: Any) -> Any:
        made = tf.numpy_function(slow, [image], tf.float32)
        return tf.ensure_shape(made, (None, 32, 32, 3)), label

    import keras

    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((32, 32, 3)), layers.Flatten(), layers.Dense(10, activation="softmax")]
    )
    model.compile(loss="sparse_categorical_crossentropy")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    return Timed({"without it": fit(model, data), "slow map": fit(model, data.map(mapped))})


def _pool() -> Timed:
    import tensorflow as tf

    def wait(x: Any) -> Any:
        time.sleep(0.004)
        return x

    def one(x: Any) -> Any:
        return tf.numpy_function(wait, [x], tf.int64)

    data = tf.data.Dataset.range(128)
    wide = data.map(one, num_parallel_calls=64)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 64
    return Timed(
        {
            "one read at a time": read(data.map(one, num_parallel_calls=1)),
            "num_parallel_calls=64": read(wide),
            "and private_threadpool_size=64": read(wide.with_options(options)),
        }
    )


def _python_map() -> Timed:
    import tensorflow as tf

    def work(x: Any) -> Any:
        total = 0
        for number in range(20_000):
            total += number
        return x + (total * 0)

    def one(x: Any) -> Any:
        return tf.numpy_function(work, [x], tf.int64)

    data = tf.data.Dataset.range(200)
    return Timed(
        {
            "one call at a time": read(data.map(one, num_parallel_calls=1)),
            "num_parallel_calls=8": read(data.map(one, num_parallel_calls=8)),
            "AUTOTUNE": read(data.map(one, num_parallel_calls=tf.data.AUTOTUNE)),
        }
    )


def _vectorised() -> Timed:
    import tensorflow as tf

    x, y = _rows()
    data = tf.data.Dataset.from_tensor_slices((x, y))

    def scale(row: Any, label: Any) -> Any:
        return row * 2.0 - 1.0, label

    return Timed(
        {
            "map, batch": read(data.map(scale).batch(64)),
            "batch, map": read(data.batch(64).map(scale)),
            "batch, map, unbatch, batch": read(data.batch(64).map(scale).unbatch().batch(64)),
        }
    )


def _vectorised_heavy() -> Timed:
    import tensorflow as tf

    data = _pictures()

    def resize(image: Any, label: Any) -> Any:
        return tf.image.resize(image, (320, 320)), label

    return Timed(
        {
            "map, batch": read(data.map(resize).batch(32)),
            "batch, map": read(data.batch(32).map(resize)),
        }
    )


def _rows() -> Any:
    from benchmarks.articles.models import rows

    return rows(20_000)


def _in_memory_or_slow() -> Timed:
    """Images decoded and augmented on the host, and the same images already in memory."""
    import tensorflow as tf

    texts = tf.data.Dataset.from_tensor_slices((jpegs(96), [0] * 96))

    def load(text: Any, label: Any) -> Any:
        image = tf.image.resize(tf.io.decode_jpeg(text, channels=3), (32, 32)) / 255.0
        return tf.reshape(image, (32 * 32 * 3,)), label

    data = texts.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
    model = mlp(inputs=32 * 32 * 3)
    return Timed(
        {"decoded for every step": fit(model, data), "in memory": fit(model, data.cache())}
    )


CLAIMS = (
    Claim(
        "000-1-autotune",
        "article 000, example 1; popular advice",
        "`num_parallel_calls=AUTOTUNE` on a decoding map, with `prefetch`, cuts waits drastically",
        "false",
        "a stateless map is made parallel, and a prefetch added, by TensorFlow itself (last "
        "figure: what that gives); a random map is another matter",
        _stateless,
    ),
    Claim(
        "001-bound",
        "article 001; article 002",
        "A CPU-bound pipeline keeps the model waiting, whatever computes it",
        "true",
        "the same training with its decoded images in memory",
        _in_memory_or_slow,
    ),
    Claim(
        "001-2-autotune",
        "article 001, examples 1 and 2",
        "AUTOTUNE and prefetch make the augmented pipeline significantly faster",
        "depends",
        "AUTOTUNE does, because the map draws random numbers, which TensorFlow does not make "
        "parallel by itself; prefetch does not",
        _autotune,
    ),
    Claim(
        "001-2-gpu",
        "article 001, examples 2 and 3; popular advice",
        "TensorFlow ops in a `map` run on the GPU",
        "false",
        "a `map` runs on the host: the gain of example 2 goes away with its CPU threads (the "
        "machine has no GPU, and the gain was there all the same)",
        _one_thread,
    ),
    Claim(
        "002-1-sleep",
        "article 002, example 1",
        "The example's `preprocess_slow` sleeps before every batch",
        "false",
        "Python in a `map` runs while it is traced, once",
        _sleeping,
    ),
    Claim(
        "002-1-slow",
        "article 002, example 1",
        "Slow preprocessing in a `map` holds every step up",
        "true",
        "once it really runs for every batch (a `numpy_function`)",
        _slow_map,
    ),
    Claim(
        "002-2-prefetch",
        "article 002, example 2; popular advice",
        "`prefetch` belongs before `batch`",
        "false",
        "it then hands over single elements, which costs more",
        _prefetch_place,
    ),
    Claim(
        "004-3-prefetch",
        "article 004, example 3; popular advice",
        "End every pipeline with `prefetch(AUTOTUNE)`, so that loading and computing overlap",
        "false",
        "they overlap already: TensorFlow has added a prefetch of its own since 2.12 (last "
        "figure: without it)",
        _prefetch,
    ),
    Claim(
        "pool-cap",
        "popular advice",
        "For slow storage raise `num_parallel_calls` to 64",
        "depends",
        "only with a private thread pool: tf.data's own has as many threads as cores",
        _pool,
    ),
    Claim(
        "python-map",
        "popular advice",
        "Wrap Python code in `py_function` or `numpy_function`, and a parallel map speeds it up",
        "false",
        "Python's lock lets one call at a time through",
        _python_map,
    ),
    Claim(
        "batch-first",
        "popular advice",
        "Always batch before map",
        "depends",
        "far faster for cheap work on small elements, and `unbatch` afterwards takes nothing of "
        "it away; see the next line",
        _vectorised,
    ),
    Claim(
        "batch-first-heavy",
        "popular advice",
        "Always batch before map (heavy work on large elements)",
        "depends",
        "the work itself is most of the time; what needs single elements, as decoding does, cannot "
        "be batched first",
        _vectorised_heavy,
    ),
)
