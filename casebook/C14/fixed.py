import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


def make_model():
    model = keras.Sequential(
        [
            keras.Input((30,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(), loss="mse")
    return model


keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
x = rng.normal(size=(2000, 30)).astype("float32")
y = x[:, :3].sum(axis=1, keepdims=True)
folds = max(1, round(40 * SCALE))
losses = []
model = make_model()
model.optimizer.build(model.trainable_variables)
first_weights = model.get_weights()
first_state = [np.array(variable) for variable in model.optimizer.variables]
for fold in range(folds):
    left_out = np.arange(len(x)) % 10 == fold % 10
    model.set_weights(first_weights)
    for variable, value in zip(model.optimizer.variables, first_state, strict=True):
        variable.assign(value)
    history = model.fit(x[~left_out], y[~left_out], batch_size=64, epochs=3, verbose=0)
    losses.append(history.history["loss"][-1])
print("mean loss", np.mean(losses))
