"""Tests of the contract that every registered environment keeps.

The ids come from the registry, so a new environment is tested without a change here. The checks
are those of `parallel_pool.testing`, which users run on their own environments. Here are the ids,
and what is known of some of them.
"""

from __future__ import annotations

import re

import pytest

from parallel_pool._contract import guards, rules, speed
from parallel_pool._engine import registry
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven(
    *("csrc/native", "csrc/os", "csrc/pool", "csrc/threads", "csrc/envs/_template.c"),
    "parallel_pool/_engine",
    by="env",
)

# families whose steps cost a thousand times as much as CartPole's: emulated games and physics
EXPENSIVE = (
    *("ale", "atari", "atari_players", "box2d", "control_suite", "mujoco", "procgen"),
    "robotics",
)
# all games of one API share the code that is tested here: these stand for all of Atari and Procgen
VARIANTS = {"pong", "breakout", "adventure", "coinrun", "CoinrunEasy"}
# the older ids of a MuJoCo task are the newest with other options: those of two tasks stand for all
OLDER = re.compile(r"(?!Hopper-|Reacher-).*-v[234]$")
# particle worlds share nearly all of it, too: these differ in spaces, messages and random numbers
WORLDS = {"mpe/simple_tag_v3", "mpe/simple_speaker_listener_v4", "mpe/collect_treasure_v1"}
# BabyAI's levels differ in what a reset makes; these have all instructions, boxes with keys, and an
# object in the agent's hands
LEVELS = {"BabyAI-BossLevel-v0", "BabyAI-KeyInBox-v0", "BabyAI-PutNextS5N2Carrying-v0"}
# dm_control's tasks share the code that calls MuJoCo: these have the shared model, models of their
# own, springs that the seed draws, and EnvPool's id
PHYSICS = {
    *("dm_control/hopper-hop-v0", "dm_control/reacher-easy-v0", "dm_control/lqr-lqr_2_1-v0"),
    "StackerStack2-v1",
}
# so do Gymnasium-Robotics': these have an object and a free gripper, walls, Ant's infos, values of
# their own in the model, a goal that a reset computes, episodes that begin where the last one
# ended, and goals in dicts
ROBOTS = {
    *("FetchPickAndPlace-v4", "PointMaze_UMaze-v3", "AntMaze_UMaze-v5", "AdroitHandPen-v1"),
    *("HandReach-v3", "HandManipulateEgg_BooleanTouchSensors-v1", "FrankaKitchen-v1"),
}
# `definitions` leaves out internal ids, which no pool can make alone. `_AleVector-v0` is
# AtariVectorEnv's, which gives it a ROM: tests/parity/test_atari_vector.py compares it with
# ale-py's. `_robot` is for users' files of robots: tests/families/test_robot.py runs all checks on
# such files.
IDS = sorted(
    id
    for id, found in registry.definitions().items()
    if (not found.variant or found.variant in VARIANTS)
    and not (found.family == "mujoco" and OLDER.match(id))
    and not (found.family == "mpe" and id not in WORLDS)
    and not (id.startswith("BabyAI-") and id not in LEVELS)
    and not (found.family == "control_suite" and id not in PHYSICS)
    and not (found.family == "robotics" and id not in ROBOTS)
)
# make check tests one or two ids of each family, and all of the family test
SAMPLED = {
    *("ALE/Pong-v5", "CartPole-v1", "LunarLander-v3", "Pendulum-v1", "Pong-v5", "Reacher-v5"),
    *("atari/pong_v3", "classic/connect_four_v3", "mpe/simple_speaker_listener_v4"),
    *("Blackjack-v1", "Catch-v0", "Taxi-v4", "MiniGrid-Dynamic-Obstacles-8x8-v0"),
    "BabyAI-BossLevel-v0",
    "procgen-coinrun-v0",
    *("dm_control/reacher-easy-v0", "PointMaze_UMaze-v3"),
}
QUICK = {env for env in IDS if registry.find(env).family == "test"} | SAMPLED
CASES = sampled(IDS, QUICK)
# those whose definition has step_many
IN_RUNS = [env for env in IDS if registry.find(env).raw.step_many]
QUICK_RUNS = {
    *("Blackjack-v1", "CartPole-v1", "Catch-v0", "FrozenLake-v1", "NChain-v0", "Taxi-v4"),
    *("classic/tictactoe_v3", "test/Template-v0"),
}
# the sanitizers run all cases, as here C writes to memory that Python gave it
few_quick = pytest.mark.quick(3, sanitizers=True)
MODES = ("next_step", "same_step", "disabled")

# any 300 steps of these contain the end of an episode, which the tests must have seen
ENDING = {"CartPole-v0", "CartPole-v1", "test/Duel-v0", "test/Heap-v0", "test/Template-v0"} | {
    "classic/tictactoe_v3",
    "classic/connect_four_v3",
    "classic/rps_v2",
    *("FrozenLake-v1", "FrozenLake8x8-v1", "Blackjack-v1", "Catch-v0"),
}
# it counts its calls over all episodes
COUNTING = {"test/Fault-v0"}
# its levels depend on the environment's number, as EnvPool's do
NUMBERED = {"CoinrunEasy-v0"}
# nothing in them is random
CONSTANT = COUNTING | {
    "CliffWalking-v1",
    *(f"MiniGrid-Empty-{side}x{side}-v0" for side in (5, 6, 8, 16)),
    *("MiniGrid-DistShift1-v0", "MiniGrid-DistShift2-v0"),
    "atari/pong_v3",
    "classic/tictactoe_v3",
    "classic/connect_four_v3",
    "classic/rps_v2",
}


def is_expensive(env: str) -> bool:
    return registry.find(env).family in EXPENSIVE


# ---------------------------------------------------------------------------------- results --


@few_quick
@pytest.mark.parametrize("mode", sampled(MODES, {"same_step"}))
@pytest.mark.parametrize("env", CASES)
def test_results_are_in_their_spaces(env: str, mode: str) -> None:
    ends = rules.spaces(env, few=is_expensive(env), autoreset=mode)
    assert ends or env not in ENDING


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_rewards_are_numbers(env: str) -> None:
    rules.rewards(env, few=is_expensive(env))


@few_quick
@pytest.mark.parametrize("batch", ["all", "some"])
@pytest.mark.parametrize("mode", sampled(MODES, {"same_step"}))
@pytest.mark.parametrize("env", CASES)
def test_every_byte_is_defined(env: str, mode: str, batch: str) -> None:
    rules.defined_bytes(env, some=batch == "some", few=is_expensive(env), autoreset=mode)


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_callbacks_write_only_what_is_theirs(env: str) -> None:
    guards.writes(env, few=is_expensive(env))


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_observe_changes_nothing(env: str) -> None:
    guards.observe(env, few=is_expensive(env))


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_step_many_equals_step(env: str) -> None:
    guards.step_many(env, few=is_expensive(env))


# --------------------------------------------------------------------------------- episodes --


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_the_autoreset_modes_return_the_same_episodes(env: str) -> None:
    rules.autoreset(env, few=is_expensive(env))


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_disabled_autoreset_refuses_to_step_an_ended_episode(env: str) -> None:
    rules.ended_episodes(env, few=is_expensive(env))


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_a_time_limit_truncates_and_terminates_with_both_flags(env: str) -> None:
    has_ended = rules.time_limit(env, few=is_expensive(env))
    assert has_ended or env not in ENDING


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_the_default_time_limit_is_that_of_the_definition(env: str) -> None:
    rules.default_limit(env, few=is_expensive(env))


# -------------------------------------------------------------------------------- snapshots --


@few_quick
@pytest.mark.parametrize("mode", sampled(MODES, {"next_step"}))
@pytest.mark.parametrize("env", CASES)
def test_a_snapshot_restores_an_environment_exactly(env: str, mode: str) -> None:
    rules.snapshots(env, few=is_expensive(env), autoreset=mode)


# ------------------------------------------------------------------------------ determinism --


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_results_depend_on_the_seed_alone(env: str) -> None:
    warm_up = 0 if env in COUNTING else 20
    equal = rules.seeds(env, few=is_expensive(env), warm_up=warm_up)
    assert equal == dict.fromkeys(equal, env in CONSTANT)


@few_quick
@pytest.mark.parametrize("env", sampled([env for env in IDS if env not in NUMBERED], QUICK))
def test_neighbours_change_nothing(env: str) -> None:
    rules.neighbours(env, few=is_expensive(env))


@few_quick
@pytest.mark.parametrize("mode", sampled(MODES, {"next_step"}))
@pytest.mark.parametrize("env", CASES)
def test_threads_change_nothing(env: str, mode: str) -> None:
    rules.threads(env, few=is_expensive(env), autoreset=mode)


@few_quick
@pytest.mark.parametrize("mode", sampled(MODES[:2], {"same_step"}))
@pytest.mark.parametrize("env", CASES)
def test_an_asynchronous_pool_differs_in_order_only(env: str, mode: str) -> None:
    rules.asynchronous(env, few=is_expensive(env), autoreset=mode)


# ------------------------------------------------------------------------------------- runs --


@few_quick
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env", sampled(IN_RUNS, QUICK_RUNS))
def test_runs_return_what_single_steps_return(env: str, mode: str) -> None:
    rules.runs(env, few=is_expensive(env), autoreset=mode)


@pytest.mark.quick(12, sanitizers=True)
@pytest.mark.parametrize("env", IN_RUNS)
def test_steps_and_resets_are_short_where_step_many_is(env: str) -> None:
    speed.for_runs(env)


# ------------------------------------------------------------------------------------ close --


@few_quick
@pytest.mark.parametrize("env", CASES)
def test_close_ends_all_calls_and_leaves_the_arrays(env: str) -> None:
    rules.close(env, few=is_expensive(env))
