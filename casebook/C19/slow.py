import os
os.environ["KERAS_BACKEND"] = "torch"

import math

import keras
import numpy as np
from keras import layers, ops

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

DOCS, FEATS = 30, 64


class NDCG(keras.metrics.Metric):
    """Mean NDCG@k over the queries seen so far."""

    def __init__(self, k=10, name="ndcg", **kw):
        super().__init__(name=name, **kw)
        self.k = k
        self.rankings = []

    def reset_state(self):
        self.rankings = []

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = ops.convert_to_numpy(y_true)
        y_pred = ops.convert_to_numpy(y_pred)
        self.rankings.extend(zip(y_true.tolist(), y_pred.tolist()))

    def _dcg(self, gains):
        return sum((2.0**g - 1.0) / math.log2(i + 2) for i, g in enumerate(gains[: self.k]))

    def result(self):
        values = []
        for rel, score in self.rankings:
            best = self._dcg(sorted(rel, reverse=True))
            ranked = [r for _, r in sorted(zip(score, rel), key=lambda p: -p[0])]
            values.append(self._dcg(ranked) / best if best > 0 else 0.0)
        return float(np.mean(values)) if values else 0.0


def listnet(y_true, y_pred):
    return -ops.sum(ops.softmax(y_true, axis=-1) * ops.log_softmax(y_pred, axis=-1), axis=-1)


def load(n_queries, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_queries, DOCS, FEATS)).astype("float32")
    w = np.random.default_rng(99).normal(size=FEATS)
    rel = np.digitize(x @ w / 8 + rng.normal(0, 0.3, (n_queries, DOCS)), [0.3, 0.8, 1.2, 1.7])
    return x, rel.astype("float32")


def build():
    docs = keras.Input((DOCS, FEATS), name="documents")
    h = layers.Dense(128, activation="relu")(docs)
    h = layers.Dense(64, activation="relu")(h)
    ctx = layers.GlobalAveragePooling1D(keepdims=True)(h)
    h = layers.Concatenate()([h, h - ctx])
    h = layers.Dense(64, activation="relu")(h)
    return keras.Model(docs, layers.Reshape((DOCS,))(layers.Dense(1)(h)))


keras.utils.set_random_seed(5)
x, y = load(4000, 0)
xv, yv = load(300, 1)
ranker = build()
ranker.compile(optimizer=keras.optimizers.Adam(1e-3), loss=listnet, metrics=[NDCG(k=10)])
ranker.fit(x, y, batch_size=64, epochs=max(1, round(20 * SCALE)), validation_data=(xv, yv), verbose=2)
