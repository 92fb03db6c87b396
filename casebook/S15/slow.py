import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

CLIPS = 3000
TRAINING = 2700
SAMPLES = 8000


def spectrogram(clip, label):
    signal = tf.cast(clip, tf.float32) / 32768.0
    frames = tf.signal.stft(signal, frame_length=512, frame_step=64)
    return tf.math.log(tf.abs(frames[:, :128]) + 1e-3), label


class Experiment:
    def __init__(self, seed):
        keras.utils.set_random_seed(seed)
        rng = np.random.default_rng(seed)
        self.clips = rng.integers(-8000, 8000, size=(CLIPS, SAMPLES), dtype="int16")
        self.labels = rng.integers(0, 3, size=CLIPS)

    def datasets(self):
        clips = tf.data.Dataset.from_tensor_slices((self.clips, self.labels))
        spectrograms = clips.map(spectrogram, num_parallel_calls=tf.data.AUTOTUNE)
        training = spectrograms.take(TRAINING).batch(32).repeat()
        validation = spectrograms.skip(TRAINING).batch(32)
        return training, validation

    def model(self):
        model = keras.Sequential(
            [
                keras.Input((118, 128)),
                keras.layers.Conv1D(16, 5, strides=4, activation="relu"),
                keras.layers.GlobalAveragePooling1D(),
                keras.layers.Dense(3, activation="softmax"),
            ]
        )
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
        return model

    def run(self, epochs):
        training, validation = self.datasets()
        return self.model().fit(
            training, steps_per_epoch=10, validation_data=validation, epochs=epochs, verbose=2
        )


Experiment(seed=15).run(epochs=max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1")))))
