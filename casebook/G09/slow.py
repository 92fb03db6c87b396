import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.config.set_dtype_policy("mixed_bfloat16")
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
tokens = rng.integers(0, 8000, size=(2048, 256))

inputs = keras.Input((256,), dtype="int32")
x = layers.Embedding(8000, 768)(inputs)
for _ in range(6):
    attended = layers.MultiHeadAttention(12, 64)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(layers.Add()([x, attended]))
    h = layers.Dense(768)(layers.Dense(3072, activation="gelu")(x))
    x = layers.LayerNormalization()(layers.Add()([x, h]))
outputs = layers.Dense(8000, dtype="float32")(x)
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="sgd", loss=loss)
model.fit(tokens, np.roll(tokens, -1, axis=1), batch_size=64, epochs=max(1, round(2000 * SCALE)))
