"""A hand-written loop over a generator of its own, in a real process: watched, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from end_to_end.commands import diagnose

pytestmark = [pytest.mark.end_to_end, pytest.mark.measures]

SCRIPT = """
import keras, numpy as np, torch

X = np.random.default_rng(0).normal(size=(2048, 32)).astype("float32")
Y = X[:, :1].copy()

def batches(size):
    for start in range(0, len(X), size):
        rows = []
        for row in X[start:start + size].tolist():
            for _ in range({rounds}):
                row = [value * 0.99 + 0.01 for value in row]  # the slow line
            rows.append(row)
        yield torch.tensor(rows), torch.from_numpy(Y[start:start + size])

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(8), keras.layers.Dense(1)])
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for epoch in range(100000):
    for x, y in batches(64):
        optimizer.zero_grad()
        loss = torch.mean((model(x, training=True) - y) ** 2)
        loss.backward()
        optimizer.step()
"""


def test_the_slow_line_of_a_loops_own_generator_is_found(tmp_path: Path) -> None:
    # Loading takes some 20 steps.
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(rounds=400))
    report = diagnose(script, tmp_path, "--budget", "8", backend="torch")
    workload = report["workloads"][0]
    assert workload["kind"] == "loop"
    first = workload["findings"][0]
    assert first["rule"] == "IN001"
    lines = script.read_text().splitlines()
    slow = next(number for number, line in enumerate(lines, 1) if "the slow line" in line)
    assert abs(first["where"]["line"] - slow) <= 1
    assert first["gain"]["ratio"] > 3
    shares = {part["part"]: part["share"] for part in workload["breakdown"]}
    assert shares["input_wait"] > 0.6
