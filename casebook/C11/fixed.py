# Corpus 165 (tensorflow#38236): recurrent dropout takes the LSTM off its fast path.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


class Tagger(keras.Model):
    def __init__(self, words, tags):
        super().__init__()
        self.embed = layers.Embedding(words, 32)
        self.read = layers.LSTM(32, return_sequences=True, recurrent_dropout=0.2)
        self.tag = layers.Dense(tags)

    def call(self, sentence, training=None):
        return self.tag(self.read(self.embed(sentence), training=training))


keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
sentences = rng.integers(0, 1000, size=(1280, 80))
tags = sentences % 7

tagger = Tagger(1000, 7)
tagger.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
tagger.fit(sentences, tags, batch_size=32, epochs=max(1, round(10 * SCALE)), verbose=2)
