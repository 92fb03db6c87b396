"""Plumber's ResNet pipeline (ImageNet in TFRecord files), in small: it shuffles finished images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data, images

SIZE, BATCH, COUNT, FILES = 128, 32, 512, 8
IS_RANDOM = True


def prepare(folder: Path) -> None:
    photos = folder / "photos"
    photos.mkdir()
    data.jpegs(photos, COUNT, size=224)
    data.records(folder, [path.read_bytes() for path in sorted(photos.glob("*.jpg"))], FILES)


def tf_data(folder: Path, calls: int | None) -> Any:
    import tensorflow as tf

    shape = {
        "id": tf.io.FixedLenFeature((), tf.int64),
        "data": tf.io.FixedLenFeature((), tf.string),
    }

    def parse(raw: Any) -> Any:
        found = tf.io.parse_single_example(raw, shape)
        return found["data"], found["id"]

    def decode(raw: Any, number: Any) -> Any:
        return tf.io.decode_jpeg(raw, channels=3), number

    def resize(image: Any, number: Any) -> Any:
        return tf.image.resize(image, (SIZE, SIZE)), number

    def flip(image: Any, number: Any) -> Any:
        return tf.image.random_flip_left_right(image), number

    def normalise(image: Any, number: Any) -> Any:
        return (image / 255.0 - images.MEAN) / images.STD, number

    files = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*.tfrecord"))))
    found = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=calls)
    for function in (parse, decode, resize, flip, normalise):
        found = found.map(function, num_parallel_calls=calls)
    return found.shuffle(64).batch(BATCH, drop_remainder=True)


def source(folder: Path) -> list[Path]:
    return sorted((folder / "photos").glob("*.jpg"))


def load(path: Path) -> tuple[np.ndarray, int]:
    image = images.opened(path).resize((SIZE, SIZE))
    pixels = images.flipped(np.asarray(image, np.float32) / 255.0)
    return images.normalised(pixels), images.number_of(path)
