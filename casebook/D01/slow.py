import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

DAYS = 100
DECAYS = [1 - 1 / span for span in range(2, 32)]
BATCH = 32


class MovingAverages(keras.utils.PyDataset):
    """Prices of many days turned into moving averages of 30 different spans."""

    def __init__(self, prices, returns, **kwargs):
        super().__init__(**kwargs)
        self.prices, self.returns = prices, returns

    def __len__(self):
        return len(self.prices) // BATCH

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        averages = [self.averages(days) for days in self.prices[rows].tolist()]
        return np.array(averages, "float32"), self.returns[rows]

    def averages(self, days):
        state = [0.0] * len(DECAYS)
        for price in days:
            for k, decay in enumerate(DECAYS):
                state[k] = state[k] * decay + price * (1 - decay)
        return state


class Monitor(keras.callbacks.Callback):
    """Keeps the loss on data that is never trained on."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        if batch % 10 == 9:
            self.losses.append(self.model.evaluate(self.x, self.y, verbose=0))


def main():
    keras.utils.set_random_seed(201)
    rng = np.random.default_rng(201)
    prices = rng.normal(size=(100 * BATCH, DAYS))
    returns = rng.normal(size=(100 * BATCH, 1)).astype("float32")
    x = rng.normal(size=(1024, len(DECAYS))).astype("float32")
    y = rng.normal(size=(1024, 1)).astype("float32")

    model = keras.Sequential(
        [
            keras.Input((len(DECAYS),)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")

    epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    data = MovingAverages(prices, returns, workers=1)
    model.fit(data, epochs=epochs, shuffle=False, callbacks=[Monitor(x, y)], verbose=0)


if __name__ == "__main__":
    main()
