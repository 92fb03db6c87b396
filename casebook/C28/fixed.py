"""Support messages sorted by topic: token lists padded to the longest message of their batch."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers

WORDS, TOPICS, BATCH = 4000, 8, 64
STEPS = max(10, round(600 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


def messages(n=4096, seed=0):
    rng = np.random.default_rng(seed)
    lengths = np.minimum(384, 24 + rng.exponential(40, n)).astype(int)
    lengths[rng.integers(0, n, 3)] = 384
    return [rng.integers(1, WORDS, size) for size in lengths], rng.integers(0, TOPICS, n)


def padded(texts, longest):
    out = np.zeros((len(texts), longest), "int64")
    for row, text in zip(out, texts):
        row[: len(text)] = text
    return torch.from_numpy(out)


def network():
    tokens = keras.Input((None,), dtype="int64")
    x = layers.Embedding(WORDS, 96)(tokens)
    for _ in range(2):
        x = layers.Conv1D(128, 5, padding="same", activation="relu")(x)
    return keras.Model(tokens, layers.Dense(TOPICS)(layers.GlobalMaxPooling1D()(x)))


def main():
    keras.utils.set_random_seed(0)
    texts, topics = messages()
    topics = torch.from_numpy(topics)
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    chosen = np.random.default_rng(1)
    for step in range(STEPS):
        pick = chosen.integers(0, len(texts), BATCH)
        batch = padded([texts[n] for n in pick], max(len(texts[n]) for n in pick))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(batch), topics[torch.from_numpy(pick)])
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, f"{loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
