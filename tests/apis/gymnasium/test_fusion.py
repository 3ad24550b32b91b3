"""Which of Gymnasium's wrappers native environments replace: exactly known ones, and no others."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import WrapperSpec
from gymnasium.wrappers import (
    AtariPreprocessing,
    ClipReward,
    FrameStackObservation,
    GrayscaleObservation,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    ResizeObservation,
    TimeAwareObservation,
    TimeLimit,
    TransformReward,
)

import parallel_pool
from parallel_pool._apis.gymnasium import fusion
from parallel_pool._apis.gymnasium.fusion import Chain, Limit, Refusal, Statistics, recognise
from parallel_pool._engine import registry
from parallel_pool._engine.picture_plan import MAX_FRAMES, Gray, PicturePlan, Resize
from tests.support.fusion_cases import SPEC, MyPartial, MyTimeLimit, spec_with, twice


def test_chain_is_recognised() -> None:
    spec = spec_with(
        TimeLimit.wrapper_spec(max_episode_steps=9),
        WrapperSpec("any name", "gymnasium.wrappers:ClipReward", {"max_reward": 1}),
        PassiveEnvChecker.wrapper_spec(),
    )
    outer = [
        RecordEpisodeStatistics,
        OrderEnforcing,
        partial(partial(TransformReward), func=partial(np.clip, a_min=0, a_max=np.float32(0.5))),
        partial(TimeLimit, max_episode_steps=5),
        partial(RecordEpisodeStatistics, stats_key="outer", buffer_length=None),
    ]
    chain = recognise(outer, spec)
    assert isinstance(chain, Chain)
    assert chain.names == (
        *("TimeLimit", "ClipReward", "PassiveEnvChecker", "RecordEpisodeStatistics"),
        *("OrderEnforcing", "TransformReward", "TimeLimit", "RecordEpisodeStatistics"),
    )
    limit, clip, inner, transform, outer_limit, last = chain.layers
    assert (limit, outer_limit) == (Limit(9), Limit(5))
    assert (inner, last) == (Statistics("episode", 100), Statistics("outer", None))
    rewards = np.array([-3.0, 0.75, 3.0])
    assert clip.clip(rewards).tolist() == [-3, 0.75, 1]  # type: ignore[union-attr]
    assert transform.clip(rewards).tolist() == [0, 0.5, 0.5]  # type: ignore[union-attr]
    assert [chain.limit(own) for own in (None, 0, 3, 7)] == [5, 5, 3, 5]
    assert recognise(None, SPEC) == recognise((), SPEC) == Chain()
    assert Chain().limit(None) is None


REFUSED: dict[str, tuple[Any, str]] = {
    "another": (TimeAwareObservation, "TimeAwareObservation is not one of the wrappers"),
    "subclass": (MyTimeLimit, "MyTimeLimit is not one of the wrappers"),
    "lambda": (lambda env: TimeLimit(env, 5), "lambda.* could do anything"),
    "partial of a lambda": (partial(lambda env: TimeLimit(env, 5)), "lambda.* could do anything"),
    "subclass of partial": (MyPartial(TimeLimit, max_episode_steps=5), "could do anything"),
    "by position": (partial(ClipReward, -1, 1), "by position"),
    "generic": (ClipReward[Any, Any], "could do anything"),
    "number": (3, "3 is a function that could do anything"),
    "vector wrapper": (gymnasium.wrappers.vector.ClipReward, "ClipReward is not one of"),
    # arguments
    "no limit": (TimeLimit, "TimeLimit: missing .*max_episode_steps"),
    "limit 0": (partial(TimeLimit, max_episode_steps=0), "max_episode_steps=0"),
    "limit 5.0": (partial(TimeLimit, max_episode_steps=5.0), "max_episode_steps=5.0"),
    "limit of NumPy": (partial(TimeLimit, max_episode_steps=np.int64(5)), "max_episode_steps"),
    "long limit": (partial(TimeLimit, max_episode_steps=2**31), "max_episode_steps=2147483648"),
    "unknown": (partial(OrderEnforcing, disable=True), "OrderEnforcing: .*'disable'"),
    "the environment": (partial(PassiveEnvChecker, env=1), "PassiveEnvChecker: .*'env'"),
    "key": (partial(RecordEpisodeStatistics, stats_key=1), "stats_key=1"),
    "mask": (partial(RecordEpisodeStatistics, stats_key="_episode"), "stats_key='_episode'"),
    "final": (partial(RecordEpisodeStatistics, stats_key="final_info"), "stats_key='final_info'"),
    "length": (partial(RecordEpisodeStatistics, buffer_length=-1), "buffer_length=-1"),
    # clips
    "no bound": (ClipReward, r"ClipReward\(None, None\) has no bound"),
    "wrong way": (partial(ClipReward, min_reward=1, max_reward=0), "wrong way round"),
    "nan": (partial(ClipReward, min_reward=np.nan), "nan is not a plain number"),
    "narrow nan": (
        partial(ClipReward, min_reward=np.float32(np.nan)),
        "nan.* is not a plain number",
    ),
    "array": (partial(ClipReward, min_reward=np.zeros(1)), "array.* is not a plain number"),
    "array without axes": (partial(ClipReward, min_reward=np.array(0.0)), "is not a plain number"),
    "bool": (partial(ClipReward, min_reward=True), "True is not a plain number"),
    "text": (partial(ClipReward, min_reward="0"), "'0' is not a plain number"),
    "long int": (partial(ClipReward, max_reward=2**60), "is not a plain number"),
    "longdouble": (partial(ClipReward, max_reward=np.longdouble(1)), "is not a plain number"),
    # transforms
    "function": (partial(TransformReward, func=twice), "twice.* could do anything"),
    "np.clip alone": (partial(TransformReward, func=np.clip), "could do anything"),
    "bounds by position": (
        partial(TransformReward, func=partial(np.clip, -1, 1)),
        "could do anything",
    ),
    "half a clip": (
        partial(TransformReward, func=partial(np.clip, a_min=0)),
        "TransformReward.*a_max",
    ),
    "clip into an array": (
        partial(TransformReward, func=partial(np.clip, a_min=0, a_max=1, out=np.zeros(()))),
        "does more than clip",
    ),
    "clip to an array": (
        partial(TransformReward, func=partial(np.clip, a_min=0, a_max=np.ones(2))),
        "is not a plain number",
    ),
    # pictures
    "stack": (partial(FrameStackObservation, stack_size=4, padding_type=0), "padding type"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_exactly_known_is_refused(name: str) -> None:
    wrapper, reason = REFUSED[name]
    refusal = recognise([RecordEpisodeStatistics, wrapper], SPEC)
    assert isinstance(refusal, Refusal)
    with pytest.raises(ValueError, match=reason):
        raise ValueError(refusal.reason)


@pytest.mark.parametrize(
    ("added", "reason"),
    [
        (WrapperSpec("TimeLimit", "mine:TimeLimit", {"max_episode_steps": 3}), "mine:TimeLimit"),
        (TimeAwareObservation.wrapper_spec(), "TimeAwareObservation .* is not one of the wrappers"),
        (WrapperSpec("OrderEnforcing", "gymnasium.wrappers:OrderEnforcing", None), "arguments"),
        (ClipReward.wrapper_spec(), "has no bound"),
        (TransformReward.wrapper_spec(func=twice), "could do anything"),
    ],
)
def test_unknown_wrapper_specs_are_refused(added: WrapperSpec, reason: str) -> None:
    refusal = recognise(None, spec_with(added))
    assert isinstance(refusal, Refusal)
    with pytest.raises(ValueError, match=reason):
        raise ValueError(refusal.reason)


def test_statistics_with_the_same_key_are_refused() -> None:
    refusal = recognise([RecordEpisodeStatistics] * 2, SPEC)
    assert isinstance(refusal, Refusal)
    assert "the same stats_key" in refusal.reason


def test_wrapper_with_other_parameters_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of Gymnasium may have such a wrapper."""

    def init(self: Any, env: Any, max_episode_steps: int, grace: int = 0) -> None: ...

    monkeypatch.setattr(TimeLimit, "__init__", init)
    refusal = recognise([partial(TimeLimit, max_episode_steps=3)], SPEC)
    assert isinstance(refusal, Refusal)
    assert "has other parameters than the one known here" in refusal.reason


PICTURES = partial(AtariPreprocessing, frame_skip=4)
STACK = partial(FrameStackObservation, stack_size=4)


def test_atari_wrappers_become_options() -> None:
    ends = [RecordEpisodeStatistics, partial(TimeLimit, max_episode_steps=5)]
    for wrappers in ([PICTURES, STACK, *ends], [OrderEnforcing, PICTURES, *ends, STACK]):
        chain = recognise(wrappers, SPEC)
        assert isinstance(chain, Chain)
        assert [type(layer) for layer in chain.layers] == [Statistics, Limit]
        assert chain.options == {
            "preprocessing": True,
            "noop_max": 30,
            "frame_skip": 4,
            "screen_width": 84,
            "screen_height": 84,
            "terminal_on_life_loss": False,
            "grayscale_obs": True,
            "grayscale_newaxis": False,
            "scale_obs": False,
            "stack_size": 4,
            "stack_padding_zero": False,
        }
    alone = recognise([partial(AtariPreprocessing, screen_size=(60, 100))], SPEC)
    assert isinstance(alone, Chain)
    assert (alone.options["screen_width"], alone.options["screen_height"]) == (60, 100)
    assert "stack_size" not in alone.options


def test_limits_of_atari_wrappers_are_those_of_c() -> None:
    options = registry.find("ALE/Pong-v5").options
    assert options["screen_width"].high == options["screen_height"].high == fusion.MAX_PIXELS
    assert options["frame_skip"].high == options["noop_max"].high == fusion.MAX_FRAMES
    assert options["stack_size"].high == MAX_FRAMES


@pytest.mark.parametrize(
    ("wrappers", "reason"),
    [
        ([STACK, PICTURES], "FrameStackObservation and AtariPreprocessing can't be native"),
        ([PICTURES, STACK, STACK], "the innermost"),
        ([PICTURES, PICTURES], "the innermost"),
        ([RecordEpisodeStatistics, PICTURES], "the innermost"),
        ([partial(TimeLimit, max_episode_steps=9), PICTURES], "the innermost"),
        ([partial(AtariPreprocessing, frame_skip=0)], "frame_skip=0.* can.t be native"),
        ([partial(AtariPreprocessing, noop_max=-1)], "noop_max=-1.* can.t be native"),
        ([partial(AtariPreprocessing, noop_max=True)], "noop_max=True.* can.t be native"),
        ([partial(AtariPreprocessing, scale_obs=1)], "scale_obs=1.* can.t be native"),
        ([partial(AtariPreprocessing, screen_size=(8, 8, 8))], r"\(8, 8, 8\).* can.t be native"),
        ([partial(AtariPreprocessing, screen_size=[8, 8])], r"\[8, 8\].* can.t be native"),
        ([partial(AtariPreprocessing, screen_size=2049)], "2049 is too large"),
        ([PICTURES, partial(FrameStackObservation, stack_size=65)], "not stack 1 to 64 frames"),
        ([PICTURES, partial(FrameStackObservation, stack_size=0)], "not stack 1 to 64 frames"),
        ([PICTURES, partial(STACK, padding_type="last")], "padding type other"),
        ([PICTURES, partial(STACK, padding_type=np.zeros((84, 84), np.uint8))], "padding type"),
    ],
)
def test_atari_wrappers_that_c_can_not_replace(wrappers: Any, reason: str) -> None:
    refusal = recognise(wrappers, SPEC)
    assert isinstance(refusal, Refusal)
    with pytest.raises(ValueError, match=reason):
        raise ValueError(refusal.reason)


def test_wrappers_of_pictures_become_a_plan() -> None:
    size = partial(ResizeObservation, shape=(84, np.int64(80)))
    ends = [RecordEpisodeStatistics, partial(TimeLimit, max_episode_steps=5)]
    spec = spec_with(GrayscaleObservation.wrapper_spec(keep_dim=True))
    chain = recognise([ends[0], size, ends[1], STACK], spec)
    assert isinstance(chain, Chain)
    assert [type(layer) for layer in chain.layers] == [Statistics, Limit]
    assert not chain.options
    assert chain.pictures == PicturePlan((Gray(True), Resize(84, 80)), 4)
    assert recognise([], SPEC).pictures is None  # type: ignore[union-attr]


@pytest.mark.parametrize("wrappers", [TimeLimit, 3, (each for each in [TimeLimit])])
def test_wrappers_that_are_no_sequence_are_refused(wrappers: Any) -> None:
    with pytest.raises(TypeError, match="give a sequence"):
        parallel_pool.make_vec("CartPole-v1", 2, wrappers=wrappers)


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, None), (-0.0, None), (None, 0.0), (None, -0.0), (-0.0, 0.0), (0, 0), (-1, 0.5)],
)
def test_arrays_are_clipped_as_numbers_are(low: Any, high: Any) -> None:
    """With and without vector instructions, including the sign of zero."""
    chain = recognise([partial(ClipReward, min_reward=low, max_reward=high)], SPEC)
    assert isinstance(chain, Chain)
    (layer,) = chain.layers
    values = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324]
    for size in range(1, 40):
        rewards = np.resize(values, size)
        each = [np.float64(np.clip(reward, low, high)) for reward in rewards.tolist()]
        clipped = layer.clip(rewards)  # type: ignore[union-attr]
        assert clipped.tobytes() == np.array(each).tobytes()
