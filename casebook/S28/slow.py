import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

EPOCHS = max(1, round(60 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


def learning_rate(epoch):
    return 1e-2 * 0.95**epoch


def main():
    keras.utils.set_random_seed(28)
    rng = np.random.default_rng(28)
    x = rng.normal(size=(3200, 20)).astype("float32")
    y = rng.normal(size=(3200, 1)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

    model = keras.Sequential(
        [
            keras.Input((20,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    for epoch in range(EPOCHS):
        model.compile(optimizer=keras.optimizers.Adam(learning_rate(epoch)), loss="mse")
        model.fit(dataset, epochs=1, verbose=2)


if __name__ == "__main__":
    main()
