import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

EPISODES = max(1, round(40 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
STEPS = 10
GAMMA = 0.9


class Corridor:
    """Walk to the right end; every step costs a little."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.position = self.rng.normal(size=4)
        return self.position.astype("float32")

    def step(self, action):
        self.position += (0.1 if action else -0.1) + self.rng.normal(0, 0.02, size=4)
        return self.position.astype("float32"), float(self.position.mean()) - 0.01


class Agent:
    def __init__(self):
        self.model = keras.Sequential(
            [
                keras.Input((4,)),
                keras.layers.Dense(64, activation="relu"),
                keras.layers.Dense(64, activation="relu"),
                keras.layers.Dense(2),
            ]
        )

    def begin(self, episode):
        rate = 1e-2 / (1 + episode)
        self.model.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")

    def values(self, state):
        return self.model.predict(state[None], verbose=0)[0]

    def learn(self, states, values):
        return self.model.train_on_batch(np.array(states), np.array(values))


def play(agent, corridor):
    states, values = [], []
    state = corridor.reset()
    value = agent.values(state)
    for _ in range(STEPS):
        action = int(np.argmax(value))
        next_state, reward = corridor.step(action)
        next_value = agent.values(next_state)
        value = value.copy()
        value[action] = reward + GAMMA * next_value.max()
        states.append(state)
        values.append(value)
        state, value = next_state, next_value
    return states, values


def main():
    keras.utils.set_random_seed(204)
    agent = Agent()
    corridor = Corridor(np.random.default_rng(204))
    for episode in range(EPISODES):
        agent.begin(episode)
        states, values = play(agent, corridor)
        loss = agent.learn(states, values)
    print("loss", float(loss))


if __name__ == "__main__":
    main()
