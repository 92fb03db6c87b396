"""Code as Keras's own examples write it: nothing to say about any of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from fitdoctor.lint.check import check_file

EXAMPLES = {
    "image classification from scratch": """
        import keras
        from keras import layers
        from tensorflow import data as tf_data

        train_ds, val_ds = keras.utils.image_dataset_from_directory(
            "PetImages", validation_split=0.2, subset="both", seed=1337,
            image_size=(180, 180), batch_size=128,
        )
        data_augmentation_layers = [layers.RandomFlip("horizontal"), layers.RandomRotation(0.1)]

        def data_augmentation(images):
            for layer in data_augmentation_layers:
                images = layer(images)
            return images

        train_ds = train_ds.map(
            lambda img, label: (data_augmentation(img), label),
            num_parallel_calls=tf_data.AUTOTUNE,
        )
        train_ds = train_ds.prefetch(tf_data.AUTOTUNE)
        val_ds = val_ds.prefetch(tf_data.AUTOTUNE)
        callbacks = [keras.callbacks.ModelCheckpoint("save_at_{epoch}.keras")]
        model.compile(optimizer=keras.optimizers.Adam(3e-4), loss="bce", metrics=["acc"])
        model.fit(train_ds, epochs=25, callbacks=callbacks, validation_data=val_ds)
        img_array = keras.ops.expand_dims(keras.utils.img_to_array(img), 0)
        predictions = model.predict(img_array)
        """,
    "translation with a transformer": """
        import keras, random
        import tensorflow.data as tf_data

        random.shuffle(text_pairs)

        def make_dataset(pairs):
            eng_texts, spa_texts = zip(*pairs)
            dataset = tf_data.Dataset.from_tensor_slices((list(eng_texts), list(spa_texts)))
            dataset = dataset.batch(batch_size)
            dataset = dataset.map(format_dataset)
            return dataset.cache().shuffle(2048).prefetch(16)

        class PositionalEmbedding(keras.layers.Layer):
            def call(self, inputs):
                length = keras.ops.shape(inputs)[-1]
                positions = keras.ops.arange(0, length, 1)
                return self.token_embeddings(inputs) + self.position_embeddings(positions)

        def decode_sequence(input_sentence):
            tokenized_input_sentence = eng_vectorization([input_sentence])
            for i in range(max_decoded_sentence_length):
                tokenized = spa_vectorization([decoded_sentence])[:, :-1]
                predictions = transformer({"encoder_inputs": tokenized_input_sentence})
        """,
    "a GAN with its own train_step": """
        import keras, tensorflow as tf
        from keras import ops

        class GAN(keras.Model):
            def compile(self, d_optimizer, g_optimizer, loss_fn):
                super().compile()
                self.loss_fn = loss_fn

            def train_step(self, real_images):
                batch_size = ops.shape(real_images)[0]
                with tf.GradientTape() as tape:
                    predictions = self.discriminator(real_images)
                    d_loss = self.loss_fn(labels, predictions)
                grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
                self.d_optimizer.apply_gradients(zip(grads, weights))
                return {"d_loss": d_loss}

        class GANMonitor(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                generated_images = self.model.generator(random_latent_vectors)
                generated_images.numpy()
                for i in range(self.num_img):
                    img = keras.utils.array_to_img(generated_images[i])
                    img.save("generated_img_%03d_%d.png" % (epoch, i))

        dataset = keras.utils.image_dataset_from_directory("celeba", label_mode=None)
        dataset = dataset.map(lambda x: x / 255.0)
        """,
    "a training loop from scratch": """
        import keras, numpy as np, tensorflow as tf

        train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train))
        train_dataset = train_dataset.shuffle(buffer_size=1024).batch(batch_size)

        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                logits = model(x, training=True)
                loss_value = loss_fn(y, logits)
            grads = tape.gradient(loss_value, model.trainable_weights)
            optimizer.apply(grads, model.trainable_weights)
            return loss_value

        for epoch in range(epochs):
            for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
                loss_value = train_step(x_batch_train, y_batch_train)
                if step % 100 == 0:
                    print(f"loss at step {step}: {float(loss_value):.4f}")
        """,
    "deep Q-learning": """
        import keras, numpy as np, tensorflow as tf

        while True:
            state = np.array(state)
            for timestep in range(1, max_steps_per_episode):
                state_tensor = keras.ops.convert_to_tensor(state)
                state_tensor = keras.ops.expand_dims(state_tensor, 0)
                action_probs = model(state_tensor, training=False)
                future_rewards = model_target.predict(state_next_sample, verbose=0)
                indices = np.random.choice(range(len(done_history)), size=batch_size)
        """,
    "characters from an LSTM": """
        import keras, numpy as np

        for epoch in range(epochs):
            model.fit(x, y, batch_size=batch_size, epochs=1)
            for diversity in [0.2, 0.5, 1.0, 1.2]:
                for i in range(400):
                    x_pred = np.zeros((1, maxlen, len(chars)))
                    preds = model.predict(x_pred, verbose=0)[0]
        """,
    "windows of a time series": """
        import keras, tensorflow as tf

        def windowed(series):
            ds = tf.data.Dataset.from_tensor_slices(series)
            ds = ds.window(30, shift=1, drop_remainder=True)
            ds = ds.flat_map(lambda window: window.batch(30))
            ds = ds.shuffle(1000).map(lambda window: (window[:-1], window[-1]))
            return ds.batch(32).prefetch(1)
        """,
    "a split before the work, text vectorised and cached": """
        import keras, tensorflow as tf

        raw = tf.data.TextLineDataset(files).skip(1)
        val_raw, train_raw = raw.take(1000), raw.skip(1000)
        train_ds = train_raw.map(vectorize_text, num_parallel_calls=4).cache().prefetch(10)
        """,
    "one model per configuration": """
        import keras

        for units in (32, 64, 128):
            model = make_model(units)
            model.compile(optimizer="adam", loss="mse")
            model.fit(x, y, verbose=0)
            model.evaluate(x_test, y_test, verbose=0)
        """,
    "callbacks of the guide": """
        import keras, numpy as np

        class LossAndErrorPrintingCallback(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                print("Up to batch {}, loss {:7.2f}.".format(batch, logs["loss"]))

            def on_epoch_end(self, epoch, logs=None):
                self.model.save("epoch.keras")

        class EarlyStoppingAtMinLoss(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                if np.less(logs.get("loss"), self.best):
                    self.best_weights = self.model.get_weights()
        """,
    "an attention layer": """
        import keras, numpy as np
        from keras import ops

        class Attention(keras.layers.Layer):
            def call(self, query, key, value, training=None):
                score = ops.matmul(query, key, transpose_b=True)
                dim_key = ops.cast(ops.shape(key)[-1], "float32")
                scaled = score / ops.sqrt(dim_key) * (1.0 / np.sqrt(self.head_dim))
                return ops.matmul(ops.softmax(scaled, axis=-1), value)
        """,
    "a PyDataset": """
        import keras, math

        class CIFAR10PyDataset(keras.utils.PyDataset):
            def __init__(self, x_set, y_set, batch_size, **kwargs):
                super().__init__(**kwargs)

            def __getitem__(self, idx):
                low = idx * self.batch_size
                return self.x[low:low + self.batch_size], self.y[low:low + self.batch_size]

        data = CIFAR10PyDataset(x, y, 32, workers=4, use_multiprocessing=True, max_queue_size=10)
        model.fit(data, epochs=10)
        """,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_silent(tmp_path: Path, name: str) -> None:
    file = tmp_path / "example.py"
    file.write_text(textwrap.dedent(EXAMPLES[name]), encoding="utf-8")
    assert check_file(file) == []
