"""Heart beat types from ECG pieces, with a confusion matrix kept up to date while training."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers

CLASSES, LENGTH, BATCH = 12, 180, 256
STEPS = max(10, round(30000 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


def beats(n=8192, seed=0):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, CLASSES, n)
    time = np.linspace(0, 1, LENGTH, dtype="float32")
    waves = np.sin(2 * np.pi * (kinds[:, None] + 1) * time) + 0.3 * rng.normal(size=(n, LENGTH))
    return torch.from_numpy(waves.astype("float32")), torch.from_numpy(kinds)


class Scores:
    """Confusion counts, and the F1 of each class so far."""

    def __init__(self):
        self.matrix = np.zeros((CLASSES, CLASSES), "int64")

    def update(self, truth, guess):
        flat = np.bincount(truth * CLASSES + guess, minlength=CLASSES * CLASSES)
        self.matrix += flat.reshape(CLASSES, CLASSES)

    def f1(self):
        hit = np.diag(self.matrix)
        return 2 * hit / np.maximum(1, self.matrix.sum(0) + self.matrix.sum(1))


def train():
    keras.utils.set_random_seed(0)
    waves, kinds = beats()
    net = keras.Sequential(
        [
            keras.Input((LENGTH,)),
            layers.Dense(64, activation="relu"),
            layers.Dense(CLASSES),
        ]
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    loss_of = torch.nn.CrossEntropyLoss()
    scores = Scores()
    for step in range(STEPS):
        pick = torch.randint(0, len(waves), (BATCH,))
        x, y = waves[pick], kinds[pick]
        optimizer.zero_grad()
        logits = net(x)
        loss = loss_of(logits, y)
        loss.backward()
        optimizer.step()
        scores.update(y.cpu().numpy(), logits.argmax(1).cpu().numpy())
        if step % 200 == 0:
            print(step, f"{float(loss.detach()):.3f}", f"{scores.f1().mean():.3f}", flush=True)


train()
