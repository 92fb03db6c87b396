import os

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(9)

# Generate synthetic data
num_samples = 640
image_size = (64, 64, 3)
batch_size = 32


def load_data():
    rng = np.random.default_rng(9)
    images = rng.random((num_samples, *image_size), dtype=np.float32)
    labels = rng.integers(0, 10, num_samples)
    return images, labels


frequencies = np.linspace(1, 2, 32)


def sine(x):
    return np.sin(x * frequencies).astype(np.float32)


def slope(x):
    return (np.cos(x * frequencies) * frequencies).astype(np.float32)


@tf.custom_gradient
def numpy_sin(x):
    def gradient(upstream):
        return upstream * tf.ensure_shape(tf.numpy_function(slope, [x], tf.float32), x.shape)

    return tf.ensure_shape(tf.numpy_function(sine, [x], tf.float32), x.shape), gradient


# Custom Layer using numpy
class SlowLayer(tf.keras.layers.Layer):
    def call(self, inputs):
        # Simulate CPU computation
        return numpy_sin(inputs)


# Create dataset
images, labels = load_data()
dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.batch(batch_size)

# Model with custom layer
model = tf.keras.models.Sequential(
    [
        tf.keras.layers.Input(image_size),
        tf.keras.layers.Conv2D(32, (3, 3), activation="relu"),
        SlowLayer(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")

epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(dataset, epochs=epochs, verbose=2)
