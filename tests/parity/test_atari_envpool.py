"""<Game>-v5 against the model of EnvPool's Atari (tests/reference), bit for bit.

integration/compare/envpool_atari.py compares that model with EnvPool's wheel itself.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest
from ale_py import roms

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Batch, Pool
from parallel_pool._families import atari, atari_proofs
from parallel_pool.errors import EnvError, MissingDependencyError, UnprovenError
from tests.support.reference.envpool_atari import OPTION_SETS, EnvPoolAtari, Output
from tests.support.sampling import sampled, thinned

pytestmark = pytest.mark.proven("csrc/envs/atari")

# the games on which the sets of options are tried
GAMES = {"Pong-v5": "pong", "Breakout-v5": "breakout"}
TASKS = {id: task for id, task in registry.builtin().items() if task.family == "atari"}
# the games of make check: three mappers, and both television standards
SAMPLED = {
    *("Adventure-v5", "ElevatorAction-v5", "Robotank-v5"),
}
# sets of options that only change the picture, in the same way for every game
PICTURES = {
    *("42x42", "105x80", "128x128", "210x160", "300x200", "84x250", "7x5"),
    *("linear", "linear rgb", "stack1", "stack2 rgb"),
}
# sets that test nothing new: in these games so many no-ops never end a game after a lost life
LONG = {"noop1500", "noop1500 no fire"}
# the pairs (game, set) of make check; all others are slow
QUICK = {
    *(("Pong-v5", "limit7"), ("Pong-v5", "mixed"), ("Breakout-v5", "zero life")),
}
# sets whose steps or resets play many frames
FEWER_STEPS = {"skip40": 40, "skip10": 60, "limit1": 20, "limit7": 50, "skip0": 60}
MODES = [
    ("Pong-v5", {"mode": 1, "difficulty": 3}),
    ("Breakout-v5", {"mode": 8, "difficulty": 1}),
    ("Breakout-v5", {"mode": 44}),
]
STEPS = 110
NUM_ENVS = 2


def make(task_id: str, seed: int | list[int] = 42, **options: Any) -> Pool:
    limit = options.pop("max_episode_steps", None)
    return Pool(
        task_id,
        NUM_ENVS,
        seed=seed,
        num_threads=1,
        max_episode_steps=limit,
        discount=True,
        step_type=True,
        options=options,
    )


def rows(pool: Pool, batch: Batch) -> dict[str, Any]:
    """Returns the columns by name; infos are prefixed with "info "."""
    infos = len(pool.spec.fields)
    names = [column.name for column in pool.columns]
    names[1:infos] = [f"info {name}" for name in names[1:infos]]
    return dict(zip(names, batch, strict=True))


def check(pool: Pool, batch: Batch, outputs: list[Output]) -> None:
    """Compares a batch with the model's outputs.

    It expects two intended differences: a game that ends on the step of the time limit sets both
    flags, and the discount on that step is the game's.
    """
    got = rows(pool, batch)
    expected = {
        "obs": [o.observation for o in outputs],
        "reward": [o.reward for o in outputs],
        "terminated": [o.ended for o in outputs],
        "truncated": [o.truncated for o in outputs],
        "elapsed_step": [o.elapsed for o in outputs],
        "step_type": [o.step_type for o in outputs],
        "discount": [o.game_discount for o in outputs],
        "info lives": [o.lives for o in outputs],
        "info reward": [o.raw_reward for o in outputs],
        "info terminated": [o.game_over for o in outputs],
        "info ram": [o.ram for o in outputs],
    }
    for name, values in expected.items():
        if not np.array_equal(got[name], values):
            np.testing.assert_array_equal(got[name], np.array(values), name)


def compare(
    task_id: str, options: dict[str, Any], steps: int, seed: int = 42, *, resets: bool = True
) -> list[Output]:
    """Plays both with random actions and two forced resets; returns the model's outputs."""
    game = TASKS[task_id].variant
    models = [EnvPoolAtari(game, seed + i, **options) for i in range(NUM_ENVS)]
    rng = np.random.default_rng(seed)
    history = []
    with make(task_id, seed, **options) as pool:
        assert pool.spec.action.n == len(models[0].actions)
        for t in range(steps):
            if resets and t == steps * 2 // 5:
                check(pool, pool.reset([1]), [models[1].reset()])
            if resets and t == steps * 7 // 10:
                check(pool, pool.reset(), [model.reset() for model in models])
            actions = rng.integers(0, pool.spec.action.n, NUM_ENVS)
            # the first step has no reset before it
            outputs = [m.step(int(a)) for m, a in zip(models, actions, strict=True)]
            check(pool, pool.step(actions), outputs)
            history += outputs
    return history


@pytest.mark.quick(0, sanitizers=1)
@pytest.mark.parametrize(
    ("task_id", "options"),
    [
        pytest.param(game, name, marks=[] if (game, name) in QUICK else pytest.mark.slow)
        for game in GAMES
        for name in OPTION_SETS
        if name not in PICTURES | LONG
    ],
)
def test_equals_the_model(task_id: str, options: str) -> None:
    compare(task_id, OPTION_SETS[options], FEWER_STEPS.get(options, STEPS))


@pytest.mark.sanitizers
def test_a_lost_life_ends_an_episode() -> None:
    outputs = compare("Breakout-v5", {"episodic_life": True}, 60, resets=False)
    assert any(output.ended and not output.game_over for output in outputs)


# a third of the games: what differs between games is compared for all in test_atari_proofs.py
@pytest.mark.quick(1)
@pytest.mark.parametrize("task_id", sampled(sorted({*list(TASKS)[1::3], *SAMPLED}), SAMPLED))
def test_games_equal_the_model(task_id: str) -> None:
    """integration/compare/envpool_atari.py --games all is a longer form of this test."""
    number = list(TASKS).index(task_id)
    options: dict[str, Any] = {"episodic_life": number % 3 == 0, "full_action_space": True}
    options["repeat_action_probability"] = 0.25 * (number % 2)
    compare(task_id, options, 30, seed=number)


@pytest.mark.slow
@pytest.mark.parametrize("options", sampled(sorted(PICTURES), {"linear rgb"}))
def test_pictures_equal_the_model(options: str) -> None:
    compare("Breakout-v5", OPTION_SETS[options], 60)


@pytest.mark.slow
@pytest.mark.parametrize(("task_id", "options"), thinned(MODES, 3))
def test_modes_equal_the_model(task_id: str, options: dict[str, Any]) -> None:
    compare(task_id, options, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("task_id", "steps"), [("Pong-v5", 430), ("Breakout-v5", 120)])
def test_games_end_and_restart(task_id: str, steps: int) -> None:
    """Long enough, at ten frames a step, for real game overs on any frame of a step."""
    history = compare(task_id, {"frame_skip": 10}, steps, seed=7, resets=False)
    assert any(output.game_over and output.ended for output in history)


@pytest.mark.slow
def test_game_over_on_every_frame_of_a_step() -> None:
    """At the last frame of a step two screens are pooled; at the one before only one is shown."""
    # with these seeds any other picture would differ
    seeds = [14, 21, 42]
    models = [EnvPoolAtari("breakout", seed, frame_skip=3) for seed in seeds]
    rngs = [np.random.default_rng(seed) for seed in seeds]
    frames_left = set()
    with Pool("Breakout-v5", 3, seed=seeds, num_threads=1, options={"frame_skip": 3}) as pool:
        pool.reset()
        for model in models:
            model.reset()
        for _ in range(245):
            actions = [int(rng.integers(4)) for rng in rngs]
            outputs = [model.step(action) for model, action in zip(models, actions, strict=True)]
            got = rows(pool, pool.step(actions))
            np.testing.assert_array_equal(got["obs"], [o.observation for o in outputs])
            np.testing.assert_array_equal(got["terminated"], [o.terminated for o in outputs])
            over = zip(models, outputs, strict=True)
            frames_left |= {model.frames_left for model, output in over if output.terminated}
    assert frames_left == {0, 1, 2}


@pytest.mark.sanitizers
def test_a_random_number_of_no_ops_that_is_rejected() -> None:
    """This seed's first word must be rejected: it would make some numbers likelier than others."""
    seed, options = 14910327, {"noop_max": 100000}
    model = EnvPoolAtari("pong", seed, **options)
    expected = model.reset()
    # the word (one of the 2**32 % 100000 that are rejected) would have given 67363 no-ops
    assert model.ale.getEpisodeFrameNumber() < 300
    with Pool("Pong-v5", 1, seed=seed, num_threads=1, options=options) as pool:
        got = rows(pool, pool.reset())
        np.testing.assert_array_equal(got["obs"][0], expected.observation)
        np.testing.assert_array_equal(got["info ram"][0], expected.ram)


@pytest.mark.slow
def test_a_game_that_ends_in_the_no_ops_restarts() -> None:
    options = {"noop_max": 9000}
    models = [EnvPoolAtari("pong", 42 + i, **options) for i in range(NUM_ENVS)]
    with make("Pong-v5", **options) as pool:
        check(pool, pool.reset(), [model.reset() for model in models])
        assert any(model.ends_in_noops for model in models)
        check(pool, pool.step([2, 3]), [m.step(a) for m, a in zip(models, [2, 3], strict=True)])


@pytest.mark.slow
def test_game_over_on_the_step_of_the_time_limit_sets_both_flags() -> None:
    def play(limit: int) -> list[Output]:
        model = EnvPoolAtari("breakout", 42, max_episode_steps=limit)
        rng = np.random.default_rng(1)
        outputs = [model.reset()]
        while not (outputs[-1].ended or outputs[-1].truncated):
            outputs.append(model.step(int(rng.integers(4))))
        return outputs

    length = len(play(27000)) - 1
    last = play(length)[-1]
    assert (last.terminated, last.truncated, last.game_over) == (False, True, True)

    with make("Breakout-v5", [42, 43], max_episode_steps=length) as pool:
        pool.reset()
        rng = np.random.default_rng(1)
        for _ in range(length):
            got = rows(pool, pool.step([int(rng.integers(4)), 0]))
        assert got["terminated"][0]
        assert got["truncated"][0]
        assert got["discount"][0] == 0
        # the other environment's game continues: only its time is over
        assert not got["terminated"][1]
        assert got["truncated"][1]
        assert got["discount"][1] == 1


def test_a_new_seed_is_a_new_environment() -> None:
    """Here reset(seed=) gives the pool that this seed makes; EnvPool ignores it."""
    with make("Pong-v5", 1) as pool, make("Pong-v5", 9) as other:
        first = pool.reset()
        again = pool.reset(seed=9)
        for expected, got in zip(other.reset(), again, strict=True):
            np.testing.assert_array_equal(got, expected)
        assert not np.array_equal(first[0], again[0])


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[9, 4], [2**31 - 1, 2**31], [2**32 - 7, 0]])
def test_listed_and_wrapped_seeds(seeds: list[int]) -> None:
    """EnvPool's seeds are int32: it takes 2**31 for -2**31."""
    models = [EnvPoolAtari("pong", seed, repeat_action_probability=0.5) for seed in seeds]
    with make("Pong-v5", seeds, repeat_action_probability=0.5) as pool:
        check(pool, pool.reset(), [model.reset() for model in models])
        for t in range(20):
            outputs = [model.step(t % 6) for model in models]
            check(pool, pool.step([t % 6] * 2), outputs)


def test_snapshots_hold_everything() -> None:
    options = {"repeat_action_probability": 0.25, "episodic_life": True, "noop_max": 100}
    actions = np.random.default_rng(0).integers(0, 4, (260, NUM_ENVS))
    with make("Breakout-v5", **options) as pool, make("Breakout-v5", 5, **options) as other:
        pool.reset()
        for row in actions[:60]:
            pool.step(row)
        other.set_state(pool.get_state())
        for row in actions[60:]:
            for expected, got in zip(pool.step(row), other.step(row), strict=True):
                np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("task_id", GAMES)
def test_an_environment_stays_below_128_kb(task_id: str) -> None:
    with make(task_id) as pool:
        pool.reset()
        assert all(len(state) < 128 * 1024 for state in pool.get_state())


@pytest.mark.slow
@pytest.mark.parametrize("task_id", [*GAMES, "AirRaid-v5"])
def test_render_is_the_screen(task_id: str) -> None:
    """Even after a step whose last frame was not drawn, because the game ended within the step.

    Air Raid's frames have an odd number of lines, which on PAL are gray.
    """
    rng = np.random.default_rng(2)
    options = {"frame_skip": 7}
    game = TASKS[task_id].variant
    models = [EnvPoolAtari(game, 42 + i, **options) for i in range(NUM_ENVS)]
    overs = 0
    with make(task_id, **options) as pool:
        check(pool, pool.reset(), [model.reset() for model in models])
        for t in range(130):
            actions = rng.integers(0, pool.spec.action.n, NUM_ENVS)
            outputs = [m.step(int(a)) for m, a in zip(models, actions, strict=True)]
            # rendering must change nothing: the next step is compared too
            check(pool, pool.step(actions), outputs)
            if any(output.game_over for output in outputs) or t % 40 == 0:
                overs += any(output.game_over for output in outputs)
                screens = [model.ale.getScreenRGB() for model in models]
                np.testing.assert_array_equal(pool.render(), screens)
    assert overs > 0 or task_id != "Breakout-v5"


# ------------------------------------------------------------------------- wrong arguments --


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noop_max": 0}, "noop_max=0: choose 1 to"),
        ({"noop_max": -1}, "noop_max=-1: choose 1 to"),
        ({"stack_num": 0}, "stack_num=0: choose 1 to"),
        ({"frame_skip": -1}, "frame_skip=-1: choose 0 to"),
        ({"img_height": 0}, "img_height=0: choose 1 to"),
        ({"img_width": 4096}, "img_width=4096: choose 1 to"),
        ({"repeat_action_probability": 7.0}, "repeat_action_probability=7.0: choose 0 to 1"),
        ({"mode": 2}, "mode=2: choose -1, 0, 1$"),
        ({"difficulty": 4}, "difficulty=4: choose -1, 0, 1, 2, 3$"),
        ({"rom": b"\0" * 100}, "rom of pong has 100 bytes: choose one of 2048"),
        ({"rom": b""}, "rom of pong has 0 bytes: choose one of 2048"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make("Pong-v5", **options)


def test_wrong_sizes_of_a_rom_are_refused_with_the_right_ones() -> None:
    """Python requires a proof of each ROM whose size C accepts, and of no other."""
    below = [n for n in range(2**16) if (n in atari.SIZES) != (n + 1 in atari.SIZES)]
    for size in (0, 3072, 65536, *below, *(n + 1 for n in below)):
        expected = UnprovenError if size in atari.SIZES else ValueError
        with pytest.raises(expected, match=r"rom of pong has|this ROM of pong"):
            make("Pong-v5", rom=bytes(size))
        with atari_proofs.proving():
            if size in atari.SIZES:
                make("Pong-v5", rom=bytes(size)).close()
                continue
            with pytest.raises(ValueError, match=f"has {size} bytes: choose one of 2048, 4096"):
                make("Pong-v5", rom=bytes(size))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_another_rom_is_refused_whatever_holds_it(kind: Callable[[bytes], Any]) -> None:
    rom = atari.read_rom("pong")
    make("Pong-v5", rom=kind(rom)).close()
    flipped = bytes([rom[0] ^ 1]) + rom[1:]
    with pytest.raises(
        UnprovenError, match=r"this ROM of pong \(md5 .*: without rom, parallel_pool"
    ):
        make("Pong-v5", rom=kind(flipped))


def test_the_seed_that_means_the_clock() -> None:
    """That is -1, which arrives here as an unsigned word."""
    with (
        make("Pong-v5", [2**32 - 1, 3]) as pool,
        pytest.raises(EnvError, match=r"seed -1 .*: choose another") as failure,
    ):
        pool.reset()
    assert failure.value.env_ids == (0,)


def test_ale_py_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    atari.read_rom.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"pip install 'parallel_pool\[atari\]'"):
        make("Pong-v5")


def test_ale_py_lacks_the_rom() -> None:
    with pytest.raises(MissingDependencyError, match=r"no_such_game .*parallel_pool\[atari\]"):
        atari.read_rom("no_such_game")


def test_every_game_of_ale_py_has_its_id() -> None:
    """The words of EnvPool's ids and of ale-py's differ for one game."""
    gymnasium.register_envs(ale_py)
    known = {
        spec.id.removeprefix("ALE/"): spec.kwargs["game"]
        for spec in gymnasium.registry.values()
        if spec.id.startswith("ALE/")
    }
    known["TicTacToe3d-v5"] = known.pop("TicTacToe3D-v5")
    assert {id: definition.variant for id, definition in TASKS.items()} == known
    for name in known.values():
        path = roms.get_rom_path(name)
        assert path is not None
        assert atari.read_rom(name) == path.read_bytes()


def test_actions_are_the_games_own() -> None:
    assert [make(task_id).spec.action.n for task_id in GAMES] == [6, 4]
    assert len(ale_py.Action.__members__) == make("Pong-v5", full_action_space=True).spec.action.n
