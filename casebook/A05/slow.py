import os

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)


def augment_image(image):
    image = tf.image.random_brightness(image, max_delta=0.2)
    image = tf.image.random_flip_left_right(image)
    return image


def load_data(batch_size, num_images=1000):
    images = rng.integers(0, 256, size=(num_images, 256, 256, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, size=(num_images,))

    dataset = tf.data.Dataset.from_tensor_slices((images, labels))

    def process_example(image, label):
        image = tf.cast(image, tf.float32) / 255.0
        image = augment_image(image)
        return image, label

    dataset = dataset.map(process_example, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(batch_size)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    return dataset


batch_size = 32
dataset = load_data(batch_size)

passes = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
for _ in range(passes):
    for i, (images, labels) in enumerate(dataset):
        pass  # Placeholder for model training
