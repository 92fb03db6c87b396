import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

SENSORS, LENGTH, BATCH = 2048, 48, 64
TAPS = [0.4, 0.25, 0.15, 0.1, 0.06, 0.04]


def smoothed(signals):
    """A filter over the last readings, for all signals at once."""
    now = np.arange(signals.shape[1])
    return sum(tap * signals[:, np.maximum(0, now - back)] for back, tap in enumerate(TAPS))


def minibatches(signals, labels, rng):
    order = rng.permutation(len(signals))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        x = smoothed(signals[rows]).astype("float32")
        yield torch.from_numpy(x), torch.from_numpy(labels[rows])


def main():
    keras.utils.set_random_seed(23)
    rng = np.random.default_rng(23)
    signals = rng.normal(size=(SENSORS, LENGTH)).astype("float32")
    labels = (signals[:, -3:].mean(axis=1, keepdims=True) > 0).astype("float32")
    model = keras.Sequential(
        [
            keras.Input((LENGTH,)),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    loss_fn = keras.losses.BinaryCrossentropy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    epochs = max(1, round(150 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    for epoch in range(epochs):
        total = 0.0
        for x, y in minibatches(signals, labels, rng):
            optimizer.zero_grad()
            loss = loss_fn(y, model(x, training=True))
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total:.3f}")


if __name__ == "__main__":
    main()
