# Transfer learning: the base is frozen, the images are the same in every epoch.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import layers

EPOCHS = max(2, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


def make_base():
    image = keras.Input((64, 64, 3))
    hidden = image
    for width in (24, 48, 96):
        hidden = layers.Conv2D(width, 3, padding="same")(hidden)
        hidden = layers.BatchNormalization()(hidden)
        hidden = layers.ReLU()(hidden)
        hidden = layers.MaxPooling2D()(hidden)
    return keras.Model(image, hidden, name="base")


keras.utils.set_random_seed(25)
rng = np.random.default_rng(25)
photos = rng.integers(0, 255, size=(960, 64, 64, 3)).astype("float32")
kinds = rng.integers(0, 5, size=960)

base = make_base()
base.trainable = False
image = keras.Input((64, 64, 3))
hidden = layers.Rescaling(1 / 127.5, offset=-1)(image)
hidden = base(hidden, training=False)
extractor = keras.Model(image, layers.GlobalAveragePooling2D()(hidden))
features = extractor.predict(photos, batch_size=32, verbose=0)

model = keras.Sequential(
    [
        keras.Input(features.shape[1:]),
        layers.Dropout(0.2),
        layers.Dense(5, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")

model.fit(features, kinds, batch_size=32, epochs=EPOCHS, verbose=2)
