import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

keras.utils.set_random_seed(9)

# Generate synthetic data
num_samples = 640
image_size = (64, 64, 3)
batch_size = 32


def load_data():
    rng = np.random.default_rng(9)
    images = rng.random((num_samples, *image_size), dtype=np.float32)
    labels = rng.integers(0, 10, num_samples)
    return images, labels


frequencies = np.linspace(1, 2, 32).astype(np.float32)


# Custom Layer
class SlowLayer(keras.layers.Layer):
    def call(self, inputs):
        return keras.ops.sin(keras.ops.multiply(inputs, frequencies))


# Create data
images, labels = load_data()

# Model with custom layer
model = keras.models.Sequential(
    [
        keras.layers.Input(image_size),
        keras.layers.Conv2D(32, (3, 3), activation="relu"),
        SlowLayer(),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")

epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(images, labels, batch_size=batch_size, epochs=epochs, shuffle=False, verbose=2)
