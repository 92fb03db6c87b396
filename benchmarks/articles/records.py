"""TFRecord against arrays and against image files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.articles.claim import Claim, Timed
from benchmarks.articles.models import jpegs
from benchmarks.articles.timing import read

_ARRAYS, _FILES = 200, 400


def _record(tf: Any, image: bytes, label: int) -> bytes:
    features = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(example.SerializeToString())


def _written(tf: Any, images: list[bytes]) -> str:
    path = str(Path(tempfile.mkdtemp()) / "images.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for image in images:
            writer.write(_record(tf, image, 0))
    return path


def _parsed(tf: Any, record: Any) -> Any:
    shape = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    return tf.io.parse_single_example(record, shape)["image"]


def _arrays() -> Timed:
    import numpy as np
    import tensorflow as tf

    tune = tf.data.AUTOTUNE
    images = np.random.default_rng(0).integers(0, 256, (_ARRAYS, 256, 256, 3), dtype=np.uint8)
    path = _written(tf, [image.tobytes() for image in images])

    def scale(image: Any) -> Any:
        return tf.cast(image, tf.float32) / 255.0

    def raw(record: Any) -> Any:
        image = tf.io.decode_raw(_parsed(tf, record), tf.uint8)
        return scale(tf.reshape(image, (256, 256, 3)))

    slices = tf.data.Dataset.from_tensor_slices(images)
    return Timed(
        {
            "arrays in memory": read(slices.map(scale, num_parallel_calls=tune).batch(32)),
            "TFRecord": read(
                tf.data.TFRecordDataset(path).map(raw, num_parallel_calls=tune).batch(32)
            ),
        }
    )


def _files() -> Timed:
    import tensorflow as tf

    tune = tf.data.AUTOTUNE
    texts = jpegs(_FILES, 64)
    folder = Path(tempfile.mkdtemp())
    for number, text in enumerate(texts):
        (folder / f"{number:04d}.jpg").write_bytes(text)
    path = _written(tf, texts)
    names = tf.data.Dataset.list_files(str(folder / "*.jpg"), shuffle=False)

    def decode(text: Any) -> Any:
        return tf.cast(tf.io.decode_jpeg(text, channels=3), tf.float32) / 255.0

    def load(name: Any) -> Any:
        return decode(tf.io.read_file(name))

    def stored(record: Any) -> Any:
        return decode(_parsed(tf, record))

    return Timed(
        {
            "a file per image": read(names.map(load, num_parallel_calls=tune).batch(32)),
            "TFRecord": read(
                tf.data.TFRecordDataset(path).map(stored, num_parallel_calls=tune).batch(32)
            ),
        }
    )


CLAIMS = (
    Claim(
        "001-3-arrays",
        "article 001, example 3",
        "TFRecords load faster (than arrays)",
        "false",
        "parsing costs more than reading memory; for data that does not fit there is no choice",
        _arrays,
    ),
    Claim(
        "001-3-files",
        "article 001, example 3",
        "TFRecords load faster (than a file per image)",
        "depends",
        "small JPEGs in the page cache of a local disk; a cold or distant disk, where a file per "
        "image loses most, was not measured",
        _files,
    ),
)
