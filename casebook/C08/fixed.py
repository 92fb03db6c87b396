# Corpus 162 (keras#16809) and 78: heavy metrics are computed in every training step.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import layers, metrics

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


def fraud_metrics():
    return [
        metrics.AUC(name="roc"),
        metrics.AUC(name="pr", curve="PR"),
        metrics.PrecisionAtRecall(0.8, name="precision"),
        metrics.SensitivityAtSpecificity(0.95, name="sensitivity"),
    ]


def make_model():
    amounts = keras.Input((12,), name="amounts")
    shop = keras.Input((1,), name="shop", dtype="int32")
    embedded = layers.Flatten()(layers.Embedding(100, 4)(shop))
    hidden = layers.concatenate([amounts, embedded])
    hidden = layers.Dense(32, activation="relu")(hidden)
    return keras.Model([amounts, shop], layers.Dense(1, activation="sigmoid")(hidden))


keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
amounts = rng.lognormal(size=(64_000, 12)).astype("float32")
shops = rng.integers(0, 100, size=(64_000, 1))
is_fraud = (amounts[:, 0] > 3).astype("float32")[:, None]

model = make_model()
model.compile(optimizer="adam", loss="binary_crossentropy", steps_per_execution=10)
epochs = max(1, round(10 * SCALE))
model.fit([amounts, shops], is_fraud, batch_size=64, epochs=epochs, verbose=2)
model.compile(loss="binary_crossentropy", metrics=fraud_metrics())
print(model.evaluate([amounts, shops], is_fraud, batch_size=3200, verbose=0))
