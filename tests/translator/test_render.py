"""render, attributes and methods of translated classes: in Python, on copies of native states."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import cartpole

import parallel_pool
from parallel_pool._translator import layout, types
from parallel_pool.errors import PoolError, StateError
from tests.support import stand_in_moviepy
from tests.translator import pictures
from tests.translator.test_translated import CLASSES, REFUSED, stranger


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture(scope="module")
def shown() -> str:
    (task_id,) = parallel_pool.compile(pictures.Shown)
    return task_id


@pytest.fixture
def stepped(shown: str) -> Iterator[tuple[Any, Any]]:
    """Ours and Gymnasium's, after the same steps."""
    ours = parallel_pool.make_vec(shown, 3, render_mode="ansi")
    theirs = gymnasium.vector.SyncVectorEnv([lambda: pictures.Shown(render_mode="ansi")] * 3)
    for envs in (ours, theirs):
        envs.reset(seed=7)
        for action in (0, 1, 2):
            envs.step(np.full(3, action))
    yield ours, theirs
    ours.close()
    theirs.close()


def compare(cls: Any, task_id: str, mode: str, steps: int = 30, n: int = 2) -> None:
    """Draws both after the same steps, through resets."""
    ours = parallel_pool.make_vec(task_id, n, render_mode=mode, backend="native")
    theirs = gymnasium.vector.SyncVectorEnv([lambda: cls(render_mode=mode)] * n)
    theirs.action_space.seed(1)
    ours.reset(seed=5)
    theirs.reset(seed=5)
    for _ in range(steps):
        for one, other in zip(ours.render(), theirs.render(), strict=True):
            assert type(one) is type(other)
            assert np.array_equal(one, other), f"{one}\nand in Python\n{other}"
        actions = theirs.action_space.sample()
        ours.step(actions)
        theirs.step(actions)
    assert ours.metadata.get("render_fps") == cls.metadata.get("render_fps")
    ours.close()
    theirs.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_every_kind_of_attribute_is_what_it_is_in_python(mode: str, shown: str) -> None:
    compare(pictures.Shown, shown, mode)


@pytest.mark.slow
@pytest.mark.parametrize("module, name", [(m, n) for m, n, *_ in CLASSES if m not in REFUSED])
def test_pictures_of_a_stranger_are_those_of_its_class(module: str, name: str) -> None:
    cls = stranger(module, name)
    (task_id,) = parallel_pool.compile(cls)
    for mode in cls.metadata["render_modes"]:
        compare(cls, task_id, mode)


@pytest.mark.slow
def test_pictures_of_gymnasiums_class_are_its_own() -> None:
    pytest.importorskip("pygame")
    (task_id,) = parallel_pool.compile(cartpole.CartPoleEnv, "pictures/CartPole-v7")
    compare(cartpole.CartPoleEnv, task_id, "rgb_array", steps=40)


def test_steps_draw_nothing_and_pictures_change_nothing(stepped: tuple[Any, Any]) -> None:
    ours, theirs = stepped
    before = ours.pool.get_state()
    for _ in range(3):
        assert ours.render() == theirs.render()
    assert ours.pool.get_state() == before
    # only the attributes of a picture belong to the object that draws
    assert ours.get_attr("pictures") == (0, 0, 0)


# ------------------------------------------------------------------------------------ APIs --


def test_a_pool_draws_the_environments_that_are_named(shown: str) -> None:
    with parallel_pool.Pool(shown, 5, seed=3) as pool:
        pool.reset()
        with pytest.raises(ValueError, match="choose 'human' or 'ansi' or 'rgb_array'"):
            pool.render(mode="depth_array")
        texts = pool.render([4, 1], mode="ansi")
        one = pictures.Shown(render_mode="ansi")
        one.reset(seed=7)
        assert texts[0] == one.render() and texts[1] != texts[0]
        assert pool.render([0]).shape == (1, 20, 100, 3)


def test_every_api_returns_the_same_pictures(shown: str) -> None:
    from parallel_pool import PoolVecEnv

    expected = pictures.Shown(render_mode="rgb_array")
    expected.reset(seed=11)
    expected.step(1)
    picture = expected.render()
    single = gymnasium.make(f"parallel_pool/{shown}", render_mode="rgb_array")
    single.reset(seed=11)
    single.step(1)
    assert np.array_equal(single.render(), picture)
    single.close()
    vec_env = PoolVecEnv(shown, 2, render_mode="rgb_array")
    vec_env.seed(11)
    vec_env.reset()
    vec_env.step(np.array([1, 1]))
    assert np.array_equal(vec_env.get_images()[0], picture)
    assert vec_env.render().shape == (40, 100, 3)
    vec_env.close()
    pool = parallel_pool.make(shown, env_type="gymnasium", num_envs=2, seed=11, render_env_id=1)
    pool.reset()
    pool.step(np.array([1, 1]))
    assert np.array_equal(pool.render([0])[0], picture) and pool.render().shape == (1, 20, 100, 3)
    pool.close()
    lists = parallel_pool.make_vec(shown, 1, render_mode="rgb_array_list")
    lists.reset(seed=11)
    lists.step([1])
    ((_, last),) = lists.render()
    assert np.array_equal(last, picture)
    lists.close()


def test_a_recorder_takes_the_pictures(
    shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_moviepy.put_in(monkeypatch)
    envs = parallel_pool.make_vec(shown, 2, render_mode="rgb_array")
    recorded = gymnasium.wrappers.vector.RecordVideo(
        envs, str(tmp_path), episode_trigger=lambda episode: True
    )
    recorded.reset(seed=0)
    for _ in range(12):
        recorded.step(np.zeros(2, int))
    recorded.close()
    videos = stand_in_moviepy.videos(tmp_path)
    # two pictures of (20, 100, 3), side by side
    assert videos and all(each.shape[1:] == (20, 200, 3) for each in videos.values())


@pytest.mark.slow
def test_each_environment_is_drawn_with_its_own_options(shown: str) -> None:
    (task_id,) = parallel_pool.compile(cartpole.CartPoleEnv, "pictures/CartPole-v8")
    bonus = parallel_pool.each([True, False])
    with parallel_pool.Pool(task_id, 2, options={"sutton_barto_reward": bonus}) as pool:
        pool.reset()
        assert pool.render().shape == (2, 400, 600, 3)
    envs = parallel_pool.make_vec(task_id, 2, sutton_barto_reward=bonus)
    assert envs.get_attr("_sutton_barto_reward") == (True, False)
    envs.close()


def test_a_window_shows_every_step(shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, closed = [], []
    monkeypatch.setattr(pictures.Shown, "render", lambda self: counts.append(self.count))
    monkeypatch.setattr(pictures.Shown, "close", lambda self: closed.append(True))
    envs = parallel_pool.make_vec(shown, 1, render_mode="human")
    envs.reset(seed=0)
    envs.step([0])
    envs.step([0])
    assert counts == [0, 1, 2] and not closed
    envs.close()
    assert closed == [True]


# ---------------------------------------------------------------------------------- errors --


@pytest.mark.slow
def test_an_error_of_render_names_it_and_the_pool_goes_on() -> None:
    (task_id,) = parallel_pool.compile(pictures.Failing)
    envs = parallel_pool.make_vec(task_id, 2, render_mode="rgb_array")
    envs.reset(seed=0)
    for _ in range(3):
        envs.render()
        envs.step([0, 0])
    text = (
        r"environment 0 can't be drawn: Failing\.render\(\) failed: KeyError: 'no brush' \(.*pictu"
    )
    with pytest.raises(PoolError, match=text) as found:
        envs.render()
    assert isinstance(found.value.__cause__, KeyError)
    envs.step([0, 0])
    with pytest.raises(PoolError, match=r"returned None with render_mode='rgb_array'"):
        envs.render()
    envs.step([0, 0])
    assert envs.render()[1].shape == (20, 100, 3)
    envs.close()


def test_what_has_no_pictures_says_so(shown: str) -> None:
    (silent,) = parallel_pool.compile(pictures.Silent)
    with pytest.raises(ValueError, match="render_mode='rgb_array'"):
        parallel_pool.make_vec(silent, 1, render_mode="rgb_array")
    with parallel_pool.Pool(silent, 1) as pool:
        pool.reset()
        with pytest.raises(StateError, match="write a method render of Silent, and metadata"):
            pool.render()
    with pytest.raises(ValueError, match="'human' or 'ansi' or 'rgb_array'"):
        parallel_pool.make_vec(shown, 1, render_mode="depth_array")
    with parallel_pool.Pool(shown, 1) as pool, pytest.raises(StateError, match="not reset"):
        pool.render()


@pytest.mark.slow
def test_another_process_draws(tmp_path: Path) -> None:
    """It knows the library alone, as a worker process does."""
    path = tmp_path / "drawn.py"
    path.write_text(Path(pictures.__file__).read_text())
    program = (
        "import sys, pickle, parallel_pool\n"
        "from parallel_pool._engine import registry\n"
        "ids = parallel_pool.load_source(sys.argv[1]) if sys.argv[1:] else []\n"
        "if ids:\n"
        "    sys.stdout.buffer.write(pickle.dumps(registry.origins()))\n"
        "else:\n"
        "    registry.remember(pickle.load(sys.stdin.buffer))\n"
        "    with parallel_pool.Pool('Failing-v0', 1, seed=4) as pool:\n"
        "        pool.reset()\n"
        "        pool.step([1])\n"
        "        print(pool.render(mode='ansi')[0])\n"
    )
    run = [sys.executable, "-c", program]
    origins = subprocess.run([*run, str(path)], capture_output=True, check=True).stdout
    printed = subprocess.run(run, capture_output=True, check=True, input=origins).stdout.decode()
    env = pictures.Shown(render_mode="ansi")
    env.reset(seed=4)
    env.step(1)
    assert printed.strip() == env.render()


def test_a_layout_that_differs_from_c_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = layout.struct
    monkeypatch.setattr(layout, "struct", lambda members: plain([*members, ("more", "i4", None)]))
    with pytest.raises(parallel_pool.SourceError, match=r"self\.grid"):
        parallel_pool.compile(pictures.Shown, "pictures/Unlike-v0")


@pytest.mark.slow
def test_a_kind_of_attribute_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = layout.form

    def form(of: Any, name: Any) -> layout.Form:
        return ["unknown", str(of)] if isinstance(of, types.Member) else plain(of, name)

    monkeypatch.setattr(layout, "form", form)
    (task_id,) = parallel_pool.compile(pictures.Shown, "pictures/Unknown-v0")
    envs = parallel_pool.make_vec(task_id, 1, render_mode="ansi")
    envs.reset(seed=0)
    envs.step([0])
    assert envs.get_attr("size") == (4,)
    for call in (envs.render, lambda: envs.get_attr("count")):
        with pytest.raises(
            ValueError, match=r"self\.gear is a member of Gear, which can't be read"
        ):
            call()
    envs.close()


# ------------------------------------------------------------------------------ attributes --

NAMES = ["count", "ratio", "position", "stock", "visits", "gear", "recent", "doubled", "size"]


@pytest.mark.parametrize("name", NAMES)
def test_an_attribute_is_read_as_in_python(name: str, stepped: tuple[Any, Any]) -> None:
    ours, theirs = stepped
    assert ours.get_attr(name) == theirs.get_attr(name)
    assert ours.call(name) == theirs.call(name)


def test_arrays_and_generators_are_copies(stepped: tuple[Any, Any]) -> None:
    ours, theirs = stepped
    one, other = ours.get_attr("grid")[0], theirs.get_attr("grid")[0]
    assert np.array_equal(one, other) and one.dtype == other.dtype
    assert one.flags.owndata and ours.get_attr("unwrapped")[0].grid.flags.owndata
    one += 1
    assert np.array_equal(ours.get_attr("grid")[0], other)
    ours.get_attr("painter")[0].append("changed")
    assert ours.get_attr("painter")[0] == ["made by __init__"]
    rng = ours.get_attr("np_random")[2]
    assert rng.random() == theirs.get_attr("np_random")[2].random()


def test_methods_are_called_on_copies(stepped: tuple[Any, Any]) -> None:
    ours, theirs = stepped
    assert ours.call("steps_to", 9, more=1) == theirs.call("steps_to", 9, more=1) == (7, 7, 7)
    with pytest.raises(AttributeError, match=r"advance\(\) changes self\.count, and it is"):
        ours.call("advance")
    assert ours.get_attr("count") == (3, 3, 3)
    with pytest.raises(AttributeError, match="fixed when they are made"):
        ours.set_attr("count", 5)
    with pytest.raises(AttributeError, match="wheel_count"):
        ours.get_attr("wheel_count")


def test_an_object_of_the_class_goes_on_in_python(stepped: tuple[Any, Any]) -> None:
    ours, theirs = stepped
    _, env, _ = ours.get_attr("unwrapped")
    assert isinstance(env, pictures.Shown)
    observation, reward, *_ = env.step(1)
    expected = theirs.step(np.ones(3, int))
    assert np.array_equal(observation, expected[0][1]) and reward == expected[1][1]
    assert ours.get_attr("count") == (3, 3, 3)


def test_attributes_before_the_first_reset(shown: str) -> None:
    envs = parallel_pool.make_vec(shown, 2)
    assert envs.get_attr("size") == (4, 4) and envs.get_attr("level") == (3, 3)
    with pytest.raises(StateError, match="not reset"):
        envs.get_attr("count")
    envs.close()


def test_stable_baselines3_reads_attributes(shown: str) -> None:
    from parallel_pool import PoolVecEnv

    envs = PoolVecEnv(shown, 3)
    envs.reset()
    envs.step(np.zeros(3, int))
    assert envs.get_attr("count") == [1, 1, 1] and envs.get_attr("doubled", [2]) == [2]
    assert envs.env_method("steps_to", 5, indices=[0]) == [4]
    with pytest.raises(AttributeError, match="steps_to is a method: call it"):
        envs.get_attr("steps_to")
    with pytest.raises(AttributeError, match=r"changes self\.count"):
        envs.env_method("advance")
    envs.close()
