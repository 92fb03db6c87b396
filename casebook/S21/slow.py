import os

os.environ["KERAS_BACKEND"] = "tensorflow"

from collections import deque

import keras
import numpy as np

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)
steps = max(1, round(1000 * float(os.environ.get("CASEBOOK_SCALE", "1"))))

# Learns the reward of (observation, action) from a replay memory.
network = keras.Sequential(
    [
        keras.Input((10,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
network.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")

memory = deque(maxlen=5000)
for _ in range(64):
    features = rng.normal(size=10)
    memory.append((features, features[:2].sum()))

for step in range(steps):
    features = rng.normal(size=10)
    memory.append((features, features[:2].sum() + rng.normal(0, 0.1)))

    chosen = rng.integers(0, len(memory), size=32)
    x = np.array([memory[i][0] for i in chosen], dtype="float32")
    y = np.array([memory[i][1] for i in chosen], dtype="float32")[:, None]
    network.fit(x, y, batch_size=32, epochs=1, verbose=0)
