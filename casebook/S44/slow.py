import os

import keras
import numpy as np
from keras import layers

LENGTH, WIDTH = 256, 64


def block(x):
    attended = layers.MultiHeadAttention(4, 16, dropout=0.1)(x, x)
    x = layers.LayerNormalization()(x + attended)
    hidden = layers.Dense(2 * WIDTH, activation="relu")(x)
    return layers.LayerNormalization()(x + layers.Dense(WIDTH)(hidden))


def main():
    keras.utils.set_random_seed(44)
    rng = np.random.default_rng(44)
    tokens = rng.integers(1, 1000, size=(320, LENGTH))
    labels = rng.integers(0, 5, size=320)
    inputs = keras.Input((LENGTH,), dtype="int32")
    x = layers.Embedding(1000, WIDTH)(inputs)
    for _ in range(2):
        x = block(x)
    outputs = layers.Dense(5)(layers.GlobalAveragePooling1D()(x))
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    model.fit(tokens, labels, batch_size=16, epochs=max(1, round(10 * scale)), verbose=0)


if __name__ == "__main__":
    main()
