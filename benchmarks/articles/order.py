"""What the order of cache, shuffle, batch, skip and decode does."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.articles.claim import Claim, Seen, Timed
from benchmarks.articles.models import jpegs


def _epochs(data: Any, count: int = 3) -> list[list[Any]]:
    return [[element.tolist() for element in data.as_numpy_iterator()] for _ in range(count)]


def _cache() -> Seen:
    import tensorflow as tf

    data = tf.data.Dataset.range(8)

    def noise(x: Any) -> Any:
        return tf.cast(x, tf.float32) + tf.random.uniform(())

    after, before = _epochs(data.map(noise).cache()), _epochs(data.cache().map(noise))
    return Seen(
        {
            "map, cache: epochs are the same": _yes(after[0] == after[1] == after[2]),
            "cache, map: epochs are the same": _yes(before[0] == before[1] == before[2]),
        }
    )


def _shuffle() -> Seen:
    import tensorflow as tf

    data = tf.data.Dataset.range(64)

    def batches(pipeline: Any) -> list[set[frozenset[int]]]:
        return [{frozenset(batch) for batch in epoch} for epoch in _epochs(pipeline)]

    late, early = batches(data.batch(8).shuffle(8)), batches(data.shuffle(64).batch(8))
    return Seen(
        {
            "batch, shuffle: every epoch has the same batches": _yes(late[0] == late[1] == late[2]),
            "shuffle, batch: every epoch has the same batches": _yes(early[0] == early[1]),
        }
    )


def _first_batch(data: Any) -> Any:
    kept: list[Any] = []

    def variant() -> float:
        begin = time.perf_counter()
        iterator = iter(data)
        next(iterator)
        seconds = time.perf_counter() - begin
        kept[:] = [iterator]
        return seconds

    return variant


def _skip() -> Timed:
    import tensorflow as tf

    def decode(text: Any) -> Any:
        return tf.image.resize(tf.io.decode_jpeg(text, channels=3), (64, 64))

    data = tf.data.Dataset.from_tensor_slices(jpegs(160))
    return Timed(
        {
            "decode, skip": _first_batch(data.map(decode).skip(128).batch(8)),
            "skip, decode": _first_batch(data.skip(128).map(decode).batch(8)),
            "decode, take": _first_batch(data.map(decode).take(128).batch(8)),
        }
    )


def _late_shuffle() -> Timed:
    import tensorflow as tf

    def decode(text: Any) -> Any:
        return tf.image.resize(tf.io.decode_jpeg(text, channels=3), (64, 64))

    data = tf.data.Dataset.from_tensor_slices(jpegs(160))
    return Timed(
        {
            "decode, shuffle": _first_batch(data.map(decode).shuffle(160).batch(8)),
            "shuffle, decode": _first_batch(data.shuffle(160).map(decode).batch(8)),
        }
    )


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


CLAIMS = (
    Claim(
        "cache-last",
        "popular advice",
        "Put `cache()` at the end of the pipeline",
        "false",
        "it keeps the first epoch's random numbers for ever; put it before what is random",
        _cache,
    ),
    Claim(
        "late-shuffle",
        "popular advice",
        "`shuffle` after `batch` needs less memory and does the same",
        "false",
        "batches change places, but hold the same samples for ever",
        _shuffle,
    ),
    Claim(
        "shuffle-decoded",
        "popular advice",
        "Where `shuffle` stands makes no difference to the speed",
        "false",
        "a buffer of decoded images is filled before the first batch; file names cost nothing",
        _late_shuffle,
    ),
    Claim(
        "skip-split",
        "popular advice",
        "Split with `take` and `skip`",
        "depends",
        "time to the first batch: what is skipped is decoded first; `take` stops early and costs "
        "nothing",
        _skip,
    ),
)
