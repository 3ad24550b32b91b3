"""ReferenceEnv: a Gymnasium environment as the source of attributes that never change."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Space

from parallel_pool._apis.common import attribute_options
from parallel_pool._apis.common.assignments import Assignments
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.variation import first_options

# the seeds of the episodes in which constants are compared, and the most steps of one
SEEDS, STEPS = (0, 1, 2), 20
# methods of ale_py's environment whose result depends on the game alone
METHODS = {"get_action_meanings", "get_keys_to_action"}

PLAIN = (bool, int, float, str, np.generic, np.ndarray, Space, type(None))


class ReferenceEnv:
    """The Gymnasium environment that native ones equal, as the source of constant attributes.

    It is made at its first use.
    """

    def __init__(
        self, spec: EnvSpec | None, options: Mapping[str, Any], *, draws: bool, pool: Pool
    ) -> None:
        """
        Args:
            spec: of the environment; None if there is none.
            options: of its constructor.
            draws: whether the native environments have a render mode.
            pool: the native environments.
        """
        self._spec, self._draws = spec, draws
        self._options, self._attributes = attribute_options.split(
            pool.definition, first_options(options)
        )
        self._env: Any = None
        self._values: dict[str, Any] = {}

    def values(self) -> Mapping[str, Any]:
        """Returns its public attributes that are plain values and never change.

        They are those that the constructor sets, that no code of a reset or a step changes, and
        that are the same after some episodes. A doubt counts as a change.
        """
        if self._spec is not None and self._env is None:
            spec, self._spec = self._spec, None
            try:
                # a spec of make_vec holds the vector environment's arguments, too
                spec = copy.deepcopy(spec)
                spec.kwargs = {}
                made = gymnasium.make(spec, disable_env_checker=True, **self._options)
            except (ImportError, AssertionError, gymnasium.error.Error):
                # this Gymnasium has no such environment, or a package of it is missing or too new,
                # as MuJoCo is for assertions of Gymnasium-Robotics
                return self._values
            self._env = env = made.unwrapped
            attribute_options.apply(env, self._attributes)
            found = self._plain_attributes(env)
            for seed in SEEDS:
                for later in self._play(made, seed):
                    found = {
                        name: value
                        for name, value in found.items()
                        if name in later and _is_same(value, later[name])
                    }
            roots = ("reset", "step", "render") if self._draws else ("reset", "step")
            changes = Assignments(type(env), roots, draws=self._draws)
            self._values = {
                name: value for name, value in found.items() if not changes.may_change(name, value)
            }
        return self._values

    def _play(self, made: Any, seed: int) -> Iterator[dict[str, Any]]:
        """Yields the attributes after the reset and the last step of an episode."""
        made.reset(seed=seed)
        made.action_space.seed(seed)
        yield self._plain_attributes(made.unwrapped)
        for _ in range(STEPS):
            *_, terminated, truncated, _ = made.step(made.action_space.sample())
            if terminated or truncated:
                break
        yield self._plain_attributes(made.unwrapped)

    def _plain_attributes(self, env: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in dir(env):
            computed = isinstance(getattr(type(env), name, None), property)
            # every property but dt, the seconds of a step, depends on the state
            if name.startswith("_") or (computed and name != "dt"):
                continue
            # `self` marks a missing attribute: it is not plain
            value = getattr(env, name, self)
            if _is_plain(value):
                found[name] = copy.deepcopy(value)
        return found

    def changes(self, name: str) -> bool:
        """Returns whether it has this attribute and the attribute may change."""
        return name not in self.values() and hasattr(self._env, name)

    def call(self, name: str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Calls one of METHODS; raises AttributeError if there is no such method."""
        self.values()
        return getattr(self._env, name)(*args, **kwargs)

    def close(self) -> None:
        """Closes the environment if it was made."""
        if self._env is not None:
            self._env.close()


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, PLAIN)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)
