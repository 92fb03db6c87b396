import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf


def train_step(model, optimizer, loss_function, x, y):
    with tf.GradientTape() as tape:
        prediction = model(x, training=True)
        loss = loss_function(y, prediction)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def main():
    keras.utils.set_random_seed(26)
    rng = np.random.default_rng(26)
    x = rng.normal(size=(6400, 16)).astype("float32")
    y = rng.normal(size=(6400, 1)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

    model = keras.Sequential(
        [
            keras.Input((16,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    optimizer = keras.optimizers.Adam(1e-3)
    loss_function = keras.losses.MeanSquaredError()

    epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    for epoch in range(epochs):
        for batch_x, batch_y in dataset:
            loss = train_step(model, optimizer, loss_function, batch_x, batch_y)
        print(f"epoch {epoch + 1}: loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
