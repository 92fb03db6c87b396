import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.join(os.path.dirname(__file__), "jax_cache")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"

import keras
import numpy as np


def main():
    keras.utils.set_random_seed(41)
    rng = np.random.default_rng(41)
    images = rng.normal(size=(640, 32, 32, 3)).astype("float32")
    labels = rng.integers(0, 10, size=640)
    model = keras.applications.MobileNetV2(
        input_shape=(32, 32, 3), weights=None, classes=10, classifier_activation=None, alpha=0.35
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    model.fit(images, labels, batch_size=32, epochs=max(1, round(2 * scale)), verbose=0)


if __name__ == "__main__":
    main()
