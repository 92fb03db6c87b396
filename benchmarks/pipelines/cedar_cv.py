"""cedar's CV pipeline (SimCLR's augmentations of ImageNet), in small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data, images

SIZE, BATCH, COUNT = 160, 32, 384
IS_RANDOM = True


def prepare(folder: Path) -> None:
    data.jpegs(folder, COUNT)


def tf_data(folder: Path, calls: int | None) -> Any:
    import tensorflow as tf

    def read(path: Any) -> Any:
        number = tf.strings.to_number(tf.strings.substr(path, -10, 6), tf.int64)
        return tf.io.read_file(path), number

    def decode(raw: Any, number: Any) -> Any:
        return tf.io.decode_jpeg(raw, channels=3), number

    def to_float(image: Any, number: Any) -> Any:
        return tf.cast(image, tf.float32) / 255.0, number

    def crop(image: Any, number: Any) -> Any:
        part = tf.random.uniform((), 0.5, 1.0)
        side = tf.cast(part * tf.cast(tf.shape(image)[0], tf.float32), tf.int32)
        return tf.image.resize(tf.image.random_crop(image, (side, side, 3)), (SIZE, SIZE)), number

    def flip(image: Any, number: Any) -> Any:
        return tf.image.random_flip_left_right(image), number

    def jitter(image: Any, number: Any) -> Any:
        bright = tf.image.random_brightness(image, 0.2)
        return tf.clip_by_value(tf.image.random_contrast(bright, 0.8, 1.2), 0.0, 1.0), number

    def gray(image: Any, number: Any) -> Any:
        one = tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(image))
        return tf.where(tf.random.uniform(()) < 0.2, one, image), number

    def normalise(image: Any, number: Any) -> Any:
        return (image - images.MEAN) / images.STD, number

    found = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*.jpg"))))
    for function in (read, decode, to_float, crop, flip, jitter, gray, normalise):
        found = found.map(function, num_parallel_calls=calls)
    return found.batch(BATCH, drop_remainder=True)


def source(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jpg"))


def load(path: Path) -> tuple[np.ndarray, int]:
    image = images.random_crop(images.opened(path), SIZE)
    pixels = images.jittered(images.flipped(np.asarray(image, np.float32) / 255.0))
    if np.random.random() < 0.2:
        pixels = np.repeat(pixels.mean(axis=-1, keepdims=True), 3, axis=-1)
    return images.normalised(pixels), images.number_of(path)
