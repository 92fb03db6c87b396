import os

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
images = rng.random((6400, 8, 8), dtype="float32")
labels = rng.integers(0, 10, size=6400)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Input((8, 8)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
loss_function = tf.keras.losses.SparseCategoricalCrossentropy()
optimizer = tf.keras.optimizers.Adam()
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images)
        loss = loss_function(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for epoch in range(epochs):
    for images, labels in dataset:
        train_step(images, labels)
