"""Claims of the articles that the project started from, measured: loaders read in turn.

    python -m benchmarks.articles [--rounds 5] [--seconds 1.5]

Each claim compares pipelines on the same data in one process; the ratio of a round counts, and
the interval is the range of the rounds. `docs/articles.md` says what the articles claim.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "articles.json"
IMAGES = 400


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    rows = []
    for claim, loaders in claims().items():
        row = measured(claim, loaders, options.rounds, options.seconds)
        rows.append(row)
        print(_line(row), flush=True)
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    RESULT.write_text(
        json.dumps({"date": str(date.today()), "machine": machine, "rows": rows}, indent=1) + "\n"
    )
    os._exit(0)


def claims() -> dict[str, dict[str, Any]]:
    """Pipelines by claim; the first of each is what the others are compared with."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(IMAGES, 256, 256, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, size=IMAGES)
    slices = tf.data.Dataset.from_tensor_slices((images, labels))
    tune = tf.data.AUTOTUNE

    def augment(image: Any, label: Any) -> Any:
        image = tf.cast(image, tf.float32) / 255.0
        image = tf.image.random_brightness(image, max_delta=0.2)
        return tf.image.random_flip_left_right(image), label

    def plain(image: Any, label: Any) -> Any:
        return tf.cast(image, tf.float32) / 255.0, label

    records = tf.data.TFRecordDataset(_written(tf, images, labels)).map(
        lambda record: _parsed(tf, record), num_parallel_calls=tune
    )
    serial = slices.map(augment).batch(32)
    parallel = slices.map(augment, num_parallel_calls=tune).batch(32)
    return {
        "001-2 AUTOTUNE and prefetch": {
            "as written": serial,
            "AUTOTUNE": parallel,
            "prefetch": serial.prefetch(tune),
            "both": parallel.prefetch(tune),
        },
        "001-3 TFRecord is faster": {
            "arrays": slices.map(augment, num_parallel_calls=tune).batch(32).prefetch(tune),
            "TFRecord": records.map(augment, num_parallel_calls=tune).batch(32).prefetch(tune),
        },
        "002-2 prefetch before batch": {
            "after batch": slices.map(plain).batch(32).prefetch(tune),
            "before batch": slices.map(plain).prefetch(tune).batch(32),
            "none": slices.map(plain).batch(32),
        },
    }


def _written(tf: Any, images: Any, labels: Any) -> str:
    path = os.path.join(tempfile.mkdtemp(), "images.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for image, label in zip(images, labels, strict=True):
            features = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return path


def _parsed(tf: Any, record: Any) -> Any:
    shape = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    example = tf.io.parse_single_example(record, shape)
    image = tf.reshape(tf.io.decode_raw(example["image"], tf.uint8), (256, 256, 3))
    return image, example["label"]


def measured(claim: str, loaders: dict[str, Any], rounds: int, seconds: float) -> dict[str, Any]:
    """Rates of each pipeline over the first one's, round by round."""
    readers: dict[str, Iterator[Any]] = {
        name: iter(dataset.repeat()) for name, dataset in loaders.items()
    }
    for reader in readers.values():
        _rate(reader, 0.5)
    ratios: dict[str, list[float]] = {name: [] for name in readers}
    base_rate = []
    for number in range(rounds):
        order: Callable[[Any], Any] = list if number % 2 == 0 else lambda names: [*names][::-1]
        rates = {name: _rate(readers[name], seconds) for name in order(readers)}
        base = rates[next(iter(loaders))]
        base_rate.append(base)
        for name, rate in rates.items():
            ratios[name].append(rate / base)
    return {"claim": claim, "images_per_second": statistics.median(base_rate), "ratios": ratios}


def _rate(reader: Iterator[Any], seconds: float) -> float:
    begin, rows = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        rows += int(next(reader)[0].shape[0])
    return rows / (time.perf_counter() - begin)


def _line(row: dict[str, Any]) -> str:
    parts = [f"{row['claim']}: {row['images_per_second']:.0f} images/s"]
    for name, values in list(row["ratios"].items())[1:]:
        low, high = min(values), max(values)
        parts.append(f"{name} {statistics.median(values):.2f}x ({low:.2f}-{high:.2f})")
    return "  ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
