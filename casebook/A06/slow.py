import os
import tempfile

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)


def augment_image(image):
    image = tf.image.random_brightness(image, max_delta=0.2)
    image = tf.image.random_flip_left_right(image)
    return image


def create_tfrecord_dataset(output_file, num_images=1000):
    with tf.io.TFRecordWriter(output_file) as writer:
        for _ in range(num_images):
            image = rng.integers(0, 256, size=(256, 256, 3), dtype=np.uint8)
            label = rng.integers(0, 10)
            example = tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "image": tf.train.Feature(
                            bytes_list=tf.train.BytesList(value=[image.tobytes()])
                        ),
                        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                    }
                )
            )
            writer.write(example.SerializeToString())
    return output_file


def load_tfrecord_dataset(batch_size, tfrecord_file):
    def _parse_function(serialized_example):
        feature_description = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        }
        example = tf.io.parse_single_example(serialized_example, feature_description)
        image = tf.io.decode_raw(example["image"], tf.uint8)
        image = tf.reshape(image, (256, 256, 3))
        image = tf.cast(image, tf.float32) / 255.0
        image = augment_image(image)
        label = tf.cast(example["label"], tf.int32)
        return image, label

    dataset = tf.data.TFRecordDataset(tfrecord_file)
    dataset = dataset.map(_parse_function, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(batch_size)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    return dataset


folder = tempfile.TemporaryDirectory()
tfrecord_file = create_tfrecord_dataset(os.path.join(folder.name, "sample.tfrecord"))
batch_size = 32
dataset = load_tfrecord_dataset(batch_size, tfrecord_file)

passes = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
for _ in range(passes):
    for i, (images, labels) in enumerate(dataset):
        pass  # Placeholder for model training
