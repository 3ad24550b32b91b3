"""A Ray cluster of several nodes on this machine, which the tests of this folder share."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apis.cluster.cases import add_node
from tests.support.proofs import plugin
from tests.support.timeouts import limited

# no token in the home folder, and no usage report
os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Ray prints a line for each worker that dies, which many tests here make one do
os.environ["RAY_DEDUP_LOGS"] = "1"

NODES = 2
# they run docstrings and a program of examples/, which are in no hash
WITHOUT_PROOF = {"test_cluster_docstrings.py", "test_cluster_example.py"}


def pytest_itemcollected(item: pytest.Item) -> None:
    # pytest calls this for the items of this folder only
    item.add_marker(pytest.mark.cluster)
    if item.path.name not in WITHOUT_PROOF:
        plugin.mark_proven(item, "parallel_pool/_apis/cluster")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A head without cores, and nodes with one core each."""
    import ray
    from ray.cluster_utils import Cluster

    # Turns off pytest's faulthandler_timeout, as nodes may need more attempts than it has time for.
    # pytest sets it again for the next test.
    faulthandler.cancel_dump_traceback_later()

    # workers find the tests' own modules
    root = str(Path(__file__).resolve().parents[3])
    os.environ["PYTHONPATH"] = root
    # a node keeps what it was sent: by default in a third of the machine's memory
    memory = 100 * 2**20
    made = Cluster()
    head = {"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False}
    for arguments in (head, *[{"num_cpus": 1, "object_store_memory": memory}] * NODES):
        add_node(made, arguments)
    made.wait_for_nodes()
    made.node_arguments = {"num_cpus": 1, "object_store_memory": memory}
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """Fails a test that hangs.

    Ray's calls turn the exception into another, and may swallow it; the test fails all the same.
    """
    # below pytest's own limit; a busy machine takes ten seconds for each process that Ray starts
    with limited(240):
        yield
