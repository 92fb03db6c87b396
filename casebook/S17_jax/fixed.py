import os

import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
ROWS = 100_000
COLUMNS = 250

keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)
genes = rng.normal(size=(ROWS, COLUMNS))
dose = genes[:, :1] + rng.normal(0, 0.1, size=(ROWS, 1))
genes, dose = genes.astype("float32"), dose.astype("float32")

model = keras.Sequential(
    [
        keras.Input((COLUMNS,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")

history = []
for epoch in range(max(1, round(20 * SCALE))):
    result = model.fit(genes, dose, batch_size=5000, epochs=1, verbose=0)
    history.append(result.history["loss"][0])
print("best loss", min(history))
