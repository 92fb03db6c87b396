"""Packing on a local Ray cluster of several node processes, one of which dies in the middle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from packs import elements, packed, table

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.verify import verify

ray = pytest.importorskip("ray", reason="ray is not installed (fitdoctor[ray])")
SLOW = """
import os, pathlib, time, numpy as np
def rows():
    class Rows:
        def __len__(self): return 400
        def __getitem__(self, i):
            time.sleep(0.005)
            return {"x": np.full(100, i, "f4")}
    return Rows()
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    from ray.cluster_utils import Cluster

    (tmp_path / "ray_rows.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    ray.init(
        address=made.address,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2] / 'src'}"}},
    )
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.end_to_end
def test_a_node_that_dies_loses_nothing(tmp_path: Path, cluster: object) -> None:
    from fitdoctor.pack.packing import Listener, pack
    from fitdoctor.pack.shard import Options
    from fitdoctor.pack.sources.opening import open_source

    class Killer(Listener):
        finished = 0

        def report(self, items: int, count_bytes: int) -> None:
            self.finished += 1
            if self.finished == 3:
                (victim,) = cluster.worker_nodes  # type: ignore[attr-defined]
                cluster.remove_node(victim, allow_graceful=False)  # type: ignore[attr-defined]

    killer = Killer()
    done = pack(
        open_source("ray_rows:rows"),
        tmp_path / "out",
        Options(engine="ray", shard_bytes=8000, workers=2),
        killer,
    )
    assert killer.finished == len(done.manifest.shards) == 20
    assert verify(done.manifest) == []
    assert [int(e["x"][0]) for e in elements(done.manifest)] == list(range(400))
    # Errors of the user's data arrive as they do without Ray.
    path = table(tmp_path)
    np.savez(path, x=np.zeros(5), y=np.array(["a"] * 5))
    (tmp_path / "bad_map.py").write_text("def broken(element): raise ValueError('no')\n")
    with pytest.raises(UsageError, match="the map failed"):
        packed(path, tmp_path / "bad", engine="ray", map_spec="bad_map:broken")
