"""Every public class that steps environments is held to the contract: by a case, or by a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_cases import CASES, Case
from tests.contract.small_envs import Gate
from tests.support.array_docs import entries, sections
from tests.support.docstrings import public_objects

ROOT = Path(__file__).resolve().parents[2]

# what cases make that are not named after a public class; "" for a class that is private
MADE = {
    "PoolVectorEnv": "NativeVectorEnv",
    "PoolVectorEnv with infos": "NativeVectorEnv",
    "PoolVectorEnv of a mixture": "NativeVectorEnv",
    "env": "",
    "env of a game in rounds": "",
    "env of a game in turns": "",
    "gymnasium.make": "",
    "gymnasium.make_vec": "NativeVectorEnv",
    "make_dm": "DMEnvPool",
    "make_dm(batched=False)": "SingleDMEnv",
    "make_gym": "GymnasiumEnvPool",
    "make_gymnasium": "GymnasiumEnvPool",
    "parallel_env": "",
    "parallel_env of Atari": "",
    "parallel_env of a game in rounds": "",
}

# Classes whose objects are called in ways of their own, or need what other machines may lack (Ray,
# JAX, a server): the files that hold them to their promises.
ELSEWHERE = {
    "AgentDataCollector": ("tests/apis/minari/test_agent_data_collector.py",),
    "AsyncLease": ("tests/faults/test_lease_ends.py", "tests/apis/leases/test_lease_results.py"),
    "ClusterVecEnv": ("tests/apis/cluster/test_contract.py",),
    "ClusterVectorEnv": ("tests/apis/cluster/test_contract.py",),
    "DMEnvAdapter": ("tests/workers/test_dm_adapter.py",),
    "GymnaxEnv": ("tests/apis/jax/test_gymnax.py", "tests/apis/jax/test_gymnax_own.py"),
    "Lease": ("tests/faults/test_lease_ends.py", "tests/faults/test_lease_interrupts.py"),
    "OpenEnvEnv": ("tests/apis/openenv/test_own_client.py",),
    "PolicyLoop": (
        "tests/apis/turns/test_policy_loop.py",
        "tests/apis/turns/test_turns_and_ctrl_c.py",
    ),
    "Rollouts": (
        "tests/apis/cluster/test_cluster_rollouts.py",
        "tests/apis/cluster/test_cluster_without_ray.py",
    ),
}


STEPS = {"step", "play", "recv", "__next__"}


def name_of_class(case: Case) -> str:
    name = case.name.partition(", ")[0]
    return MADE.get(name, name)


def stepping() -> dict[str, type]:
    """Returns the public classes with a call that steps, which may be an attribute, and `close`."""
    return {
        value.__name__: value
        for value in public_objects().values()
        if isinstance(value, type) and hasattr(value, "close")
        if STEPS & {*dir(value), *entries(sections(value).get("Attributes", ""))}
    }


def uncovered(classes: dict[str, type]) -> set[str]:
    """Returns the names of those that no case makes, of itself or of a derived class."""
    made = [classes[name] for name in map(name_of_class, CASES) if name]
    return {
        name for name, value in classes.items() if not any(issubclass(it, value) for it in made)
    }


def test_every_class_has_a_case_or_a_file() -> None:
    assert uncovered(stepping()) == ELSEWHERE.keys()


def test_files_name_their_classes() -> None:
    makers = {"AsyncLease": "lease(", "GymnaxEnv": "make_gymnax", "Lease": "lease("}
    for name, files in ELSEWHERE.items():
        for file in files:
            assert makers.get(name, name) in (ROOT / file).read_text(), f"{file}: {name}"


def test_a_class_without_a_case_is_noticed() -> None:
    class New(stepping()["PoolVectorEnv"]):  # type: ignore[misc]
        pass

    assert "New" in uncovered({**stepping(), "New": New})


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    "case", [case for case in CASES if name_of_class(case)], ids=lambda case: case.name
)
def test_a_case_makes_what_it_says(case: Case, tmp_path: Path) -> None:
    env: Any = case.make(Gate(tmp_path))
    env.close()
    assert type(env).__name__ == name_of_class(case)
