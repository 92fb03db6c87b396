import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

TRAININGS = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
TIME = 64


def make_model(width):
    model = keras.Sequential()
    model.add(keras.Input((TIME, 8)))
    model.add(keras.layers.LSTM(width))
    model.add(keras.layers.Dense(1))
    model.compile(optimizer="adam", loss="mse")
    return model


def main():
    """How wide must the layer be to learn anything in two epochs?"""
    rng = np.random.default_rng(31)
    x = rng.normal(size=(256, TIME, 8)).astype("float32")
    y = x[:, -1, :1].copy()
    losses = {}
    for number in range(TRAININGS):
        keras.utils.set_random_seed(number)
        width = 28 + number % 10
        history = make_model(width).fit(x, y, batch_size=32, epochs=2, verbose=0)
        losses[width] = history.history["loss"][-1]
    print("loss by width", losses)


if __name__ == "__main__":
    main()
