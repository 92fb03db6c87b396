import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


def write_images(folder, number_of_images=320):
    rng = np.random.default_rng(1)
    grain = rng.integers(0, 24, size=(256, 256, 3), dtype="uint8")
    for number in range(number_of_images):
        areas = rng.integers(0, 230, size=(8, 8, 3), dtype="uint8")
        areas = areas.repeat(32, axis=0).repeat(32, axis=1)
        image = areas + np.roll(grain, 3 * number, axis=1)
        path = os.path.join(folder, f"{number % 4}_{number:04d}.jpg")
        tf.io.write_file(path, tf.io.encode_jpeg(image))


def preprocess_image(image_path):
    image = tf.io.read_file(image_path)
    image = tf.image.decode_jpeg(image, channels=3)
    image = tf.image.resize(image, (224, 224))
    image = tf.cast(image, tf.float32) / 255.0
    label = int(os.path.basename(image_path).split("_")[0])
    return image, label


def load_batches(image_paths):
    while True:
        for start in range(0, len(image_paths), 32):
            images, labels = [], []
            for image_path in image_paths[start : start + 32]:
                image, label = preprocess_image(image_path)
                images.append(image.numpy())
                labels.append(label)
            yield np.array(images), np.array(labels)


folder = tempfile.TemporaryDirectory()
write_images(folder.name)
image_paths = sorted(glob.glob(os.path.join(folder.name, "*.jpg")))

model = tf.keras.Sequential(
    [
        tf.keras.Input((224, 224, 3)),
        tf.keras.layers.Conv2D(8, 7, strides=7, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")

epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(
    load_batches(image_paths),
    steps_per_epoch=len(image_paths) // 32,
    epochs=epochs,
    verbose=2,
)
