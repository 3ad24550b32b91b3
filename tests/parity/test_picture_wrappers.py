"""Gymnasium's wrappers of pictures are done in C, for every family that shows pictures."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import (
    AtariPreprocessing,
    FrameStackObservation,
    GrayscaleObservation,
    RecordEpisodeStatistics,
    ResizeObservation,
    TimeLimit,
)
from minigrid.wrappers import ImgObsWrapper, RGBImgObsWrapper, RGBImgPartialObsWrapper

import parallel_pool
from parallel_pool._apis.common import ale_ids
from parallel_pool._apis.gymnasium import backends, picture_wrappers
from parallel_pool._engine import registry
from parallel_pool._engine.picture_plan import Gray, PicturePlan, Resize
from parallel_pool._engine.pool import Pool
from parallel_pool._families import procgen
from parallel_pool.errors import MissingDependencyError
from tests.support.fusion_cases import MODES
from tests.support.pairs import pair
from tests.support.partial_resets import check_partial_resets
from tests.support.same import assert_same

pytestmark = pytest.mark.proven("csrc/envs")

GRAY = GrayscaleObservation
AXIS = partial(GrayscaleObservation, keep_dim=True)
STACK = partial(FrameStackObservation, stack_size=4)
ZEROS = partial(FrameStackObservation, stack_size=3, padding_type="zero")


def resize(height: int, width: int) -> Any:
    return partial(ResizeObservation, shape=(height, width))


CHAINS: dict[str, list[Any]] = {
    "gray": [GRAY],
    "gray with its axis": [AXIS],
    "smaller": [resize(84, 84)],
    "larger": [resize(100, 130)],
    "half": [resize(48, 48)],
    "as people write it": [GRAY, resize(84, 84), STACK],
    "the other order": [resize(84, 84), GRAY, ZEROS],
    "axis": [AXIS, resize(20, 64), STACK],
    "twice": [resize(64, 60), resize(32, 32), AXIS, resize(32, 32)],
    "colors": [resize(40, 50), ZEROS],
    "stack": [STACK],
    "stack of one": [partial(FrameStackObservation, stack_size=1)],
    "among others": [GRAY, partial(TimeLimit, max_episode_steps=5), RecordEpisodeStatistics, STACK],
}
PARTIAL = [partial(RGBImgPartialObsWrapper, tile_size=8), ImgObsWrapper]
WHOLE = [partial(RGBImgObsWrapper, tile_size=12), ImgObsWrapper]
# the id, the wrappers inside, and the options
FAMILIES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "CarRacing": ("CarRacing-v3", [], {"max_episode_steps": 7}),
    "MiniGrid": ("MiniGrid-DoorKey-5x5-v0", PARTIAL, {"max_steps": 6}),
    "the whole grid": ("MiniGrid-DistShift1-v0", WHOLE, {"max_steps": 5}),
    "cells": ("MiniGrid-Empty-5x5-v0", [ImgObsWrapper], {"max_steps": 4}),
    "Atari": ("ALE/Pong-v5", [], {"max_episode_steps": 9}),
}


@pytest.mark.quick(3, sanitizers=15)
@pytest.mark.parametrize(
    "family",
    # where whole grids are drawn, a case takes seconds
    [
        pytest.param(family, marks=pytest.mark.sanitizers) if family == "the whole grid" else family
        for family in FAMILIES
    ],
)
@pytest.mark.parametrize("name", CHAINS)
def test_run_is_the_same(name: str, family: str) -> None:
    number = list(CHAINS).index(name) + list(FAMILIES).index(family)
    check(family, CHAINS[name], MODES[number % len(MODES)])


def check(family: str, chain: list[Any], mode: AutoresetMode, num_envs: int = 2) -> None:
    """Compares the steps, ends and partial resets of both."""
    id, inside, options = FAMILIES[family]
    if id.startswith("ALE/"):
        ale_ids.register(id)
    vector_kwargs = {"autoreset_mode": mode}
    wrappers = [*inside, *chain]
    with pair(id, num_envs, wrappers=wrappers, vector_kwargs=vector_kwargs, **options) as both:
        theirs, ours = both
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.observation_space == theirs.observation_space
        assert_same(ours.reset(seed=3), theirs.reset(seed=3), "reset")
        theirs.action_space.seed(4)
        rng, ends = np.random.default_rng(5), 0
        for step in range(24):
            actions = theirs.action_space.sample()
            expected: Any = theirs.step(actions)
            actual: Any = ours.step(actions)
            for infos in (expected[4], actual[4]):
                without_times(infos)
            assert_same(actual, expected, f"step {step}")
            ended = expected[2] | expected[3]
            ends += int(ended.sum())
            mask = ended if mode is AutoresetMode.DISABLED else np.zeros(num_envs, np.bool_)
            mask = mask | (rng.random(num_envs) < 0.1)
            if mask.any():
                again = theirs.reset(options={"reset_mask": mask.copy()})
                assert_same(ours.reset(options={"reset_mask": mask}), again, f"reset at {step}")
    assert ends


def without_times(infos: dict[str, Any]) -> None:
    """Removes the seconds of episodes."""
    where = infos.get("final_info", infos)
    if "episode" in where:
        for name in ("t", "_t"):
            where["episode"].pop(name)


def test_partial_resets_are_the_same() -> None:
    id, inside, options = FAMILIES["MiniGrid"]
    with pair(id, 3, wrappers=[*inside, GRAY, STACK], **options) as (theirs, ours):
        check_partial_resets(theirs, ours, 14, lambda step: ({}, {}), shape=())


# ------------------------------------------------------------------------------------- pixels --


@pytest.mark.quick(2, sanitizers=True)
@pytest.mark.parametrize("part", range(8))
def test_every_color_has_the_same_gray(part: int) -> None:
    """All 2^24 of them, as NumPy rounds them."""
    values = np.arange(256, dtype=np.uint8)
    gray = PicturePlan((Gray(),))
    for red in range(32 * part, 32 * part + 32):
        picture = np.empty((256, 256, 3), np.uint8)
        picture[..., 0], picture[..., 1], picture[..., 2] = red, values[:, None], values
        weighed = np.multiply(picture, np.array([0.2125, 0.7154, 0.0721]))
        np.testing.assert_array_equal(
            gray.convert(picture), np.sum(weighed, axis=-1).astype(np.uint8)
        )


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(8))
def test_every_size_is_opencvs(seed: int) -> None:
    """Smaller, larger, and by whole factors, with one color and with three."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        height, width = (int(each) for each in rng.integers(1, 257, 2))
        to_height, to_width = (int(each) for each in rng.integers(1, 260, 2))
        if rng.random() < 0.3:
            to_height, to_width = max(1, height // 2), max(1, width // 3)
        if rng.random() < 0.3:
            height, width = 2 * to_height, int(rng.integers(1, 5)) * to_width
            height, width = min(height, 256), min(width, 256)
        for colors in ((), (1,), (3,)):
            picture = rng.integers(0, 256, (height, width, *colors), np.uint8)
            expected = cv2.resize(picture, (to_width, to_height), interpolation=cv2.INTER_AREA)
            actual = PicturePlan((Resize(to_height, to_width),)).convert(picture)
            assert actual.shape == (to_height, to_width, *colors)
            np.testing.assert_array_equal(
                actual.reshape(expected.shape),
                expected,
                f"{height} x {width} {colors} to {to_height} x {to_width}",
            )


# ---------------------------------------------------------------------------------- snapshots --


@pytest.mark.parametrize(
    "plan",
    [
        PicturePlan((Gray(), Resize(20, 20)), stack=3),
        PicturePlan((Resize(20, 30),)),
        PicturePlan(stack=2, pads_zero=True),
    ],
    ids=str,
)
def test_a_snapshot_holds_the_frames(plan: PicturePlan) -> None:
    options = {"image": "rgb_partial", "layout": "image"}
    id = "MiniGrid-FourRooms-v0"
    rng = np.random.default_rng(1)
    with (
        Pool(id, 2, seed=1, options=options, pictures=plan) as first,
        Pool(id, 2, seed=9, options=options, pictures=plan) as other,
    ):
        for pool, steps in ((first, 5), (other, 2)):
            pool.reset()
            for _ in range(steps):
                row = pool.step(rng.integers(0, 3, 2))
            np.testing.assert_array_equal(pool.observe().obs, row.obs)
        other.set_state(first.get_state())
        np.testing.assert_array_equal(other.observe().obs, first.observe().obs)
        assert other.get_state() == first.get_state()
        for _ in range(6):
            action = rng.integers(0, 3, 2)
            np.testing.assert_array_equal(other.step(action).obs, first.step(action).obs)
        with (
            Pool(id, 2, options=options, pictures=PicturePlan(plan.stages, 5)) as unlike,
            pytest.raises(ValueError, match="another environment or of other options"),
        ):
            unlike.set_state(first.get_state())


@pytest.mark.parametrize("num_threads", [2, 3])
def test_threads_change_no_frame(num_threads: int) -> None:
    plan = PicturePlan((Gray(), Resize(30, 30)), stack=4)
    options = {"image": "rgb_partial", "layout": "image"}
    rng = np.random.default_rng(5)
    actions = rng.integers(0, 3, (20, 9))
    found = []
    for threads in (1, num_threads):
        with Pool(
            "MiniGrid-FourRooms-v0", 9, num_threads=threads, seed=9, options=options, pictures=plan
        ) as pool:
            pool.reset()
            found.append(b"".join(pool.step(action).obs.tobytes() for action in actions))
    assert found[0] == found[1]


# ------------------------------------------------------------------------------------ Procgen --


@pytest.mark.quick(0, sanitizers=1)
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
def test_procgens_pictures_are_those_of_its_single_environments(mode: AutoresetMode) -> None:
    """Gymnasium has no Procgen: its wrappers stand around our single environments."""
    try:
        procgen.link()
    except MissingDependencyError:
        pytest.skip("procgen-mirror is not installed")
    id, chain = "procgen-coinrun-v0", [GRAY, resize(42, 42), STACK]

    def make() -> Any:
        made = gymnasium.make(f"parallel_pool/{id}", max_episode_steps=9)
        for wrapper in chain:
            made = wrapper(made)
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = SyncVectorEnv([make] * 2, autoreset_mode=mode)
        ours = parallel_pool.make_vec(
            id, 2, wrappers=chain, autoreset_mode=mode, max_episode_steps=9
        )
    assert ours.single_observation_space == theirs.single_observation_space
    assert_same(ours.reset(seed=3)[0], theirs.reset(seed=3)[0], "reset")
    for step in range(30):
        actions = theirs.action_space.sample()
        expected: Any = theirs.step(actions)
        assert_same(ours.step(actions)[:4], expected[:4], f"step {step}")
    ours.close(), theirs.close()


# ------------------------------------------------------------------ environments of one's own --

OWN = r"""
#include "pp_env.h"
static const pp_field fields[] = {
    {.name = "obs", .dtype = PP_UINT8, .ndim = 2, .shape = {6, 4}, .low = 0, .high = 255},
    {.name = "steps", .is_info = true, .when = PP_ALWAYS, .dtype = PP_INT64},
};
static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  *(int64_t *)env->state = 0;
  return PP_OK;
}
static int step(pp_env *env, const void *action, pp_result *result) {
  (void)action, (void)result;
  ++*(int64_t *)env->state;
  return PP_OK;
}
static int observe(pp_env *env, void *const *rows, bool is_reset) {
  const int64_t steps = *(int64_t *)env->state;
  (void)is_reset;
  for (int i = 0; rows[0] && i < 24; i++) ((uint8_t *)rows[0])[i] = (uint8_t)(steps + i);
  if (rows[1]) *(int64_t *)rows[1] = steps;
  return PP_OK;
}
const pp_env_def pp_env_shower = {
    .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "mine/Shower-v0",
    .state_size = sizeof(int64_t), .num_fields = 2, .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = reset, .step = step, .observe = observe,
};
"""


def test_pictures_of_ones_own_are_stacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = dict(gymnasium.registry)
    (tmp_path / "shower.c").write_text(OWN)
    (id,) = parallel_pool.load_source(tmp_path / "shower.c")
    envs = parallel_pool.make_vec(id, 2, wrappers=[ZEROS], max_episode_steps=2)
    first = np.arange(24, dtype=np.uint8).reshape(6, 4)
    assert envs.reset()[0][1].tolist() == [
        (0 * first).tolist(),
        (0 * first).tolist(),
        first.tolist(),
    ]
    for row in ([0 * first, first, first + 1], [first, first + 1, first + 2]):
        observations, *_, infos = envs.step([0, 1])
        np.testing.assert_array_equal(observations, [row, row])
    assert infos["steps"].tolist() == [2, 2]
    envs.close()
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


# ------------------------------------------------------------------------------------ refusals --


@pytest.mark.parametrize(
    ("id", "wrappers", "why"),
    [
        ("CartPole-v1", [GRAY], "the observation is no picture"),
        ("CarRacing-v3", [GRAY, GRAY], "gray is made of red, green and blue, and a pixel has 1"),
        ("MiniGrid-Empty-5x5-v0", [RGBImgPartialObsWrapper, GRAY], "the observation is no picture"),
        ("MiniGrid-Empty-5x5-v0", [GRAY, ImgObsWrapper], "can't be native in this order"),
        ("CarRacing-v3", [STACK, GRAY], "FrameStackObservation can, as the outermost"),
        ("CarRacing-v3", [STACK, STACK], "FrameStackObservation can, as the outermost"),
        ("CarRacing-v3", [resize(9, 9)] * 5, "they are more than 4"),
        ("CarRacing-v3", [resize(2049, 9)], "needs a tuple of two ints of 1 to 2048"),
        ("CarRacing-v3", [partial(ResizeObservation, shape=84)], "needs a tuple of two ints"),
        ("CarRacing-v3", [partial(GRAY, keep_dim=1)], "needs a bool"),
        ("CarRacing-v3", [partial(STACK, padding_type="last")], "has a padding type other than"),
        ("CarRacing-v3", [AtariPreprocessing, resize(9, 9)], "only AtariPreprocessing can"),
        # minigrid draws all tiles of this size first, for ten seconds
        pytest.param(
            "MiniGrid-FourRooms-v0",
            [partial(RGBImgObsWrapper, tile_size=32), ImgObsWrapper, resize(84, 84)],
            "608 x 608 pixels can't be resized to 84 x 84",
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value),
)
def test_other_wrappers_run_in_processes(id: str, wrappers: list[Any], why: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = backends.choose(id, wrappers)
    assert chosen.backend == backends.PROCESS
    assert why in chosen.reason


def test_another_opencv_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels are compared with the installed OpenCV before C replaces it."""
    real = cv2.resize
    monkeypatch.setattr(cv2, "resize", lambda *args, **more: real(*args, **more) ^ 1)
    picture_wrappers.why_unproven.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = backends.choose("CarRacing-v3", [resize(50, 50)])
    picture_wrappers.why_unproven.cache_clear()
    assert chosen.backend == backends.PROCESS
    assert "pictures of 96 x 96 x 3 have other pixels with the installed gymnasium" in chosen.reason
