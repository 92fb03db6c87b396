"""cedar's SSD pipeline (detection in COCO), in small: the boxes go along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data, images

SIZE, BATCH, COUNT = 128, 32, 384
IS_RANDOM = True


def prepare(folder: Path) -> None:
    data.jpegs(folder, COUNT, size=320)


def tf_data(folder: Path, calls: int | None) -> Any:
    import tensorflow as tf

    def read(path: Any) -> Any:
        number = tf.strings.to_number(tf.strings.substr(path, -10, 6), tf.int64)
        return tf.io.read_file(path), _box(number, tf.cast), number

    def decode(raw: Any, box: Any, number: Any) -> Any:
        return tf.io.decode_jpeg(raw, channels=3), box, number

    def to_float(image: Any, box: Any, number: Any) -> Any:
        return tf.cast(image, tf.float32) / 255.0, box, number

    def colour(image: Any, box: Any, number: Any) -> Any:
        return tf.image.adjust_saturation(tf.image.adjust_gamma(image, 1.2), 1.1), box, number

    def normalise(image: Any, box: Any, number: Any) -> Any:
        return (image - images.MEAN) / images.STD, box, number

    def crop(image: Any, box: Any, number: Any) -> Any:
        side = tf.shape(image)[0]
        cut = side // 8
        kept = image[cut : side - cut, cut : side - cut]
        return kept, tf.clip_by_value((box - 0.125) / 0.75, 0.0, 1.0), number

    def resize(image: Any, box: Any, number: Any) -> Any:
        return tf.image.resize(image, (SIZE, SIZE)), box, number

    def flip(image: Any, box: Any, number: Any) -> Any:
        if tf.random.uniform(()) < 0.5:
            image = tf.image.flip_left_right(image)
            box = tf.stack([1.0 - box[2], box[1], 1.0 - box[0], box[3]])
        return image, box, number

    found = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*.jpg"))))
    for function in (read, decode, to_float, colour, normalise, crop, resize, flip):
        found = found.map(function, num_parallel_calls=calls)
    return found.batch(BATCH, drop_remainder=True).map(_image_and_number, num_parallel_calls=calls)


def _image_and_number(image: Any, box: Any, number: Any) -> Any:
    return (image, box), number


def _box(number: Any, cast: Any) -> Any:
    import tensorflow as tf

    left = cast(number % 5, tf.float32) / 10.0
    return tf.stack([left, left, left + 0.4, left + 0.5])


def source(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jpg"))


def load(path: Path) -> tuple[np.ndarray, int]:
    pixels = np.asarray(images.opened(path), np.float32) / 255.0
    toned = pixels**1.2
    gray = toned.mean(axis=-1, keepdims=True)
    normal = images.normalised(np.clip(gray + (toned - gray) * 1.1, 0, 1))
    cut = len(normal) // 8
    kept = normal[cut:-cut, cut:-cut]
    picked = np.linspace(0, len(kept) - 1, SIZE).astype(int)
    return images.flipped(kept[picked][:, picked]).copy(), images.number_of(path)
