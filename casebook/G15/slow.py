import os

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.config.set_dtype_policy("mixed_bfloat16")
keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)
x = rng.normal(size=(65536, 512)).astype("float32")
y = rng.integers(0, 10, size=65536)
batches = (
    tf.data.Dataset.from_tensor_slices((x, y))
    .batch(4096, drop_remainder=True)
    .cache()
    .repeat()
    .prefetch(tf.data.AUTOTUNE)
)

model = keras.Sequential([keras.Input((512,))])
for _ in range(6):
    model.add(layers.Dense(4096, activation="relu"))
model.add(layers.Dense(10, dtype="float32"))
optimizer = keras.optimizers.SGD(0.01)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function(jit_compile=True)
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = loss_fn(targets, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


optimizer.build(model.trainable_variables)
for step, (inputs, targets) in enumerate(batches.take(max(50, round(20_000 * SCALE)))):
    loss = train_step(inputs, targets)
    if step % 500 == 0:
        print(step, float(loss))
