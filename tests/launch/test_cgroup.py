from __future__ import annotations

from pathlib import Path

from fitdoctor.inside.ledger.cgroup import Throttling, own_cgroup


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_cgroups_nothing_is_known(tmp_path: Path) -> None:
    cgroup = own_cgroup(tmp_path / "none", tmp_path)
    assert cgroup.cpu_limit() is None
    assert cgroup.memory_limit_bytes() is None
    assert cgroup.throttling() == Throttling(None, None)


def test_no_limit_is_not_a_limit(tmp_path: Path) -> None:
    write(tmp_path / "member", "0::/a\n")
    write(tmp_path / "fs/a/cpu.max", "max 100000\n")
    write(tmp_path / "fs/a/memory.max", "max\n")
    cgroup = own_cgroup(tmp_path / "member", tmp_path / "fs")
    assert cgroup.cpu_limit() is None
    assert cgroup.memory_limit_bytes() is None


def test_version_2_takes_the_tightest_level(tmp_path: Path) -> None:
    write(tmp_path / "member", "0::/a/b\n")
    write(tmp_path / "fs/a/cpu.max", "150000 100000\n")
    write(tmp_path / "fs/a/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_usec 7\n")
    write(tmp_path / "fs/a/b/cpu.max", "max 100000\n")
    write(tmp_path / "fs/a/b/cpu.stat", "nr_throttled 0\nthrottled_usec 0\n")
    write(tmp_path / "fs/a/b/memory.max", "1000\n")
    cgroup = own_cgroup(tmp_path / "member", tmp_path / "fs")
    assert cgroup.cpu_limit() == 1.5
    assert cgroup.memory_limit_bytes() == 1000
    assert cgroup.throttling() == Throttling(4, 7000)


def test_version_1(tmp_path: Path) -> None:
    write(tmp_path / "member", "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n")
    folder = tmp_path / "fs/cpu,cpuacct/job"
    write(folder / "cpu.cfs_quota_us", "50000\n")
    write(folder / "cpu.cfs_period_us", "100000\n")
    write(folder / "cpu.stat", "nr_throttled 2\nthrottled_time 99\n")
    write(tmp_path / "fs/memory/job/memory.limit_in_bytes", "9223372036854771712\n")
    cgroup = own_cgroup(tmp_path / "member", tmp_path / "fs")
    assert cgroup.cpu_limit() == 0.5
    assert cgroup.memory_limit_bytes() is None
    assert cgroup.throttling() == Throttling(2, 99)


def test_a_container_that_sees_only_the_mount(tmp_path: Path) -> None:
    write(tmp_path / "member", "0::/not/visible/here\n")
    write(tmp_path / "fs/cpu.max", "200000 100000\n")
    assert own_cgroup(tmp_path / "member", tmp_path / "fs").cpu_limit() == 2.0
