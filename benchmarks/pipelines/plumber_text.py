"""Plumber's text pipeline (a Transformer's), in small: tokens, then long lines are dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data

LENGTH, BATCH, LINES, BUCKETS, SHORT = 32, 64, 20_000, 30_000, 128
IS_RANDOM = False


def prepare(folder: Path) -> None:
    data.texts(folder / "lines.txt", LINES)


def tf_data(folder: Path, calls: int | None) -> Any:
    import tensorflow as tf

    def split(line: Any) -> Any:
        parts = tf.strings.split(line, "\t")
        return {
            "text": parts[1],
            "tokens": parts[1:],
            "id": tf.strings.to_number(parts[0], tf.int64),
        }

    def tokenise(row: Any) -> Any:
        return {**row, "tokens": tf.strings.split(row["text"])}

    def hashed(row: Any) -> Any:
        return {**row, "hashes": tf.strings.to_hash_bucket_strong(row["tokens"], BUCKETS, (1, 2))}

    def is_short(row: Any) -> Any:
        return tf.strings.length(row["text"]) < SHORT

    def fixed(row: Any) -> Any:
        kept = row["hashes"][:LENGTH]
        padded = tf.pad(kept, [[0, LENGTH - tf.shape(kept)[0]]])
        return tf.ensure_shape(padded, (LENGTH,)), row["id"]

    found = tf.data.TextLineDataset(str(folder / "lines.txt"))
    found = found.map(split, num_parallel_calls=calls)
    found = found.map(tokenise, num_parallel_calls=calls)
    found = found.filter(is_short)
    found = found.map(hashed, num_parallel_calls=calls)
    found = found.map(fixed, num_parallel_calls=calls)
    return found.batch(BATCH, drop_remainder=True)


def source(folder: Path) -> list[str]:
    return (folder / "lines.txt").read_text(encoding="utf-8").splitlines()


def load(line: str) -> tuple[np.ndarray, int] | None:
    number, text = line.split("\t")
    tokens = text.split()
    if len(text) >= SHORT:
        return None
    row = np.zeros(LENGTH, np.int64)
    row[: len(tokens[:LENGTH])] = [hash(token) % BUCKETS for token in tokens[:LENGTH]]
    return row, int(number)
