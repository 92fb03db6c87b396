import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import argparse

import keras
import numpy as np


def step_environment(state, action, rng):
    """A pole that drifts; the action pushes it back."""
    push = 0.1 if action == 1 else -0.1
    return 0.99 * state + push * np.array([1, 0.5, 0, 0]) + rng.normal(0, 0.05, size=4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20)
    args = parser.parse_args()

    keras.utils.set_random_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(2),
        ]
    )

    state = np.zeros(4)
    visited = []
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    for _ in range(max(1, round(args.steps * scale))):
        q_values = model.predict(state[None].astype("float32"), verbose=0)
        action = int(np.argmax(q_values[0]))
        state = step_environment(state, action, rng)
        visited.append(state)
    print("mean position", float(np.mean(visited)))


if __name__ == "__main__":
    main()
