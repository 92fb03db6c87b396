"""cedar's NLP pipeline (WikiText for a GPT), in small: lines to padded rows of token ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data

LENGTH, BATCH, LINES, BUCKETS = 64, 64, 20_000, 30_000
IS_RANDOM = False


def prepare(folder: Path) -> None:
    data.texts(folder / "lines.txt", LINES)


def tf_data(folder: Path, calls: int | None) -> Any:
    import tensorflow as tf

    def split(line: Any) -> Any:
        parts = tf.strings.split(line, "\t")
        return parts[1], tf.strings.to_number(parts[0], tf.int64)

    def clean(text: Any, number: Any) -> Any:
        return tf.strings.regex_replace(tf.strings.lower(text), r"[^a-z0-9 ]", ""), number

    def tokenise(text: Any, number: Any) -> Any:
        return tf.strings.split(text), number

    def ids(tokens: Any, number: Any) -> Any:
        return tf.strings.to_hash_bucket_fast(tokens, BUCKETS), number

    def fixed(found: Any, number: Any) -> Any:
        kept = found[:LENGTH]
        return tf.ensure_shape(tf.pad(kept, [[0, LENGTH - tf.shape(kept)[0]]]), (LENGTH,)), number

    def shifted(row: Any, number: Any) -> Any:
        return tf.cast(row, tf.int32) + 2, number

    found = tf.data.TextLineDataset(str(folder / "lines.txt"))
    for function in (split, clean, tokenise, ids, fixed, shifted):
        found = found.map(function, num_parallel_calls=calls)
    return found.batch(BATCH, drop_remainder=True)


def source(folder: Path) -> list[str]:
    return (folder / "lines.txt").read_text(encoding="utf-8").splitlines()


def load(line: str) -> tuple[np.ndarray, int]:
    number, text = line.split("\t")
    tokens = text.lower().split()[:LENGTH]
    row = np.zeros(LENGTH, np.int32)
    row[: len(tokens)] = [hash(token) % BUCKETS for token in tokens]
    return row + 2, int(number)
