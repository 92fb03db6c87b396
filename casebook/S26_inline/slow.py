import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(126)
rng = np.random.default_rng(126)
images = rng.normal(size=(6400, 24)).astype("float32")
classes = rng.integers(0, 5, size=6400)
train_data = tf.data.Dataset.from_tensor_slices((images, classes)).batch(32)

net = keras.Sequential(
    [
        keras.Input((24,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(5),
    ]
)
opt = keras.optimizers.Adam()
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = keras.metrics.SparseCategoricalAccuracy()

for epoch in range(max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))):
    accuracy.reset_state()
    for features, label in train_data:
        with tf.GradientTape() as tape:
            logits = net(features, training=True)
            loss = criterion(label, logits)
        grads = tape.gradient(loss, net.trainable_variables)
        opt.apply_gradients(zip(grads, net.trainable_variables))
        accuracy.update_state(label, logits)
    print(epoch, float(accuracy.result()))
