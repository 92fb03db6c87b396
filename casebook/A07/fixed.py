import os
import time

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)

# Generate synthetic data
num_samples = 3200
image_size = (32, 32, 3)
batch_size = 32


def load_data():
    rng = np.random.default_rng(7)
    images = rng.random((num_samples, *image_size), dtype=np.float32)
    labels = rng.integers(0, 10, num_samples)
    return images, labels


def preprocess(images):
    # Simulate complex processing
    time.sleep(0.0005 * images.shape[0])
    return images


def preprocess_batch(images, labels):
    processed = tf.numpy_function(preprocess, [images], tf.float32)
    return tf.ensure_shape(processed, (None, *image_size)), labels


# Create dataset
images, labels = load_data()
dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.batch(batch_size)
dataset = dataset.map(preprocess_batch, num_parallel_calls=8)
options = tf.data.Options()
options.threading.private_threadpool_size = 8
dataset = dataset.with_options(options)

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
