"""DMEnvAdapter: a `dm_env.Environment` with the API of `gymnasium.Env`."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from dm_env import StepType, specs  # type: ignore[import-untyped]

from parallel_pool._engine.actions import described
from parallel_pool._engine.arguments import quote
from parallel_pool._lazy import public
from parallel_pool._workers.data import dm_spaces
from parallel_pool._workers.run.adapters import adapted
from parallel_pool._workers.run.generators import seed_generators

FIRST, LAST = StepType.FIRST, StepType.LAST


@public("compat.dm_env")
class DMEnvAdapter(gymnasium.Env[Any, Any]):
    """Steps a `dm_env.Environment` through Gymnasium's API.

    A LAST step terminates the episode if its discount is 0, and truncates it otherwise.
    `info["discount"]` is a step's discount, a float; FIRST steps have none. Rewards of None are 0.

    Public attributes that are not Gymnasium's are those of the dm_env environment.

    Attributes:
        dm_env: the environment.
        observation_space: of its specs; see `parallel_pool._workers.data.dm_spaces`.
        action_space: of its specs; see `parallel_pool._workers.data.dm_spaces`.

    Example:
        >>> from parallel_pool.compat.dm_env import DMEnvAdapter
        >>> make_env = lambda: DMEnvAdapter(parallel_pool.make_dm("CartPole-v1", batched=False))
        >>> envs = parallel_pool.PoolVectorEnv([make_env] * 4, num_workers=1)
        >>> envs.reset(seed=1)[0].shape
        (4, 4)
        >>> envs.close()
    """

    def __init__(self, dm_env: Any) -> None:
        """Reads the specs.

        Args:
            dm_env: a `dm_env.Environment` of one environment, with one reward and one discount.

        Raises:
            TypeError: a spec has no Gymnasium space.
        """
        self.dm_env = dm_env
        for name in ("reward_spec", "discount_spec"):
            spec = getattr(dm_env, name)()
            if not isinstance(spec, specs.Array) or math.prod(spec.shape) != 1:
                raise TypeError(
                    f"{name}() of {described(dm_env)} is {described(spec)}: Gymnasium has one"
                    f" number per step: add them up, or choose one, in a dm_env wrapper"
                )
        observation, action = dm_env.observation_spec(), dm_env.action_spec()
        self.observation_space = dm_spaces.space(observation, "observation_spec()")
        self.action_space = dm_spaces.space(action, "action_spec()")
        self._observation = dm_spaces.observation_converter(observation, "observation_spec()")
        self._action = dm_spaces.action_converter(action, "action_spec()")
        parameters = inspect.signature(dm_env.reset).parameters
        self._own_arguments = {name for name in ("seed", "options") if name in parameters}
        self._has_warned = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: given to the environment's own `reset` if that has such an argument. Otherwise it
                seeds the environment's generators, with a warning if none is found. None continues
                them.
            options: given to the environment's own `reset`, which must have such an argument.

        Returns:
            The first observation, and no infos.

        Raises:
            TypeError: options were given and the environment takes none; nothing was reset.
            TypeError, ValueError: the environment returned something else than a FIRST step.
        """
        if options and "options" not in self._own_arguments:
            raise TypeError(
                f"options={quote(options)}: reset() of {described(self.dm_env)} has no options:"
                " leave them out"
            )
        super().reset(seed=seed)
        arguments: dict[str, Any] = {"seed": seed, "options": options}
        if seed is not None and "seed" not in self._own_arguments:
            self._seed(seed)
        own = {name: arguments[name] for name in self._own_arguments}
        kind, _, _, observation = _unpacked(self.dm_env.reset(**own), "reset")
        if kind != FIRST:
            raise ValueError(
                f"reset returned a step of type {quote(kind)}: return one of type FIRST"
            )
        return self._observation(observation), {}

    def _seed(self, seed: int) -> None:
        if not seed_generators(self.dm_env, seed) and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"seed={seed} has no effect: {type(self.dm_env).__name__} has no NumPy or Python"
                " generator in an attribute, nor have its task and what it wraps: give its reset"
                " an argument `seed`",
                stacklevel=3,
            )

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Does a step.

        Args:
            action: an element of `action_space`.

        Returns:
            The observation, the reward, whether the episode terminated and whether it was
            truncated, and {"discount": float}.

        Raises:
            TypeError, ValueError: the action does not fit the spec, and nothing was stepped; or the
                environment returned something else than a time step.
        """
        result = self.dm_env.step(self._action(action))
        kind, reward, discount, observation = _unpacked(result, "step")
        is_last = kind == LAST
        info: dict[str, Any] = {}
        if discount is not None:
            info["discount"] = _number(discount, "discount")
        elif is_last:
            raise ValueError(
                "step returned a LAST step with discount None: give 0 if the episode terminates,"
                " and more if it is truncated"
            )
        terminated = is_last and info["discount"] == 0
        return (
            self._observation(observation),
            0.0 if reward is None else _number(reward, "reward"),
            terminated,
            is_last and not terminated,
            info,
        )

    def close(self) -> None:
        """Closes the environment."""
        self.dm_env.close()

    # ---------------------------------------------------------------------------- attributes --

    def __getattr__(self, name: str) -> Any:
        # copies and unpickled objects ask before there is an environment
        if name.startswith("_") or "dm_env" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.dm_env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name.startswith("_") or name in OWN or hasattr(type(self), name)
        if is_own or not hasattr(self.dm_env, name):
            super().__setattr__(name, value)
        else:
            setattr(self.dm_env, name, value)

    def __str__(self) -> str:
        return f"<{type(self).__name__}<{self.dm_env}>>"


@adapted.register(DMEnvAdapter)
def _adapted(adapter: DMEnvAdapter) -> Any:
    return adapter.dm_env


# attributes that `DMEnvAdapter` has besides those of its class
OWN = {"dm_env", "observation_space", "action_space"}


def _unpacked(result: Any, what: str) -> tuple[Any, Any, Any, Any]:
    """Returns the parts of a time step; raises TypeError if it is none, or one of a batch."""
    try:
        kind, reward, discount, observation = result
    except (TypeError, ValueError):
        raise TypeError(f"{what} returned {described(result)}: return a dm_env.TimeStep") from None
    if type(kind) is not StepType and np.ndim(kind):
        raise TypeError(
            f"{what} returned {described(kind)} as step_type: return the time step of one"
            " environment"
        )
    return kind, reward, discount, observation


def _number(value: Any, what: str) -> float:
    if type(value) is float:
        return value
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in dm_spaces.KINDS:
        raise TypeError(f"step returned {described(value)} as {what}: give one number")
    return float(array.item())
