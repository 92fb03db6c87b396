import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

CUSTOMERS = 200_000
BATCH = 512


def load_customers():
    rng = np.random.default_rng(13)
    profile = rng.normal(size=(CUSTOMERS, 8)).astype("float32")
    leaves = (profile @ rng.normal(size=(8, 1)) > 0).astype("float32")
    return profile, leaves


def build_model():
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(32, activation="relu")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(hidden))
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy")
    return model


def main():
    keras.utils.set_random_seed(13)
    epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    profile, leaves = load_customers()
    model = build_model()
    model.fit(profile, leaves, batch_size=BATCH, shuffle=True, epochs=epochs, verbose=2)


if __name__ == "__main__":
    main()
