"""Failures of MuJoCo tasks: diverging simulations, MuJoCo's errors, wrong files and options."""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

import parallel_pool
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._families import mujoco as family
from parallel_pool.errors import EnvError, MissingDependencyError
from tests.support.forked import in_child
from tests.support.same import assert_same
from tests.support.sampling import MUJOCO_TASKS, sampled

TASKS = [found for found in registry.builtin().values() if found.family == "mujoco"]
IDS = [task.id for task in TASKS]
REFERENCED = [task.id for task in TASKS if task.reference.startswith("gymnasium")]
LOG = "MUJOCO_LOG.TXT"
# reset_noise_scale is EnvPool's option there, not Gymnasium's
NO_NOISE = {"HumanoidStandup-v4", "InvertedPendulum-v4", "InvertedDoublePendulum-v4"}

Array = npt.NDArray[Any]

# a small model to which tests add bodies and other parts
PLAIN = """
<mujoco>
  <worldbody>
    <body name="torso" pos="0 0 1"><freejoint/><geom size="0.1"/>{bodies}</body>
  </worldbody>
  {parts}
</mujoco>
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder of each test. In the end it must contain only the test's own models."""
    folder = tmp_path / "ours"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    assert [path.name for path in folder.iterdir() if path.suffix != ".xml"] == []


def actions_of(pool: Pool, steps: int, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    shape = (pool.num_envs, *pool.spec.action.shape)
    return [rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(steps)]


def model(folder: Path, name: str, *parts: str) -> str:
    """Writes a copy of one of Gymnasium's models with these parts added; returns its path."""
    path = folder / f"changed_{name}"
    text = (family.assets() / name).read_text()
    path.write_text(text.replace("</mujoco>", f"{''.join(parts)}</mujoco>"))
    return str(path)


# ----------------------------------------------------------------------------------- divergence --


def diverging(space: gymnasium.spaces.Box, num_envs: int) -> list[Array]:
    """Returns the actions of 60 steps, some of them huge."""
    space.seed(3)
    actions = [np.stack([space.sample() for _ in range(num_envs)]) for _ in range(60)]
    for step, env_id, value in (
        *((4, 0, 3e4), (5, 0, 1e10), (9, 1, 1e30), (9, 2, -3e38), (14, 0, 1e8), (15, 0, 1e8)),
        *((21, 1, 1e15), (22, 1, -1e15), (30, 2, 1e5), (31, 0, -1e38)),
    ):
        actions[step][env_id] = value
    # one joint alone
    actions[40][:, 0] = 1e12
    return actions


def play(env: str, mode: str, **options: Any) -> list[Any]:
    """Returns the results of environments while huge actions make them diverge."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        envs = gymnasium.make_vec(env, 3, vectorization_mode=mode, max_episode_steps=25, **options)
        try:
            results: list[Any] = [envs.reset(seed=7)]
            return results + [envs.step(each) for each in diverging(envs.single_action_space, 3)]
        finally:
            envs.close()


@pytest.mark.quick(0)
@pytest.mark.parametrize("how", ["actions", "initial states"])
@pytest.mark.parametrize("env", sampled(REFERENCED, MUJOCO_TASKS))
def test_a_simulation_that_diverges_equals_gymnasiums(
    env: str, how: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cause is actions that the model does not clip, or huge initial positions."""
    own, options = registry.find(env).options, {}
    if how == "actions" and env.endswith("v5"):
        default = str(own["xml_file"].default)
        text = (family.assets() / default).read_text()
        unlimited = text.replace('ctrllimited="true"', 'ctrllimited="false"')
        (folder / "unlimited.xml").write_text(unlimited)
        options = {"xml_file": str(folder / "unlimited.xml")}
    elif how == "initial states" and "reset_noise_scale" in own and env not in NO_NOISE:
        options = {"reset_noise_scale": 1e12}
    with monkeypatch.context() as context:
        context.chdir(folder.parent)
        theirs = play(env, "sync", **options)
    ours = play(env, "parallel_pool", **options)
    for step, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert_same(one, other, f"step {step}")
    if options and "Pendulum" not in env and "Reacher" not in env:
        # Gymnasium's simulation has diverged: MuJoCo has written its log into the working folder
        log = (folder.parent / LOG).read_text()
        assert "Nan, Inf or huge value" in log


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_actions_that_are_not_finite_are_refused(value: float) -> None:
    with Pool("Ant-v5", 2, seed=1) as pool, Pool("Ant-v5", 2, seed=1) as twin:
        for action in actions_of(pool, 5):
            wrong = action.copy()
            wrong[1, 3] = value
            with pytest.raises(ValueError, match="environment 1 is not finite"):
                pool.step(wrong)
            assert_same(pool.step(action), twin.step(action), "step")


# --------------------------------------------------------------------------------------- errors --


@pytest.mark.slow
@pytest.mark.parametrize("num_threads", [1, 3])
def test_a_mujoco_error_fails_the_environment(folder: Path, num_threads: int) -> None:
    """The model has too little memory for the contacts of an ant that stands."""
    path = model(folder, "ant.xml", '<size memory="10K"/>')
    options = {"xml_file": path, "terminate_when_unhealthy": False}
    count, steps = 6, 60
    actions = None
    alone: list[list[Any]] = []
    for env_id in range(count):
        with Pool("Ant-v5", 1, seed=env_id, num_threads=1, options=options) as pool:
            if actions is None:
                actions = actions_of(pool, steps * count)
            alone.append([stepped(pool, actions[i * count + env_id]) for i in range(steps)])
    failures = sum(row is None for rows in alone for row in rows)
    assert 3 <= failures <= steps * count / 2

    assert actions is not None
    with Pool("Ant-v5", count, seed=0, num_threads=num_threads, options=options) as pool:
        id_column = [column.name for column in pool.columns].index("env_id")
        for i in range(steps):
            expected = [rows[i] for rows in alone]
            failed = tuple(env_id for env_id, row in enumerate(expected) if row is None)
            action = np.concatenate(actions[i * count : (i + 1) * count])
            if failed:
                message = r"MuJoCo: mj_stackAlloc.*out of memory"
                with pytest.raises(EnvError, match=message) as caught:
                    pool.step(action)
                assert tuple(sorted(caught.value.env_ids)) == failed
                batch = caught.value.batch
            else:
                batch = pool.step(action)
            for env_id, row in enumerate(expected):
                if row is None:
                    continue
                ours = [array[env_id].tobytes() for k, array in enumerate(batch) if k != id_column]
                assert ours == [array[0].tobytes() for k, array in enumerate(row) if k != id_column]


def stepped(pool: Pool, action: Array) -> tuple[Array, ...] | None:
    """Steps the pool; returns the batch, or None if the environment failed."""
    try:
        return pool.step(action)
    except EnvError as error:
        assert error.env_ids == (0,)
        return None


# Marked slow also because runs with the address sanitizer skip slow tests. It does not return freed
# memory.
@pytest.mark.slow
def test_many_errors_leak_no_memory(folder: Path) -> None:
    """After an error, the workspace and all that MuJoCo allocated for it are freed."""
    path = model(folder, "ant.xml", '<size memory="10K"/>')
    options = {"xml_file": path, "terminate_when_unhealthy": False}
    with Pool("Ant-v5", 32, seed=0, num_threads=1, options=options) as pool:
        actions = actions_of(pool, 40)

        def count_failures() -> int:
            failed = 0
            for action in actions:
                try:
                    pool.step(action)
                except EnvError as error:
                    failed += len(error.env_ids)
            return failed

        assert count_failures() > 5
        count_failures()
        before = resident()
        failed = sum(count_failures() for _ in range(6))
        assert failed > 50
        # an mjData of this model is three times as large
        assert resident() - before < 20_000 * failed


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


# ---------------------------------------------------------------------------------------- files --


@pytest.mark.parametrize(
    ("xml_file", "error", "message"),
    [
        ("/nowhere/at/all.xml", OSError, "/nowhere/at/all.xml"),
        ("~no_user_of_this_name/ant.xml", OSError, "no_user"),
        ("./missing.xml", OSError, "missing.xml"),
        ("no_model_of_gymnasium.xml", OSError, "assets/no_model_of_gymnasium.xml"),
        ("/", OSError, "/"),
        ("", OSError, "does not exist: give a path that begins with"),
        (b"ant.xml", TypeError, "xml_file"),
        (None, TypeError, "xml_file"),
        (7, TypeError, "xml_file"),
    ],
)
def test_a_model_that_does_not_exist_is_refused(xml_file: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Pool("Ant-v5", 1, options={"xml_file": xml_file})
    with pytest.raises(error, match=message):
        gymnasium.make_vec("Ant-v5", 1, vectorization_mode="parallel_pool", xml_file=xml_file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.xml"),
        ("no xml at all", "mine.xml"),
        ("<mujoco>", "mine.xml"),
        ("<mujoco><worldbody><nothing/></worldbody></mujoco>", "nothing"),
        ("<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>", "mass"),
        (PLAIN.format(bodies="", parts='<size memory="1"/>'), "(?s)mj_stackAlloc"),
        (PLAIN.format(bodies="", parts=""), "nu=0.* nu >= 1"),
    ],
)
def test_a_wrong_model_is_refused(folder: Path, text: str, message: str) -> None:
    path = folder / "mine.xml"
    path.write_text(text)
    for _ in range(3):
        with pytest.raises(ValueError, match=message):
            Pool("Ant-v5", 1, options={"xml_file": str(path)})


def test_a_model_without_a_body_that_the_task_needs_is_refused(folder: Path) -> None:
    slide = '<body><joint name="slide"/><geom size="0.1"/></body>'
    motor = '<actuator><motor joint="slide"/></actuator>'
    path = folder / "mine.xml"
    path.write_text(PLAIN.format(bodies=slide, parts=motor).replace('"torso"', '"trunk"'))
    with pytest.raises(ValueError, match='the model has no body named "torso"'):
        Pool("Ant-v4", 1, options={"xml_file": str(path)})
    for body, message in (("torso", "no body of that name"), (3, "bodies 0 to 2"), (-1, "0 to")):
        with pytest.raises(ValueError, match=f"main_body=.*{message}"):
            Pool("Ant-v5", 1, options={"xml_file": str(path), "main_body": body})
    with Pool("Ant-v5", 1, options={"xml_file": str(path), "main_body": "trunk"}) as pool:
        assert pool.spec.options["main_body"] == 1
        pool.step(actions_of(pool, 1)[0])


# the first of its arrays that is not empty is another one than in models with joints
MOTIONLESS = """
<mujoco>
  <worldbody><body name="torso"><geom size="0.1"/><site name="here"/></body></worldbody>
  <actuator><general site="here"/></actuator>
</mujoco>
"""


def test_a_model_without_joints_is_refused_and_affects_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever model is the first of a process: with the first, offsets of fields are found."""
    path = folder / "mine.xml"
    path.write_text(MOTIONLESS)
    (action,) = actions_of(Pool("Ant-v5", 2), 1)
    with Pool("Ant-v5", 2, seed=1) as pool:
        pool.reset()
        expected = pool.step(action)
    monkeypatch.setattr(family, "found_offsets", {})
    for _ in range(2):
        with pytest.raises(ValueError, match="nq=0, nv=0, nu=1"):
            Pool("Ant-v5", 1, options={"xml_file": str(path)})
        with Pool("Ant-v5", 2, seed=1) as pool:
            pool.reset()
            assert_same(list(pool.step(action)), list(expected), "step")


def test_offsets_are_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search for the time takes longer than all else that a pool of a small model needs."""
    searched = []

    class Found(dict[str, int]):
        def __setitem__(self, name: str, offset: int) -> None:
            searched.append(name)
            super().__setitem__(name, offset)

    monkeypatch.setattr(family, "found_offsets", Found())
    for env in ("Ant-v5", "Ant-v5", "Ant-v4"):
        Pool(env, 1).close()
    assert "time" in searched and len(set(searched)) == len(searched)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"state_parts": 9}, "state_parts=9: choose 0 to 8"),
        ({"state_parts": -1}, "state_parts=-1: choose 0 to 8"),
        ({"part1_size": 14}, "43 numbers.* 44"),
    ],
)
def test_parts_of_a_state_with_a_wrong_size_are_refused(
    wrong: dict[str, int], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = family.find_state_parts
    monkeypatch.setattr(family, "find_state_parts", lambda *args: {**parts(*args), **wrong})
    with pytest.raises(ValueError, match=message):
        Pool("Ant-v5", 1)


def test_warnings_about_a_model_become_python_warnings(folder: Path) -> None:
    """Only warnings about a user's own model do: the user can't change Gymnasium's models."""

    def warn(text: str) -> None:
        message = ctypes.create_string_buffer(text.encode())
        family.library().mju_warning(message)

    with family.capture_warnings() as texts:
        warn("first")
        with family.capture_warnings() as inner:
            warn("second")
        warn("third")
        family.load(family.assets() / "ant.xml", False)
    assert texts[:2] == ["first", "third"] and inner == ["second"]

    path = Path(model(folder, "half_cheetah.xml", "<!-- mine -->"))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Pool("HalfCheetah-v5", 1).close()
        assert seen == []
        Pool("HalfCheetah-v5", 1, options={"xml_file": str(path)}).close()
    said = [str(warning.message) for warning in seen]
    # 4.0.0 warns that settotalmass is deprecated, 3.6.0 does not
    assert all(text.startswith(f"{path}: ") for text in said)
    assert len(said) == ("settotalmass' is deprecated" in "".join(said))


# -------------------------------------------------------------------------------------- options --

WRONG: dict[str, list[tuple[Any, type[Exception]]]] = {
    "bool": [(1, TypeError), ("yes", TypeError), (None, TypeError)],
    "int": [(1.5, TypeError), (True, TypeError), (None, TypeError), (-2, ValueError)],
    "float": [("1", TypeError), (None, TypeError), (True, TypeError), (math.nan, ValueError)],
    "str": [(b"x", TypeError), (3, TypeError)],
}


# the older ids have options of the newest, except for Ant's use_contact_forces
WITH_ALL_OPTIONS = [*(id for id in IDS if id.endswith("v5")), "Ant-v4"]


@pytest.mark.parametrize("env", sampled(WITH_ALL_OPTIONS, {"Reacher-v5"}))
def test_wrong_values_of_every_option_are_refused(env: str) -> None:
    for option in registry.find(env).options.values():
        if option.is_hidden:
            continue
        for value, error in WRONG[option.kind]:
            with pytest.raises(error, match=option.name):
                Pool(env, 1, options={option.name: value})
    for name in ("frame_skip", "frame_stack"):
        for number in (0, 10**9, 10**30):
            with pytest.raises(ValueError, match=name):
                Pool(env, 1, options={name: number})


@pytest.mark.parametrize("value", [1.0, (1,), (1, 2, 3), None, "ab", ("a", "b")])
def test_wrong_ranges_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="healthy_z"):
        Pool("Ant-v5", 1, options={"healthy_z_range": value})


def test_a_range_and_its_ends_are_one_option() -> None:
    options = {"healthy_z_range": (0.3, 0.8), "healthy_z_max": 1.0}
    with pytest.raises(TypeError, match="healthy_z_range and healthy_z_max are the same"):
        Pool("Ant-v5", 1, options=options)
    with pytest.raises(TypeError, match="healthy_angle_range"):
        Pool("Ant-v5", 1, options={"healthy_angle_range": (0.3, 0.8)})


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: Pool("Ant-v5", 1, options=options),
        lambda **options: parallel_pool.make_gymnasium("Ant-v5", **options),
        lambda **options: gymnasium.make_vec(
            "Ant-v5", 1, vectorization_mode="parallel_pool", **options
        ),
    ],
    ids=["pool", "envpool", "gymnasium"],
)
def test_an_unknown_option_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="nonsense") as caught:
        make(nonsense=1)
    assert "frame_skip" in str(caught.value)
    assert "_link" not in str(caught.value) and "digest" not in str(caught.value)
    # these hidden options contain addresses: wrong ones could crash the process
    for options in (
        {"_link": "model=1"},
        {"model_digest": b""},
        {"_link": "x", "model_digest": b""},
    ):
        with pytest.raises(TypeError, match=next(iter(options))):
            make(**options)


def test_options_of_one_pool_make_another(folder: Path) -> None:
    with Pool("Ant-v5", 1, seed=1, options={"healthy_z_range": (0.4, 0.9)}) as pool:
        options = pool.spec.options
        with Pool("Ant-v5", 1, seed=1, options=options) as other:
            assert other.spec.options == options
            for action in actions_of(pool, 20):
                assert_same(other.step(action), pool.step(action), "step")
        # another file is another model
        body = '<worldbody><body><geom size="0.1"/></body></worldbody>'
        changed = {**options, "xml_file": model(folder, "ant.xml", body)}
        with Pool("Ant-v5", 1, options=changed) as other:
            assert other.spec.fields[0].shape == (pool.spec.fields[0].shape[0] + 6,)


# ---------------------------------------------------------------------------- missing packages --


def test_without_mujoco_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for make in (
        lambda: Pool("Ant-v5", 1),
        lambda: parallel_pool.make_gymnasium("Ant-v5"),
        lambda: gymnasium.make_vec("Ant-v5", 1, vectorization_mode="parallel_pool"),
    ):
        with pytest.raises(MissingDependencyError, match=r"pip install 'parallel_pool\[mujoco\]'"):
            make()


@pytest.mark.parametrize("symbol", ["mj_copyData", "mj_getState", "handlers"])
def test_a_version_of_mujoco_that_lacks_a_function_is_refused(
    symbol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = family.address_of

    def lacking(name: str) -> int | None:
        if name == symbol or (symbol == "handlers" and name.startswith("_mjPRIVATE")):
            return None
        return address(name)

    monkeypatch.setattr(family, "address_of", lacking)
    family.function_addresses.cache_clear()
    try:
        with pytest.raises(MissingDependencyError, match=r"mujoco \d.* has no .*: .* 3\.1 to 4\.x"):
            Pool("Ant-v5", 1)
    finally:
        monkeypatch.undo()
        family.function_addresses.cache_clear()
    Pool("Ant-v5", 1).close()


# ------------------------------------------------------------------------------ fork, snapshots --


def test_a_forked_child_makes_its_own_pools() -> None:
    with Pool("HalfCheetah-v5", 4, seed=3, num_threads=2) as pool:
        actions = actions_of(pool, 20)
        before = [[array.copy() for array in pool.step(action)] for action in actions]

        def child() -> None:
            with Pool("HalfCheetah-v5", 4, seed=3, num_threads=2) as own:
                for step, action in enumerate(actions):
                    assert_same(list(own.step(action)), before[step], f"step {step}")

        in_child(child)
        with Pool("HalfCheetah-v5", 4, seed=3, num_threads=1) as twin:
            for step, action in enumerate(actions):
                assert_same(list(twin.step(action)), before[step], f"step {step}")
        pool.step(actions[0])


@pytest.mark.quick(1)
@pytest.mark.parametrize("env", sampled(IDS, MUJOCO_TASKS))
def test_a_snapshot_is_restored_in_another_pool(env: str) -> None:
    """Rewards and infos of the next step depend on numbers that the last step has stored."""
    pools = [Pool(env, 2, seed=seed, num_threads=1) for seed in (5, 77)]
    first, second = pools
    actions = actions_of(first, 51, seed=1)
    for action in actions_of(first, 13):
        first.step(action)
    for action in actions_of(second, 29, seed=8):
        second.step(action)
    states = first.get_state()
    # into the other pool in reverse order; its workspace was last used for another simulation
    second.set_state(states[::-1])
    assert second.get_state() == states[::-1]
    id_column = [column.name for column in first.columns].index("env_id")
    for step, action in enumerate(actions):
        ours = second.step(action[::-1].copy())
        for k, (one, other) in enumerate(zip(ours, first.step(action), strict=True)):
            if k != id_column:
                assert one[::-1].tobytes() == other.tobytes(), (step, first.columns[k].name)
    for pool in pools:
        pool.close()


def test_a_snapshot_needs_the_same_options(folder: Path) -> None:
    with Pool("Ant-v5", 1, seed=1) as pool:
        pool.reset()
        (state,) = pool.get_state()
    with Pool("Ant-v5", 1) as again:
        again.set_state([state])
    heavy = model(folder, "ant.xml", '<option gravity="0 0 -5"/>')
    path = folder / "mine.xml"
    path.write_bytes((family.assets() / "ant.xml").read_bytes())
    with Pool("Ant-v5", 1, options={"xml_file": str(path)}) as pool:
        pool.reset()
        (own,) = pool.get_state()
    # the file changes: another model under the same name
    path.write_bytes(Path(heavy).read_bytes())
    for options in ({"xml_file": str(path)}, {"frame_skip": 4}, {"speed_switches": False}):
        with Pool("Ant-v5", 1, options=options) as other:
            for bytes_ in (state, own):
                with pytest.raises(ValueError, match="other options"):
                    other.set_state([bytes_])
