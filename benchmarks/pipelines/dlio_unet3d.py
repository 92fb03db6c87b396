"""DLIO's unet3d (MLPerf Storage), in small: one large file per sample, little work on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data

SIDE, CUT, BATCH, COUNT = 64, 48, 4, 96
IS_RANDOM = False


def prepare(folder: Path) -> None:
    data.volumes(folder, COUNT, SIDE)


def tf_data(folder: Path, calls: int | None) -> Any:
    import tensorflow as tf

    def read(path: Any) -> Any:
        number = tf.strings.to_number(tf.strings.substr(path, -10, 6), tf.int64)
        return tf.io.read_file(path), number

    def decode(raw: Any, number: Any) -> Any:
        return tf.reshape(tf.io.decode_raw(raw, tf.uint16), (SIDE, SIDE, SIDE)), number

    def to_float(cube: Any, number: Any) -> Any:
        return tf.cast(cube, tf.float32), number

    def scale(cube: Any, number: Any) -> Any:
        return cube * (1.0 / 4000.0) - 0.5, number

    def crop(cube: Any, number: Any) -> Any:
        return cube[:CUT, :CUT, :CUT], number

    found = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*.raw"))))
    for function in (read, decode, to_float, scale, crop):
        found = found.map(function, num_parallel_calls=calls)
    return found.batch(BATCH, drop_remainder=True)


def source(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.raw"))


def load(path: Path) -> tuple[np.ndarray, int]:
    cube = np.fromfile(path, np.uint16).reshape(SIDE, SIDE, SIDE).astype(np.float32)
    return (cube * np.float32(1 / 4000) - np.float32(0.5))[:CUT, :CUT, :CUT].copy(), int(path.stem)
