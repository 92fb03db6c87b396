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

epochs = max(1, round(20 * SCALE))
history = model.fit(genes, dose, batch_size=5000, epochs=epochs, verbose=0).history["loss"]
print("best loss", min(history))
