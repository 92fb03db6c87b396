"""Generated data on disk: photos, sounds, texts, records and volumes; the same for a given seed."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

SEED = 7
RATE = 16_000


def jpegs(folder: Path, count: int, size: int = 256) -> None:
    """Photos: smooth noise with some grain, so that they compress as photos do."""
    from PIL import Image

    random = np.random.default_rng(SEED)
    for number in range(count):
        coarse = random.integers(0, 255, (size // 16, size // 16, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC)
        grain = random.normal(0, 6, (size, size, 3))
        pixels = np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:06d}.jpg", quality=90)


def wavs(folder: Path, count: int, seconds: float = 2.0) -> None:
    """Sounds: a few tones each, 16 bit, mono."""
    random = np.random.default_rng(SEED)
    times = np.arange(int(RATE * seconds)) / RATE
    for number in range(count):
        tones = sum(np.sin(2 * np.pi * hertz * times) for hertz in random.uniform(80, 4000, 5))
        with wave.open(str(folder / f"{number:06d}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes((tones * 5000).astype("<i2").tobytes())


def texts(path: Path, lines: int, words: int = 40) -> None:
    """Lines of `id<TAB>words`; few words are frequent, most are rare."""
    random = np.random.default_rng(SEED)
    with path.open("w", encoding="utf-8") as file:
        for number in range(lines):
            length = int(random.integers(words // 4, words * 2))
            drawn = np.minimum(random.zipf(1.3, length), 30_000)
            file.write(f"{number}\t{' '.join(f'w{word}' for word in drawn)}\n")


def volumes(folder: Path, count: int, side: int = 64) -> None:
    """Scans: 16-bit cubes in one file each."""
    random = np.random.default_rng(SEED)
    for number in range(count):
        cube = random.integers(0, 4000, (side, side, side), dtype=np.uint16)
        cube.tofile(folder / f"{number:06d}.raw")


def records(folder: Path, payloads: list[bytes], files: int) -> None:
    """TFRecord files of examples with an `id` and a `data`."""
    import tensorflow as tf

    for part in range(files):
        with tf.io.TFRecordWriter(str(folder / f"{part:03d}.tfrecord")) as writer:
            for number in range(part, len(payloads), files):
                features = {
                    "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                    "data": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[payloads[number]])
                    ),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


def record_payloads(folder: Path) -> list[tuple[int, bytes]]:
    """What the TFRecord files hold, for loaders that read by index."""
    import tensorflow as tf

    found = []
    for path in sorted(folder.glob("*.tfrecord")):
        for raw in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            features = tf.train.Example.FromString(raw).features.feature
            found.append((features["id"].int64_list.value[0], features["data"].bytes_list.value[0]))
    return found
