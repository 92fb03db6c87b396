"""DLIO's resnet50 (MLPerf Storage), in small: many raw samples in TFRecord files."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data

SIDE, BATCH, COUNT, FILES = 112, 64, 2048, 8
IS_RANDOM = False


def prepare(folder: Path) -> None:
    random = np.random.default_rng(data.SEED)
    payloads = [random.bytes(SIDE * SIDE * 3) for _ in range(COUNT)]
    data.records(folder, payloads, FILES)


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
        return tf.reshape(tf.io.decode_raw(raw, tf.uint8), (SIDE, SIDE, 3)), number

    def to_float(image: Any, number: Any) -> Any:
        return tf.cast(image, tf.float32) / 255.0, number

    files = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*.tfrecord"))))
    found = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=calls)
    for function in (parse, decode, to_float):
        found = found.map(function, num_parallel_calls=calls)
    return found.batch(BATCH, drop_remainder=True)


@functools.cache
def source(folder: Path) -> list[tuple[int, bytes]]:
    return data.record_payloads(folder)


def load(one: tuple[int, bytes]) -> tuple[np.ndarray, int]:
    number, raw = one
    pixels = np.frombuffer(raw, np.uint8).reshape(SIDE, SIDE, 3)
    return pixels.astype(np.float32) / np.float32(255), number
