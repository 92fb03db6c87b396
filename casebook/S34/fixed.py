import os
import tempfile

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
STEPS = 20


def make_model():
    spectrum = keras.Input((1024,))
    hidden = layers.Dense(2048, activation="relu")(spectrum)
    hidden = layers.Dense(2048, activation="relu")(hidden)
    hidden = layers.Dense(1536, activation="relu")(hidden)
    concentration = layers.Dense(1)(hidden)
    model = keras.Model(spectrum, concentration)
    model.compile(optimizer=keras.optimizers.SGD(1e-3), loss="mse")
    return model


def main():
    keras.utils.set_random_seed(34)
    rng = np.random.default_rng(34)
    x = rng.normal(size=(STEPS * 32, 1024)).astype("float32")
    y = x[:, :1] - x[:, 1:2]
    with tempfile.TemporaryDirectory() as folder:
        keep = keras.callbacks.ModelCheckpoint(
            os.path.join(folder, "latest.keras"),
            save_freq="epoch",
        )
        epochs = max(1, round(10 * SCALE))
        make_model().fit(x, y, batch_size=32, epochs=epochs, callbacks=[keep], verbose=0)


if __name__ == "__main__":
    main()
