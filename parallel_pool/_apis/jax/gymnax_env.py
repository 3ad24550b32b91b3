"""GymnaxEnv: native environments as pure functions of a state, in gymnax's form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, SupportsIndex

import numpy as np

from parallel_pool._apis.common.dependencies import install
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import check_count, nanoseconds, seconds
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.sharing import open_visits, share
from parallel_pool._lazy import public
from parallel_pool.errors import MissingDependencyError

try:
    import jax
    import jax.numpy as jnp

    from parallel_pool._apis.jax import gymnax_spaces
    from parallel_pool._apis.jax.primitives import PURE
    from parallel_pool._apis.jax.programs import needed_columns
    from parallel_pool._apis.jax.vector_results import VectorResults
except ImportError as error:
    raise MissingDependencyError(
        f"make_gymnax needs JAX 0.5 or newer ({error}): {install('jax')}"
    ) from error

if TYPE_CHECKING:
    from typing import Self

# what programs get as the time limit of environments that have none
NO_LIMIT = 2**31 - 1
# steps of the trial that shows how states grow that hold the actions of their episode
TRIAL_STEPS = 50
# bytes beyond that for what an episode leaves to the next one
SPARE_BYTES = 1024
# steps for which such states have room if there is no time limit
LONG_EPISODE = 1000


@public("compat.jax")
@jax.tree_util.register_static
@dataclass(frozen=True)
class EnvParams:
    """The parameters of an environment. They have no arrays: options are given to `make_gymnax`.

    Attributes:
        max_steps_in_episode: the time limit; 2**31 - 1 if there is none.

    Example:
        >>> from parallel_pool.compat.jax import make_gymnax
        >>> env, params = make_gymnax("CartPole-v1", max_episode_steps=200)
        >>> params
        EnvParams(max_steps_in_episode=200)
    """

    max_steps_in_episode: int

    def replace(self, **changes: Any) -> Self:
        """Returns parameters with other values."""
        return replace(self, **changes)


@public("compat.jax")
class EnvState(NamedTuple):
    """The state of an environment.

    Attributes:
        time: int32 (), steps of the running episode.
        snapshot: uint8 (size,), the whole state: what `Pool.get_state` returns, between an int64
            with its length and zeros. Snapshots of large states are not packed here.

    Example:
        >>> from parallel_pool.compat.jax import make_gymnax
        >>> env, params = make_gymnax("CartPole-v1")
        >>> obs, state = env.reset(jax.random.key(0), params)
        >>> state.time.dtype, state.snapshot.shape
        (dtype('int32'), (192,))
    """

    time: jax.Array
    snapshot: jax.Array


def make_gymnax(
    env_id: str,
    *,
    num_envs: int = 128,
    num_threads: int = 0,
    max_episode_steps: int | None = None,
    state_size: int | None = None,
    infos: bool = False,
    splits_done: bool = False,
    timeout: float | None = None,
    **options: Any,
) -> tuple[GymnaxEnv, EnvParams]:
    """Returns a native environment as pure functions, and its parameters, as `gymnax.make` does.

    `env.reset(key, params)` and `env.step(key, state, action, params)` depend on their arguments
    only: a state may be stepped twice, kept, or copied. `jax.vmap` steps all elements in one call,
    on the threads of one pool. `jit`, `scan`, `while_loop` and `shard_map` work; derivatives of
    results are zero.

    Args:
        env_id: a native id; the argument's name is that of `gymnax.make`.
        num_envs: environments of the pool, which step so many elements at once; more elements take
            several turns.
        num_threads: that step; 0 for the cores this process may use.
        max_episode_steps: time limit in steps; None for the definition's own, 0 for none.
        state_size: bytes of `EnvState.snapshot`, for environments whose states vary in size (those
            of Box2D and Procgen, which hold the actions of their episode); None for what the time
            limit, or 1000 steps, need by a trial.
        infos: whether infos have what the environment tells, and "final_observation".
        splits_done: whether `step` returns six values as in gymnax 1.0, with terminated and
            truncated in place of done.
        timeout: seconds that each call may take, with its turns, after which the program ends with
            DEADLINE_EXCEEDED and the text of a `PoolTimeoutError`; the states that it has stay
            good. The next call first waits for what is late, within its own time. None for no
            limit.
        options: the environment's own.

    Raises:
        TypeError, ValueError: an argument is wrong, or the environment has no such form: it has
            several players, or actions that gymnax has no space for.
        PoolTimeoutError: a trial step took longer than `timeout`.
        MissingDependencyError: JAX, or what the environment needs, is not installed.

    Example:
        >>> from parallel_pool.compat.jax import make_gymnax
        >>> env, params = make_gymnax("CartPole-v1")
        >>> keys = jax.random.split(jax.random.key(0), 8)
        >>> obs, state = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
        >>> step = jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None)))
        >>> obs, state, reward, done, info = step(keys, state, jax.numpy.zeros(8, int), params)
        >>> obs.shape, reward.shape, done.dtype
        ((8, 4), (8,), dtype('bool'))
    """
    definition = registry.find(env_id)
    limit = seconds(timeout)
    if max_episode_steps is not None:
        max_episode_steps = check_count("max_episode_steps", max_episode_steps, 0)
    pool = Pool(
        definition,
        check_count("num_envs", num_envs, 1),
        num_threads=num_threads,
        autoreset="same_step",
        max_episode_steps=max_episode_steps,
        options=options,
    )
    try:
        size = _state_size(pool, state_size, options, limit)
        env = GymnaxEnv(pool, size, has_infos=infos, splits_done=splits_done, timeout=limit)
    except BaseException:
        pool.close()
        raise
    return env, env.default_params


def _state_size(
    pool: Pool, given: int | None, options: dict[str, Any], timeout: float | None
) -> int:
    """Returns the bytes of a state, a multiple of 8."""
    least = open_visits(pool)
    if given is not None:
        return -(-check_count("state_size", given, least) // 8) * 8
    if not pool.definition.raw.save:
        return least
    with Pool(pool.definition, 1, seed=0, autoreset="disabled", options=options) as trial:
        space = trial.spec.action_space()
        space.seed(0)
        trial.reset(timeout=timeout)
        ended = False
        first = largest = len(trial.get_state()[0])
        step = 0
        while step < TRIAL_STEPS and not ended:
            step += 1
            batch = trial.step(np.asarray([space.sample()]), timeout=timeout)
            ended = bool(batch.terminated[0] or batch.truncated[0])
            largest = max(largest, len(trial.get_state()[0]))
    limit = pool.max_episode_steps or LONG_EPISODE
    expected = first + (largest - first) * limit // max(step, 1)
    return (max(least, largest, expected) * 3 // 2 + SPARE_BYTES) // 8 * 8


@public("compat.jax")
class GymnaxEnv:
    """An environment as pure functions; see `make_gymnax`.

    Attributes:
        name: its id.
        default_params: its parameters.
        num_actions: of a Discrete action how many there are, of a Box how many elements it has.
        reset: `obs, state = reset(key, params=None)` starts an episode, whose seed is the key's
            words.
        step: `obs, state, reward, done, info = step(key, state, action, params=None)` steps once.
            If that ends the episode, obs and state are those of the next one, whose seed is the
            key's words. reward is float32 (), done bool (); info has "discount" float32 (),
            "terminated" and "truncated" bool (). With `splits_done`:
            `obs, state, reward, terminated, truncated, info`.

    Example:
        >>> from parallel_pool.compat.jax import make_gymnax
        >>> env, params = make_gymnax("CartPole-v1")
        >>> key = jax.random.key(7)
        >>> obs, state = env.reset(key, params)
        >>> obs, state, reward, done, info = env.step(key, state, 1, params)
        >>> env.num_actions, env.observation_space(params).shape, bool(done)
        (2, (4,), False)
    """

    def __init__(
        self,
        pool: Pool,
        state_size: int,
        *,
        has_infos: bool,
        splits_done: bool = False,
        timeout: float | None = None,
    ) -> None:
        """
        Args:
            pool: of `open_visits`.
            state_size: bytes of a state.
            has_infos: whether infos have more than the ends of episodes.
            splits_done: whether `step` returns terminated and truncated in place of done.
            timeout: seconds that a call may take; None for no limit.
        """
        spec = pool.spec
        self.name = pool.definition.id
        if spec.num_players > 1:
            raise ValueError(
                f"{self.name} has {spec.num_players} players, and gymnax's form one: use"
                " compat.jax.xla"
            )
        gymnax_spaces.action_space(spec.action, self.name)
        self._pool, self._spec, self._number = pool, spec, share(pool)
        self._has_infos, self._splits_done = has_infos, splits_done
        self._timeout = nanoseconds(timeout)
        self._action_start = int(spec.action.start) if spec.action.space_kind == "discrete" else 0
        self.default_params = EnvParams(pool.max_episode_steps or NO_LIMIT)
        names = [field.name for field in spec.observations]
        self._results = VectorResults(
            pool, {name: i for i, name in enumerate(names)}, names if spec.has_keys else None
        )
        columns = pool.columns
        self._elapsed = next(i for i, c in enumerate(columns) if c.name == "elapsed_step")
        self._state_size = state_size
        # of each primitive: the columns that it returns
        self._needed = {
            "start": tuple(needed_columns(pool, self._of_reset)),
            "advance": tuple(needed_columns(pool, self._of_step)),
        }
        self.reset = jax.jit(self._reset)
        self.step = jax.jit(self._step)

    @property
    def num_actions(self) -> int:
        """Of a Discrete action how many there are, of a Box how many elements it has."""
        action = self._spec.action
        return action.n if action.space_kind == "discrete" else int(np.prod(action.shape))

    def action_space(self, params: EnvParams | None = None) -> Any:
        """Returns the space of actions; of gymnax's class if the program has imported gymnax."""
        return gymnax_spaces.action_space(self._spec.action, self.name)

    def observation_space(self, params: EnvParams | None = None) -> Any:
        """Returns the space of observations; of gymnax's class if gymnax is imported."""
        return gymnax_spaces.observation_space(self._spec)

    def close(self) -> None:
        """Ends the threads. Programs that step this environment then fail."""
        self._pool.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # Programs copy their settings, environments included. Nothing of this one changes, so it is
        # its own copy. It has no __deepcopy__: wrappers have all attributes of their environment,
        # and a copy of a wrapper would be this.
        return attrgetter("env"), (_Copied(self),)

    # --------------------------------------------------------------------------------- private --

    def _reset(self, key: Any, params: EnvParams | None = None) -> tuple[Any, EnvState]:
        """Starts an episode; see the attribute `reset`."""
        self._check(params)
        snapshot, columns = self._call("start", _words(key))
        observation, _ = self._results.of_reset(columns)
        return _first(observation), EnvState(jnp.zeros((), jnp.int32), snapshot)

    def _step(
        self, key: Any, state: EnvState, action: Any, params: EnvParams | None = None
    ) -> tuple[Any, ...]:
        """Steps once; see the attribute `step`."""
        self._check(params)
        snapshot, columns = self._call(
            "advance",
            jax.lax.stop_gradient(state.snapshot)[None],
            self._actions(jax.lax.stop_gradient(action)),
            _words(key),
        )
        observation, reward, terminated, truncated, infos = _first(self._of_step(columns))
        done = terminated | truncated
        time = jnp.where(done, 0, _first(columns[self._elapsed]))
        ends = (terminated, truncated) if self._splits_done else (done,)
        return observation, EnvState(time, snapshot), reward, *ends, infos

    def _of_reset(self, columns: Any) -> Any:
        return self._results.of_reset(columns)[0]

    def _of_step(self, columns: Any) -> Any:
        observation, reward, terminated, truncated, told = self._results.of_step(columns)
        done = terminated | truncated
        infos = {
            "discount": 1.0 - terminated.astype(jnp.float32),
            "terminated": terminated,
            "truncated": truncated,
        }
        if self._has_infos:
            final = told.pop("final_obs")
            told = {key: value for key, value in told.items() if not key.startswith("_final")}
            infos |= told
            infos["final_observation"] = jax.tree.map(
                lambda last, now: jnp.where(_beside(done, now), last, now), final, observation
            )
        # the program reads it beside the others
        columns[self._elapsed]
        return observation, reward, terminated, truncated, infos

    def _call(self, name: str, *arrays: Any) -> tuple[Any, list[Any]]:
        """Returns the state after a call, and the columns, None if not needed."""
        needed = self._needed[name]
        found = [self._pool.columns[i] for i in needed]
        # here, since a program may change jax_enable_x64 at any time
        shapes = [((1, *each.shape), jax.dtypes.canonicalize_dtype(each.dtype)) for each in found]
        results = (((1, self._state_size), np.dtype(np.uint8)), *shapes)
        snapshot, *rows = PURE[name].bind(
            *arrays, results=results, columns=needed, number=self._number, timeout=self._timeout
        )
        columns: list[Any] = [None] * len(self._pool.columns)
        for i, array in zip(needed, rows, strict=True):
            columns[i] = array
        return snapshot[0], columns

    def _actions(self, action: Any) -> Any:
        """Returns an action as a row."""
        field = self._spec.action
        array = jnp.asarray(action)
        if array.shape == tuple(length for length in field.shape if length != 1):
            # rejax squeezes the actions of its evaluation
            array = array.reshape(field.shape)
        if array.shape != field.shape:
            raise ValueError(f"the action has shape {array.shape}: give shape {field.shape}")
        if field.space_kind == "discrete" and not jnp.issubdtype(array.dtype, jnp.integer):
            raise TypeError(f"the action has dtype {array.dtype}: give integers")
        return (self._shifted(array) if self._action_start else array)[None]

    def _shifted(self, action: Any) -> Any:
        """Returns an action of the environment's own space, whose numbers may begin below 0."""
        if jnp.issubdtype(action.dtype, jnp.unsignedinteger):
            # one that is too large stays outside of the space
            most = min(np.iinfo(action.dtype).max, np.iinfo(np.int32).max)
            action = jnp.minimum(action, action.dtype.type(most))
        if action.dtype != np.int64:
            action = action.astype(np.int32)
        return action + self._action_start

    def _check(self, params: EnvParams | None) -> None:
        if params is not None and params != self.default_params:
            raise ValueError(
                f"params={params}: this environment has {self.default_params}; give"
                " max_episode_steps and options to make_gymnax"
            )


class _Copied:
    """An environment that is being copied."""

    def __init__(self, env: GymnaxEnv) -> None:
        self.env = env

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("GymnaxEnv holds threads and cannot be pickled: make a new one")


def _words(key: Any) -> Any:
    """Returns the words of a key as a row of seeds, uint32 (1, words)."""
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        key = jax.random.key_data(key)
    if key.dtype != np.uint32 or key.ndim != 1:
        raise TypeError(f"the key is {key.dtype}{list(key.shape)}: give one of jax.random.key")
    return key[None]


def _first(tree: Any) -> Any:
    """Returns the only row of each array."""
    return jax.tree.map(lambda array: array[0], tree)


def _beside(mask: Any, array: Any) -> Any:
    """Returns a mask of rows with as many axes as an array."""
    return mask.reshape(len(mask), *[1] * (array.ndim - 1))
