"""How cores are shared out, and what a worker uses of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._apis.cluster import runtime, worker
from parallel_pool._engine.cores import limit_cores
from parallel_pool._native import ffi, lib


@pytest.mark.parametrize(
    ("nodes", "workers", "cores", "expected"),
    [
        ([4, 4], None, None, (2, 4)),
        ([4, 4], 2, None, (2, 4)),
        ([4, 4], 3, None, (3, 2)),
        ([4, 4], 8, None, (8, 1)),
        ([8, 2], 3, None, (3, 2)),
        ([8, 2], None, None, (2, 2)),
        ([4, 4], None, 2, (4, 2)),
        ([2], 4, 0.5, (4, 0.5)),
        # as floats, 1 // 0.1 is 9
        ([1, 1], None, 0.1, (20, 0.1)),
        ([1], 5, 0.2, (5, 0.2)),
    ],
)
def test_cores_are_shared_out(nodes: Any, workers: Any, cores: Any, expected: Any) -> None:
    assert runtime.share_out(nodes, workers, cores) == expected


def test_limit_cores() -> None:
    before = lib.pp_usable_cores(ffi.NULL)
    try:
        limit_cores(1)
        assert lib.pp_usable_cores(ffi.NULL) == 1
        limit_cores(before + 1)
        assert lib.pp_usable_cores(ffi.NULL) == before
    finally:
        limit_cores(0)
    assert lib.pp_usable_cores(ffi.NULL) == before
    with pytest.raises(ValueError, match="count=-1"):
        limit_cores(-1)


def test_a_worker_uses_the_cores_of_its_actor(cluster: Any) -> None:
    """The machine has more."""

    def threads(envs: Any) -> int:
        return envs.pool.num_threads

    class Asked(worker.Worker):
        def threads(self) -> int:
            return int(self.envs.pool.num_threads)

    from parallel_pool._apis.cluster.group import Limits, WorkerGroup
    from parallel_pool._apis.cluster.session import Session

    task, limits = worker.Task("CartPole-v1", 4), Limits(30, 60, 0)
    group = WorkerGroup(Session(range(4)), [task], [slice(0, 4)], 1, limits, worker_class=Asked)
    group.submit(0, "threads")
    assert group.wait([0]) == [(0, 1)]
    group.close()
    assert len(os.sched_getaffinity(0)) > 1


def test_workers_spread_over_numa_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, cpus in enumerate(["0-1,8", "2-3", "9"]):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "cpulist").write_text(cpus + "\n")
    (tmp_path / "node10").mkdir()
    (tmp_path / "node10" / "cpulist").write_text("\n")
    chosen: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3, 8})
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: chosen.append(cpus))
    for rank in range(3):
        worker.use_numa_node(rank, tmp_path)
    # the third node has no core that this process may use
    assert chosen == [{0, 1, 8}, {2, 3}, {0, 1, 8}]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {2})
    worker.use_numa_node(0, tmp_path)
    assert len(chosen) == 3


def test_without_ray_there_is_one_clear_error() -> None:
    program = (
        "import sys; sys.modules['ray'] = None\n"
        "import parallel_pool, parallel_pool.cluster\n"
        "parallel_pool.make_vec('CartPole-v1', 2, backend='cluster')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "MissingDependencyError" in last and "pip install 'parallel_pool[cluster]'" in last


def test_ray_is_imported_at_first_use() -> None:
    program = (
        "import sys, parallel_pool.cluster, parallel_pool._apis.cluster.vector_env\n"
        "assert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_program_starts_ray_by_itself(tmp_path: Path) -> None:
    """On one machine nothing has to be set up."""
    program = (
        "import parallel_pool\n"
        "from parallel_pool.cluster import ClusterVectorEnv\n"
        "envs = ClusterVectorEnv('CartPole-v1', 4, num_workers=2)\n"
        "print(envs.reset(seed=0)[0].shape)"
    )
    env = {**os.environ, "RAY_ADDRESS": "local", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "(4, 4)", done.stderr
    assert not (tmp_path / ".ray").exists()
