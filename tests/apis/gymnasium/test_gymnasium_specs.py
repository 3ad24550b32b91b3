"""Gymnasium's vector API: ids, specs, and the hook in make_vec."""

from __future__ import annotations

import gymnasium
import pytest
from gymnasium import wrappers
from gymnasium.envs import registration
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool._apis.common import gymnasium_ids
from parallel_pool._apis.gymnasium import hook as hook
from parallel_pool._engine import registry
from parallel_pool.compat.gymnasium import PoolVectorEnv
from tests.support.gymnasium_cases import run_python
from tests.support.python_ids import PYTHON_ID
from tests.support.sampling import thinned

# --------------------------------------------------------------------------------- ids and specs --


def test_environment_functions_go_to_processes() -> None:
    env = PoolVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2, context="fork")
    try:
        assert isinstance(env, PoolVectorEnv)
        assert (env.backend, env.num_envs) == ("process", 2)
    finally:
        env.close()
    with pytest.raises(TypeError, match="int"):
        PoolVectorEnv(3)  # type: ignore[arg-type]


def test_specs_make_the_same_again() -> None:
    made = parallel_pool.make_vec(
        "Pendulum-v1",
        3,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP, "num_threads": 1},
        g=3.0,
        max_episode_steps=7,
    )
    direct = PoolVectorEnv(
        "Pendulum-v1",
        3,
        autoreset_mode=AutoresetMode.SAME_STEP,
        num_threads=1,
        g=3.0,
        max_episode_steps=7,
    )
    assert made.spec == direct.spec
    single = parallel_pool.make_vec("CartPole-v1")
    assert single.spec is not None
    assert single.spec.kwargs == {"vectorization_mode": "parallel_pool"}, "as in Gymnasium"
    for again in (gymnasium.make_vec(made.spec), PoolVectorEnv(made.spec)):
        assert isinstance(again, PoolVectorEnv)
        assert again.spec == made.spec
        assert again.num_envs == 3
        assert again.autoreset_mode is AutoresetMode.SAME_STEP
        assert again.pool.num_threads == 1
        assert again.pool.max_episode_steps == 7
        assert again.get_attr("g") == (3.0,) * 3
        again.close()


def test_spec_from_json_of_a_registered_id() -> None:
    env = gymnasium.make_vec("parallel_pool/CartPole-v1", 2, sutton_barto_reward=True)
    again = gymnasium.make_vec(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec == env.spec
    assert again.get_attr("sutton_barto_reward") == (True, True)
    # options of the pool are plain arguments, since Gymnasium refuses vector_kwargs for these ids
    env = gymnasium.make_vec(
        "parallel_pool/CartPole-v1", 2, num_threads=1, autoreset_mode=AutoresetMode.DISABLED
    )
    assert env.pool.num_threads == 1
    assert env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    # our mode may also be named
    env = gymnasium.make_vec("parallel_pool/CartPole-v1", 2, vectorization_mode="parallel_pool")
    assert isinstance(env, PoolVectorEnv)


def test_spec_of_the_callers_own() -> None:
    spec = gymnasium.spec("CartPole-v1")
    own = EnvSpec(
        "CartPole-v1", spec.entry_point, max_episode_steps=5, kwargs={"sutton_barto_reward": True}
    )
    env = PoolVectorEnv(own, 2)
    assert env.pool.max_episode_steps == 5
    assert env.get_attr("sutton_barto_reward") == (True, True)
    assert own.kwargs == {"sutton_barto_reward": True}, "the caller's spec is left alone"
    env = gymnasium.make_vec(own, 2, vectorization_mode="parallel_pool", max_episode_steps=-1)
    assert env.pool.max_episode_steps is None
    unlimited = EnvSpec("CartPole-v1", spec.entry_point)
    assert PoolVectorEnv(unlimited).pool.max_episode_steps is None


def test_spec_of_other_code_is_not_replaced() -> None:
    spec = EnvSpec("CartPole-v1", entry_point="somewhere.else:CartPole")
    with pytest.raises(ValueError, match=r"entry_point='somewhere\.else:CartPole'"):
        PoolVectorEnv(spec, 2, backend="native")


def test_native_backend_refuses_wrappers_that_it_can_not_fuse() -> None:
    add_time = wrappers.TimeAwareObservation
    native = {"backend": "native"}
    with pytest.raises(ValueError, match=r"TimeAwareObservation"):
        gymnasium.make_vec(
            "CartPole-v1",
            2,
            vectorization_mode="parallel_pool",
            vector_kwargs=native,
            wrappers=[add_time],
        )
    wrapped = add_time(gymnasium.make("CartPole-v1")).spec
    with pytest.raises(ValueError, match=r"TimeAwareObservation"):
        gymnasium.make_vec(wrapped, 2, vectorization_mode="parallel_pool", vector_kwargs=native)
    gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="parallel_pool", wrappers=[]).close()


def test_unknown_ids() -> None:
    with pytest.raises(gymnasium.error.NameNotFound, match="CartPool"):
        gymnasium.make_vec("CartPool-v1", 2, vectorization_mode="parallel_pool")
    with pytest.raises(gymnasium.error.VersionNotFound):
        PoolVectorEnv("CartPole-v7", 2)
    with pytest.raises(ValueError, match=f"{PYTHON_ID} has no native environment"):
        PoolVectorEnv(PYTHON_ID, 2, backend="native")


def test_ids_without_a_version_or_with_an_old_one() -> None:
    with pytest.warns(UserWarning, match="latest"):
        env = gymnasium.make_vec("CartPole", 2, vectorization_mode="parallel_pool")
    assert env.spec.id == "CartPole-v1"
    with pytest.warns(DeprecationWarning, match="out of date"):
        PoolVectorEnv("CartPole-v0", 2).close()


# ------------------------------------------------------------------------------ hook in make_vec --


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    thinned(
        [
            "import parallel_pool, gymnasium",
            "import gymnasium, parallel_pool",
            "import parallel_pool, importlib; importlib.reload(parallel_pool); import gymnasium",
            # any module of ours may be the one that imports Gymnasium first
            "from parallel_pool import make_vec; import gymnasium",
            "import parallel_pool.compat.gymnasium, gymnasium",
            "import parallel_pool._apis.common.env_specs, gymnasium",
            "import parallel_pool as p; p.Pool('Acrobot-v1').spec.action_space(); import gymnasium",
        ],
        4,
    ),
)
def test_hook_in_any_order_of_imports(imports: str) -> None:
    printed = run_python(
        f"""
        {imports}
        from gymnasium.envs import registration
        for make_vec in (gymnasium.make_vec, registration.make_vec):
            print(make_vec("CartPole-v1", num_envs=2, vectorization_mode="parallel_pool"))
        """
    )
    assert printed.split("\n") == ["NativeVectorEnv(CartPole-v1, num_envs=2)"] * 2


@pytest.mark.slow
def test_import_of_gymnasium_is_unchanged() -> None:
    printed = run_python(
        """
        import sys
        before = list(sys.meta_path)
        import parallel_pool
        assert "gymnasium" not in sys.modules
        import gymnasium, inspect, importlib.resources
        assert sys.meta_path == before
        assert "make_vec" in inspect.getsource(gymnasium)
        assert "exec_module" not in vars(gymnasium.__spec__.loader)
        assert importlib.resources.files(gymnasium).joinpath("py.typed").is_file()
        print(inspect.signature(gymnasium.make_vec).parameters.keys())
        """
    )
    assert "vectorization_mode" in printed


@pytest.mark.slow
def test_a_function_bound_before_the_import_is_unchanged() -> None:
    printed = run_python(
        """
        from gymnasium import make_vec
        import parallel_pool
        try:
            make_vec("CartPole-v1", vectorization_mode="parallel_pool")
        except ValueError as error:
            print(error)
        print(make_vec("parallel_pool/CartPole-v1", num_envs=2))
        """
    )
    refused, made = printed.split("\n")
    assert "Invalid vectorization mode" in refused
    assert made == "NativeVectorEnv(parallel_pool/CartPole-v1, num_envs=2)"


@pytest.mark.slow
def test_gymnasium_alone_finds_the_ids() -> None:
    printed = run_python(
        """
        import gymnasium
        print(gymnasium.make_vec("parallel_pool:parallel_pool/CartPole-v1", num_envs=8))
        """
    )
    assert printed == "NativeVectorEnv(parallel_pool/CartPole-v1, num_envs=8)"


def test_hook_can_be_uninstalled_and_installed_twice() -> None:
    wrapped = gymnasium.make_vec
    hook.install()
    assert gymnasium.make_vec is wrapped
    try:
        hook.uninstall()
        hook.uninstall()
        assert gymnasium.make_vec is registration.make_vec
        assert gymnasium.make_vec is not wrapped
        assert "parallel_pool/CartPole-v1" not in gymnasium.registry
        with pytest.raises(ValueError, match="Invalid vectorization mode"):
            gymnasium.make_vec("CartPole-v1", vectorization_mode="parallel_pool")
        # our own short form needs no hook
        assert parallel_pool.make_vec("CartPole-v1", 2).num_envs == 2
    finally:
        hook.install()
    assert "parallel_pool/CartPole-v1" in gymnasium.registry
    gymnasium.make_vec("CartPole-v1", vectorization_mode="parallel_pool").close()


def test_other_modes_are_left_alone() -> None:
    assert type(gymnasium.make_vec("CartPole-v1", 2, "sync")) is SyncVectorEnv
    assert type(gymnasium.make_vec("MountainCar-v0", 2)) is SyncVectorEnv
    assert "CartPoleVectorEnv" in type(gymnasium.make_vec("CartPole-v1", 2)).__name__
    with pytest.raises(ValueError, match="Invalid vectorization mode: 'other'"):
        gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="other")


def test_every_native_id_is_registered() -> None:
    for native_id, definition in registry.builtin().items():
        # ids internal to one API are not registered
        if native_id.startswith("_"):
            assert gymnasium_ids.registered_id(native_id) not in gymnasium.registry
            continue
        spec = gymnasium.spec(gymnasium_ids.registered_id(native_id))
        assert spec.max_episode_steps == definition.max_episode_steps
        assert spec.reward_threshold == definition.reward_threshold
        assert gymnasium_ids.is_native(spec)
    # Python's tools look up dunder names on modules; these are not ids
    with pytest.raises(AttributeError):
        from parallel_pool.compat import entry_points

        entry_points.__wrapped__  # noqa: B018
