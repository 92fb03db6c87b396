# Corpus 93 (keon/deep-q-learning#18): predict and fit for every row of the replay memory.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import random
from collections import deque

import keras
import numpy as np

REPLAYS = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


class DQNAgent:
    def __init__(self, state_size, action_size):
        self.action_size = action_size
        self.memory = deque(maxlen=2000)
        self.gamma = 0.95
        self.model = self._build_model(state_size)

    def _build_model(self, state_size):
        model = keras.Sequential()
        model.add(keras.Input((state_size,)))
        model.add(keras.layers.Dense(24, activation="relu"))
        model.add(keras.layers.Dense(24, activation="relu"))
        model.add(keras.layers.Dense(self.action_size, activation="linear"))
        model.compile(loss="mse", optimizer=keras.optimizers.Adam(learning_rate=0.001))
        return model

    def remember(self, *experience):
        self.memory.append(experience)

    def replay(self, batch_size):
        minibatch = random.sample(self.memory, batch_size)
        for state, action, reward, next_state, done in minibatch:
            target = reward
            if not done:
                target += self.gamma * np.amax(self.model.predict(next_state, verbose=0)[0])
            target_f = self.model.predict(state, verbose=0)
            target_f[0][action] = target
            self.model.fit(state, target_f, epochs=1, verbose=0)


keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
agent = DQNAgent(state_size=4, action_size=2)
for _ in range(200):
    state, next_state = rng.normal(size=(2, 1, 4)).astype("float32")
    agent.remember(state, int(rng.integers(2)), float(rng.normal()), next_state, rng.random() < 0.1)
for _ in range(REPLAYS):
    agent.replay(batch_size=16)
