"""cedar's ASR pipeline (Common Voice), in small: sounds to masked spectrograms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pipelines import data

FRAME, HOP, BATCH, COUNT, BANDS = 400, 160, 16, 256, 80
IS_RANDOM = True


def prepare(folder: Path) -> None:
    data.wavs(folder, COUNT)


def tf_data(folder: Path, calls: int | None) -> Any:
    import tensorflow as tf

    mel = tf.signal.linear_to_mel_weight_matrix(BANDS, 257, data.RATE)

    def read(path: Any) -> Any:
        number = tf.strings.to_number(tf.strings.substr(path, -10, 6), tf.int64)
        return tf.io.read_file(path), number

    def decode(raw: Any, number: Any) -> Any:
        return tf.audio.decode_wav(raw).audio[:, 0], number

    def halved(sound: Any, number: Any) -> Any:
        return tf.ensure_shape(sound[::2], (data.RATE,)), number

    def spectrum(sound: Any, number: Any) -> Any:
        return tf.abs(tf.signal.stft(sound, FRAME, HOP, fft_length=512)), number

    def bands(power: Any, number: Any) -> Any:
        return tf.math.log(tf.matmul(power, mel) + 1e-6), number

    def masked(rows: Any, number: Any) -> Any:
        begin = tf.random.uniform((), 0, BANDS - 8, tf.int32)
        columns = tf.range(BANDS)
        keep = (columns < begin) | (columns >= begin + 8)
        return rows * tf.cast(keep, tf.float32), number

    found = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*.wav"))))
    for function in (read, decode, halved, spectrum, bands, masked):
        found = found.map(function, num_parallel_calls=calls)
    return found.batch(BATCH, drop_remainder=True)


def source(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.wav"))


def load(path: Path) -> tuple[np.ndarray, int]:
    raw = path.read_bytes()[44:]
    sound = np.frombuffer(raw, "<i2").astype(np.float32)[::2] / 32768
    count = 1 + (len(sound) - FRAME) // HOP
    frames = np.lib.stride_tricks.sliding_window_view(sound, FRAME)[::HOP][:count]
    power = np.abs(np.fft.rfft(frames * np.hanning(FRAME), 512)).astype(np.float32)
    rows = np.log(power[:, :240].reshape(count, BANDS, 3).mean(axis=-1) + 1e-6)
    begin = np.random.randint(0, BANDS - 8)
    rows[:, begin : begin + 8] = 0
    return rows, int(path.stem)
