"""EnvSpec: a task with its options, and the spaces and specs that follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.envpool import tasks
from parallel_pool._apis.envpool.fields import bounds, field_name, mark
from parallel_pool._apis.envpool.named_tuples import named_tuple
from parallel_pool._engine import registry, seeds, variation
from parallel_pool._engine.arguments import (
    a_type,
    check_count,
    check_sizes,
    is_number,
    named,
    quote,
)
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.specs import dict_space
from parallel_pool._engine.trees import nest
from parallel_pool._lazy import public

if TYPE_CHECKING:
    import gymnasium
    import numpy.typing as npt

    from parallel_pool._apis.envpool.dm_specs import specs
    from parallel_pool._engine.specs import Definition, Field

INT32 = np.dtype(np.int32)
NO_LIMIT = 2**31 - 1
"""EnvPool's max_episode_steps of tasks without a time limit."""
CLOCK_SEED = 2**32 - 1
"""EnvPool's seed -1, which makes ALE take its seed from the clock."""

# options of every task with their defaults, in EnvPool's order; None: the task's own
COMMON: dict[str, Any] = {
    "num_envs": 1,
    "batch_size": 0,
    "num_threads": 0,
    "max_num_players": None,
    "thread_affinity_offset": -1,
    "base_path": "",
    "seed": None,
    "env_seed": (),
    "gym_reset_return_info": True,
    "max_episode_steps": None,
    "reward_threshold": None,
}


@public("python.protocol")
@dataclass(frozen=True)
class ArraySpec:
    """One array of a pool's results or actions.

    Attributes:
        dtype: of its elements.
        shape: of one row; a first axis of -1 is that of the players of one environment.
        minimum: inclusive bound, -inf for none; a number, or float64 (*shape) without players.
        maximum: inclusive bound, inf for none; a number, or float64 (*shape) without players.
        is_discrete: whether elements number choices, from `minimum` to `maximum`.

    Example:
        >>> spec = parallel_pool.make_spec("CartPole-v1").state_array_spec["obs"]
        >>> spec.dtype, spec.shape
        (dtype('float32'), [4])
    """

    dtype: np.dtype[Any]
    shape: list[int]
    minimum: float | npt.NDArray[Any]
    maximum: float | npt.NDArray[Any]
    is_discrete: bool = False


@public("compat.envpool")
class EnvSpec:
    """A task with its options: the result of `make_spec`, and the attribute `spec` of a pool.

    Attributes:
        id: of the task.
        definition: what the engine knows of the environments, with which `Pool` makes them.
        config: the values of all options, a namedtuple in EnvPool's order.
        reward_threshold: the return at which the task counts as solved, None for none.
        observation_space: Gymnasium space of one environment (of one player).
        action_space: Gymnasium space of one environment (of one player).
        num_players: players of one environment.
        additional_wrappers: the wrappers, in copies that Gymnasium's wrappers return as
            their spec.

    Example:
        >>> spec = parallel_pool.make_spec("CartPole-v1", max_episode_steps=100)
        >>> spec.config.max_episode_steps, spec.action_space
        (100, Discrete(2))
    """

    additional_wrappers: tuple[Any, ...] = ()

    def __init__(
        self,
        task_id: str,
        definition: Definition,
        given: Mapping[str, Any],
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        """Checks the options.

        Args:
            task_id: the task's id.
            definition: what C says of the task.
            given: options by name, EnvPool's and the environment's own.
            defaults: default options of the task, given to `register`.

        Raises:
            TypeError: an option is unknown or has the wrong type.
            ValueError: a value is out of its range, or options contradict each other.
        """
        self._defaults = dict(defaults or {})
        self._given = dict(given)
        chosen = {**COMMON, **self._defaults, **given}
        given_own = {
            name: chosen.pop(name)
            for name in list(chosen)
            if name in definition.options or name not in COMMON
        }
        if definition.tasks:
            count, _ = check_sizes(chosen["num_envs"], chosen["batch_size"])
            given_own = definition.spread(given_own, count)
        # by the definition's option names; EnvPool and Gymnasium may use others
        own = registry.fill_options(definition, variation.first_options(given_own))
        unknown = [name for name in own if name not in definition.options]
        if unknown:
            public = [name for name, it in definition.options.items() if not it.is_hidden]
            raise TypeError(
                f"{task_id} has no option {named(', '.join(unknown))}: it has "
                f"{', '.join([*COMMON, *public])}"
            )
        self.id = task_id
        self.definition = definition
        self._core = definition.configure(own)
        self._own: Mapping[str, Any] = self._core.options
        if variation.differs(given_own):
            count, _ = check_sizes(chosen["num_envs"], chosen["batch_size"])
            self._core = variation.OptionPlan(definition, given_own, count).spec
            self._own = given_own
        self.num_players = self._core.num_players
        self._action = self._core.action
        if self._action.space_kind == "discrete":
            # EnvPool's dtype; pools accept every integer dtype
            self._action = replace(self._action, dtype=INT32)
        common = self._check_common(chosen, given_own)
        seen = {
            name: value
            for name, value in self._core.options.items()
            if not definition.options[name].is_hidden
        }
        config = {**common, **seen}
        self.config: Any = named_tuple("Config", tuple(config), config.values())
        self.reward_threshold: float | None = common.get("reward_threshold")

    def _check_common(self, chosen: dict[str, Any], given_own: Mapping[str, Any]) -> dict[str, Any]:
        """Checks EnvPool's options, and fills in those that depend on the task and its options."""
        num_envs, batch_size = check_sizes(chosen["num_envs"], chosen["batch_size"])
        check_count("num_threads", chosen["num_threads"], 0)
        chosen["batch_size"] = batch_size

        players = chosen["max_num_players"]
        players = self.num_players if players is None else players
        if check_count("max_num_players", players, 1) != self.num_players:
            raise ValueError(
                f"max_num_players={players}: {self.id} has {self.num_players}: choose that number"
            )
        chosen["max_num_players"] = players

        limit = chosen["max_episode_steps"]
        if limit is None:
            limit = _config_limit(self.definition.limit_of(given_own, num_envs))
        chosen["max_episode_steps"] = variation.check_limits(limit, num_envs)

        self._check_seeds(chosen, num_envs)
        returns_info = chosen["gym_reset_return_info"]
        if not isinstance(returns_info, (bool, np.bool_)):
            kind = a_type(returns_info)
            raise TypeError(f"gym_reset_return_info={quote(returns_info)} is {kind}: give a bool")
        if chosen["reward_threshold"] is None:
            chosen["reward_threshold"] = self.definition.reward_threshold
        threshold = chosen["reward_threshold"]
        if threshold is None:
            del chosen["reward_threshold"]
        elif not is_number(threshold):
            kind = a_type(threshold)
            raise TypeError(f"reward_threshold={quote(threshold)} is {kind}: give a number or None")
        return chosen

    def _check_seeds(self, chosen: dict[str, Any], num_envs: int) -> None:
        """Checks all seeds; a sequence given as `seed` becomes `env_seed`."""
        seed, each = chosen["seed"], chosen["env_seed"]
        if seeds.is_list(seed):
            seeds_of_task(self.definition, seed, range(num_envs))
            chosen["seed"], each = 0, seed
        if each is not None and not seeds.is_list(each):
            raise TypeError(
                f"env_seed={quote(each)} is {a_type(each)}: give a list with one seed for each"
                " environment, or seed=..."
            )
        chosen["env_seed"] = [] if each is None else list(each)
        seeds_of_task(self.definition, chosen["env_seed"] or chosen["seed"], range(num_envs))

    def gen_config(self, **config: Any) -> Any:
        """Returns the `config` that this task has with these options and its defaults.

        Raises:
            TypeError, ValueError: an option is wrong.
        """
        return EnvSpec(self.id, self.definition, config, self._defaults).config

    # -------------------------------------------------------------------------------- spaces --

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Of one environment's (one player's) observation; a Dict if there are several.

        A text is a code, of which `Pool.texts` makes strings.
        """
        fields = self._core.observations
        if len(fields) == 1:
            return fields[0].array_space()
        return dict_space(nest({field.name: field.array_space() for field in fields}))

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Of one environment's (one player's) action."""
        return self._core.action.space()

    gymnasium_observation_space = observation_space
    gymnasium_action_space = action_space

    def observation_spec(self) -> Any:
        """Returns the dm_env specs of one environment's observation, a namedtuple `State`.

        Raises:
            MissingDependencyError: dm-env is not installed.
        """
        from parallel_pool._apis.envpool import dm_specs

        return dm_specs.observation_spec(self._core.fields, self.num_players)

    def action_spec(self) -> specs.Array:
        """Returns the dm_env spec of one environment's (one player's) action.

        Raises:
            MissingDependencyError: dm-env is not installed.
        """
        from parallel_pool._apis.envpool import dm_specs

        return dm_specs.array_spec(self._action)

    @property
    def state_array_spec(self) -> dict[str, ArraySpec]:
        """The arrays of a result by EnvPool's internal names ("info:" before infos)."""
        single = len(self._core.observations) == 1
        fields = {
            **{f"obs:{field.name}": field for field in self._core.observations},
            **{f"info:{field_name(field, self.num_players)}": field for field in self._core.infos},
        }
        if single:
            fields = {
                "obs" if key.startswith("obs:") else key: field for key, field in fields.items()
            }
        return {
            "info:env_id": _int32([]),
            "info:players.env_id": _int32([-1]),
            **{f"info:{name}": spec for name, spec in self._player_numbers().items()},
            "elapsed_step": _int32([]),
            "done": ArraySpec(np.dtype(np.bool_), [], False, True, True),
            "reward": ArraySpec(np.dtype(np.float32), [-1], -math.inf, math.inf),
            "discount": ArraySpec(np.dtype(np.float32), [-1], 0.0, 1.0),
            "step_type": _int32([]),
            "trunc": ArraySpec(np.dtype(np.bool_), [], False, True, True),
            **{
                key: _array_spec(field, field.per_player and self.num_players > 1)
                for key, field in fields.items()
            },
        }

    @property
    def action_array_spec(self) -> dict[str, ArraySpec]:
        """The arrays of a dict action by name."""
        return {
            "env_id": _int32([]),
            "players.env_id": _int32([-1]),
            **self._player_numbers(),
            "action": _array_spec(self._action, True),
        }

    def _player_numbers(self) -> dict[str, ArraySpec]:
        """Returns the array that says whose each row is, if not all players have one."""
        if self.num_players == 1 or mark(self._core.fields, "live") < 0:
            return {}
        return {"players.id": ArraySpec(INT32, [-1], 0, self.num_players - 1)}

    def __reduce__(self) -> tuple[Any, ...]:
        # C's form of the options is not pickled: unpickling checks them again
        state = {"additional_wrappers": self.additional_wrappers}
        return EnvSpec._find, (self.id, self._given), state

    @staticmethod
    @public("compat.envpool")
    def _find(task_id: str, given: dict[str, Any]) -> EnvSpec:
        """Makes a task's spec again; pickles refer to this function."""
        definition, defaults = tasks.find(task_id)
        return EnvSpec(task_id, definition, given, defaults)

    def __repr__(self) -> str:
        return f"EnvSpec({self.id}, {config_repr(self.config._asdict())})"


def make_pool(spec: EnvSpec, *, step_type: bool = False, discount: bool = False) -> Pool:
    """Makes the environments of a task.

    Args:
        step_type, discount: whether results have these columns.

    Raises:
        TypeError, ValueError, MissingDependencyError: as `Pool` does.
    """
    config = spec.config
    limit = config.max_episode_steps
    return Pool(
        spec.definition,
        config.num_envs,
        batch_size=config.batch_size,
        num_threads=config.num_threads,
        thread_affinity_offset=config.thread_affinity_offset,
        max_episode_steps=_pool_limit(limit),
        seed=seeds_of_task(spec.definition, config.env_seed or config.seed, range(config.num_envs)),
        players=spec.num_players > 1,
        options=spec._own,
        step_type=step_type,
        discount=discount,
    )


def _config_limit(limit: Any) -> Any:
    """Returns a definition's time limit as EnvPool's config shows it."""
    if isinstance(limit, variation.Each):
        return variation.each([_config_limit(value) for value in limit.values])
    return limit or NO_LIMIT


def _pool_limit(limit: Any) -> Any:
    """Returns a time limit in the form of `Pool`."""
    if isinstance(limit, variation.Each):
        return variation.each([_pool_limit(value) for value in limit.values])
    return 0 if limit == NO_LIMIT else limit


# where older pickles find it
_find = EnvSpec._find


def config_repr(config: Mapping[str, Any]) -> str:
    """Returns options in the form of keyword arguments."""
    return ", ".join(f"{name}={value!r}" for name, value in config.items())


# ------------------------------------------------------------------------------------- seeds --


def spread_seeds(seed: Any, env_ids: Sequence[int]) -> list[int | None] | None:
    """Returns the seed of each environment: seed + its id, or the i-th of a sequence.

    Negative seeds down to -2**31 are EnvPool's: as in EnvPool they are int32 values converted to
    uint32, so that with seed -1 environment 1 gets 0.

    Raises:
        TypeError: a seed is not an integer.
        ValueError: a seed is less than -2**31, or there are too few or too many.
    """
    if seed is None:
        return None
    each = seeds.spread(seed, len(env_ids), env_ids, _read)
    return [one % 2**32 if one is not None and one < 0 else one for one in each]


def seeds_of_task(
    definition: Definition, seed: Any, env_ids: Sequence[int]
) -> list[int | None] | None:
    """Returns the seed of each environment as `spread_seeds` does.

    Raises:
        TypeError: a seed is not an integer.
        ValueError: a seed is one that the task can't have, or there are too few or too many.
    """
    each = spread_seeds(seed, env_ids)
    if each and "atari" in definition.families and CLOCK_SEED in each:
        raise ValueError(
            f"seed={quote(seed)}: environment {env_ids[each.index(CLOCK_SEED)]} would get seed"
            f" -1 ({CLOCK_SEED}), which makes ALE take its seed from the clock: choose another"
        )
    return each


def _read(seed: Any) -> int:
    """Returns a seed as an int; one of int32 may be negative."""
    is_negative = isinstance(seed, (int, np.integer)) and -(2**31) <= seed < 0
    return int(seed) if is_negative else seeds.check(seed)


# ------------------------------------------------------------------------------------ spaces --


def _int32(shape: list[int]) -> ArraySpec:
    return ArraySpec(INT32, shape, -(2**31), 2**31 - 1)


def _array_spec(field: Field, has_player_axis: bool) -> ArraySpec:
    shape = [-1, *field.shape] if has_player_axis else list(field.shape)
    low, high = bounds(field)
    return ArraySpec(field.dtype, shape, low, high, field.space_kind != "box")
