import os

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(8)

# Generate synthetic data
num_samples = 640
image_size = (128, 128, 3)
batch_size = 32


def load_data():
    rng = np.random.default_rng(8)
    images = rng.random((num_samples, *image_size), dtype=np.float32)
    labels = rng.integers(0, 10, num_samples)
    return images, labels


def preprocess_fast(images):
    return images


# Create dataset
images, labels = load_data()
dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.map(lambda img, label: (preprocess_fast(img), label))
dataset = dataset.batch(batch_size)
dataset = dataset.prefetch(tf.data.AUTOTUNE)

# Simple model for demonstration
model = tf.keras.models.Sequential(
    [
        tf.keras.layers.Conv2D(32, (3, 3), activation="relu", input_shape=image_size),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)

passes = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
for _ in range(passes):
    for batch_x, batch_y in dataset:
        _ = model(batch_x)
