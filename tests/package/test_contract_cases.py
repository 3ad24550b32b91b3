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
    "env of a translated class": "",
    "env of Atari": "",
    "gymnasium.make": "",
    "gymnasium.make_vec": "NativeVectorEnv",
    "make_dm": "DMEnvPool",
    "make_dm(batched=False)": "SingleDMEnv",
    "make_gym": "GymnasiumEnvPool",
    "make_gymnasium": "GymnasiumEnvPool",
    "parallel_env": "",
    "parallel_env of Atari": "",
    "parallel_env of a game in rounds": "",
    "parallel_env of a translated class": "",
}

# What every class holds: `CASES` by the files of tests/contract, the others as their rows say.
CLAUSES = (
    "results",  # are the caller's: no later call changes them, nor they a later call
    "wrong actions",  # are refused, and step nothing
    "trace",  # is whole
    "close",  # may be called twice, and refuses all that follows
    "masks",  # of resets: the others go on
    "autoreset",  # in each mode, as environments alone
    "copies",  # and pickles are refused, or new
    "fork",  # the child is refused, and the parent goes on
    "Ctrl-C",  # is raised once, and nothing is lost in silence
)


class No(str):
    """Why a clause does not apply to a class."""


ONE = No("it is one environment, which begins no episode by itself")
ALONE = {"masks": ONE, "autoreset": ONE}
CLUSTER, WITHOUT_RAY = "tests/apis/cluster/test", "tests/apis/cluster/test_cluster_without_ray.py"
LEASES, ENDS = "tests/apis/leases/test_lease_results.py", "tests/faults/test_lease_ends.py"
INTERRUPTS = "tests/faults/test_lease_interrupts.py"
ADAPTED = No("it is the user's own environment, in this process, by other names")
OPENENV = "tests/apis/openenv/test_client_contract.py"
GYMNAX, TURNS = "tests/apis/jax/test_gymnax", "tests/apis/turns/test_policy_loop.py"
OF_LEASES = {
    **ALONE,
    "results": f"{LEASES}::test_results_are_the_callers_own",
    "wrong actions": f"{LEASES}::test_arguments",
    "trace": No("it has none"),
    "close": f"{ENDS}::test_closing_twice",
    "copies": f"{LEASES}::test_they_cannot_be_copied",
}
OF_CLUSTERS = {
    "results": f"{CLUSTER}_contract.py::test_calls[test_no_later_call_changes_a_result]",
    "wrong actions": f"{CLUSTER}_contract.py::test_calls[test_wrong_arguments]",
    "close": f"{CLUSTER}_contract.py::test_calls[test_calls_after_close]",
    "autoreset": f"{CLUSTER}_contract.py::test_episodes",
    "copies": f"{CLUSTER}_contract.py::test_calls[test_copies_and_pickles_are_refused]",
    "fork": f"{CLUSTER}_contract.py::test_calls[test_calls_in_a_forked_child]",
}

# Classes whose objects are called in ways of their own, or need what other machines may lack (Ray,
# JAX, a server): by clause, the test that holds them to it.
ELSEWHERE: dict[str, dict[str, str]] = {
    "AsyncLease": {
        **OF_LEASES,
        "close": f"{ENDS}::test_a_lease_that_is_over",
        "fork": f"{ENDS}::test_a_forked_child_of_a_task_has_no_leases",
        # asyncio makes a cancellation of it
        "Ctrl-C": f"{ENDS}::test_tasks_cancelled_at_any_moment_lose_no_environment",
    },
    "ClusterVecEnv": {
        **OF_CLUSTERS,
        "trace": f"{CLUSTER}_cluster_sb3.py::test_a_lost_worker_and_the_order_of_calls",
        "masks": No("Stable-Baselines3's API has none"),
        "Ctrl-C": f"{WITHOUT_RAY}::test_ctrl_c_loses_no_result_that_all_workers_have_sent",
    },
    "ClusterVectorEnv": {
        **OF_CLUSTERS,
        "trace": f"{CLUSTER}_cluster_vector_env.py::test_what_every_vector_environment_promises",
        "masks": f"{CLUSTER}_contract.py::test_masks",
        "Ctrl-C": f"{WITHOUT_RAY}::test_an_answer_that_ctrl_c_has_lost_costs_no_worker",
    },
    "DMEnvAdapter": {
        **dict.fromkeys(CLAUSES, ADAPTED),
        "wrong actions": "tests/workers/test_dm_adapter.py::test_wrong_actions",
        **ALONE,
    },
    "GymnaxEnv": {
        "results": No("JAX's arrays can't be written to"),
        "wrong actions": f"{GYMNAX}.py::test_a_wrong_action_is_an_error_that_names_its_row",
        "trace": No("it has none"),
        "close": f"{GYMNAX}_and_ctrl_c.py::test_closing_twice",
        "masks": No("each row is reset by itself"),
        "autoreset": f"{GYMNAX}.py::test_rows_are_those_of_pools",
        "copies": f"{GYMNAX}.py::test_it_can_not_be_pickled",
        "fork": No("JAX does not survive a fork; test_jax.py asks the engine below it"),
        "Ctrl-C": f"{GYMNAX}_and_ctrl_c.py::test_ctrl_c_during_a_program",
    },
    "Lease": {
        **OF_LEASES,
        "fork": f"{ENDS}::test_a_forked_child_has_no_leases",
        "Ctrl-C": f"{INTERRUPTS}::test_a_thread_that_is_interrupted_anywhere",
    },
    "OpenEnvEnv": {
        **ALONE,
        "results": f"{OPENENV}::test_calls[test_no_later_call_changes_a_result]",
        "wrong actions": f"{OPENENV}::test_calls[test_wrong_arguments]",
        "trace": No("it has none: its environment steps in the server"),
        "close": f"{OPENENV}::test_calls[test_calls_after_close]",
        "copies": f"{OPENENV}::test_calls[test_copies_and_pickles_are_refused]",
        "fork": f"{OPENENV}::test_calls[test_calls_in_a_forked_child]",
        "Ctrl-C": f"{OPENENV}::test_ctrl_c_anywhere_in_a_call",
    },
    "PolicyLoop": {
        "results": f"{TURNS}::test_turns_are_the_callers_and_a_forked_child_has_none",
        "wrong actions": f"{TURNS}::test_wrong_actions_lose_nothing",
        "trace": No("it has none: its chunks have theirs"),
        "close": f"{TURNS}::test_close",
        "masks": No("its resets name no environments"),
        "autoreset": No("that of its chunks, whose turns have the bits of a plain loop"),
        "copies": f"{TURNS}::test_before_a_reset_and_copies",
        "fork": f"{TURNS}::test_turns_are_the_callers_and_a_forked_child_has_none",
        "Ctrl-C": "tests/apis/turns/test_turns_and_ctrl_c.py::test_ctrl_c_loses_no_turn",
    },
    "Rollouts": {
        "results": f"{WITHOUT_RAY}::test_batches_are_the_callers_and_ctrl_c_loses_none",
        "wrong actions": No("it takes none: its policy acts in the workers"),
        "trace": f"{WITHOUT_RAY}::test_batches_are_the_callers_and_ctrl_c_loses_none",
        "close": f"{WITHOUT_RAY}::test_batches_are_the_callers_and_ctrl_c_loses_none",
        "masks": No("it has no resets"),
        "autoreset": f"{WITHOUT_RAY}::test_batches_have_one_autoreset_mode",
        "copies": f"{WITHOUT_RAY}::test_rollouts_are_of_one_process_and_have_no_copies",
        "fork": f"{WITHOUT_RAY}::test_rollouts_are_of_one_process_and_have_no_copies",
        "Ctrl-C": f"{WITHOUT_RAY}::test_batches_are_the_callers_and_ctrl_c_loses_none",
    },
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


def lacking(rows: dict[str, dict[str, str]]) -> set[str]:
    """Returns what is wrong in rows: clauses that are missing, and tests that are not there."""
    makers = {"AsyncLease": "lease(", "GymnaxEnv": "make_gymnax", "Lease": "lease("}
    found: set[str] = set()
    for name, row in rows.items():
        found |= {f"{name}: {clause}" for clause in row.keys() ^ set(CLAUSES)}
        for clause, where in row.items():
            if isinstance(where, No):
                continue
            file, _, case = where.partition("::")
            test, _, check = case.rstrip("]").partition("[")
            path = ROOT / file
            text = path.read_text() if path.is_file() else ""
            named = (f"def {test}(", check, makers.get(name, name))
            if not all(each in text for each in named):
                found.add(f"{name}: {clause}: {where}")
    return found


def test_every_clause_has_a_test_or_a_reason() -> None:
    assert not lacking(ELSEWHERE)


def test_a_clause_without_a_test_is_noticed() -> None:
    good = ELSEWHERE["OpenEnvEnv"]
    wrong = (
        {clause: good[clause] for clause in CLAUSES if clause != "fork"},
        {**good, "Fork": good["fork"]},
        *({**good, "fork": where} for where in ("", "is fine", f"{OPENENV}::test_forks")),
        {**good, "fork": f"{OPENENV}::test_calls[test_forks]"},
        {**good, "fork": f"{LEASES}::test_arguments"},
    )
    for row in wrong:
        assert len(lacking({"OpenEnvEnv": row})) == 1, row


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
