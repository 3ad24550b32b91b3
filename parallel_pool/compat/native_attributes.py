"""Attributes of native environments: what can be asked of them by name, though they live in C."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Space

from parallel_pool.compat import renderer
from parallel_pool.pool import Pool

# Attributes of references that only some steps change, so that a few steps do not show it.
CHANGING = {"steps_beyond_terminated"}
# those that pictures change
DRAWN = {"screen", "clock", "surf", "isopen"}
# what ale_py's environment can be asked for that depends on the game alone
METHODS = {"get_action_meanings", "get_keys_to_action"}

PLAIN = (bool, int, float, str, np.generic, np.ndarray, Space, type(None))

CURE = 'make Python environments: backend="process", or Gymnasium\'s vectorization_mode="sync"'


class Reference:
    """The Gymnasium environment that native ones equal, for what no step of theirs changes.

    It is made when it is first asked.
    """

    def __init__(self, spec: EnvSpec | None, options: Mapping[str, Any], *, draws: bool) -> None:
        """
        Args:
            spec: of the environment; None for none.
            options: of its constructor.
            draws: the native environments have a render mode.
        """
        self._spec, self._options, self._draws = spec, dict(options), draws
        self._env: Any = None
        self._values: dict[str, Any] = {}

    def values(self) -> Mapping[str, Any]:
        """Returns its public attributes that are plain values and always the same."""
        if self._spec is not None and self._env is None:
            spec, self._spec = self._spec, None
            try:
                # a spec of make_vec holds the vector environment's arguments, too
                spec = copy.deepcopy(spec)
                spec.kwargs = {}
                made = gymnasium.make(spec, disable_env_checker=True, **self._options)
            except (ImportError, gymnasium.error.Error):
                # Gymnasium no longer has it, or not for what is installed
                return self._values
            self._env = env = made.unwrapped
            seen = []
            for seed in (0, 1):
                made.reset(seed=seed)
                made.action_space.seed(seed)
                made.step(made.action_space.sample())
                seen.append(self._look(env))
            before, after = seen
            self._values = {
                name: value
                for name, value in after.items()
                if name in before and _is_same(before[name], value)
            }
        return self._values

    def _look(self, env: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        left_out = CHANGING | (DRAWN if self._draws else set())
        for name in dir(env):
            computed = isinstance(getattr(type(env), name, None), property)
            # all properties but the seconds of a step follow from the state
            if name.startswith("_") or name in left_out or (computed and name != "dt"):
                continue
            value = getattr(env, name, self)
            if _is_plain(value):
                found[name] = copy.deepcopy(value)
        return found

    def changes(self, name: str) -> bool:
        """Says whether it has an attribute that is not always the same."""
        return name not in self.values() and hasattr(self._env, name)

    def call(self, name: str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Returns what one of METHODS returns; raises AttributeError if there is no such method."""
        self.values()
        return getattr(self._env, name)(*args, **kwargs)

    def close(self) -> None:
        """Closes it, if it was made."""
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


def of_options(pool: Pool, drawing: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the constructor's options, those of pictures included, with their values.

    Args:
        pool: of the environments.
        drawing: options of pictures that were given.
    """
    described = pool.definition.options
    options = {
        name: value for name, value in pool.spec.options.items() if not described[name].is_hidden
    }
    return {**options, **renderer.defaults(pool.definition), **drawing}


def get(
    name: str,
    pool: Pool,
    known: Mapping[str, Any],
    instead: str,
    reference: Reference | None = None,
) -> Any:
    """Returns an attribute that is the same for every environment.

    Args:
        name: of the attribute.
        pool: of the environments.
        known: those that need no reference, and those that it has not.
        instead: what to do for another, for the message.
        reference: whose attributes hold before options of the same name; None for none.

    Raises:
        AttributeError: it is none of them, or may be another at each step.
    """
    constant: Mapping[str, Any] = {}
    is_known = name in known
    if reference is not None and name not in SHOWN:
        constant = reference.values()
        is_known = is_known and not reference.changes(name)
    if name in constant:
        return constant[name]
    if not is_known:
        raise AttributeError(
            f"{name}: {pool.definition.id} is native, its state lives in C, and there are no Python"
            f" objects to ask for what is none of the constants. Known are"
            f" {', '.join({**known, **constant})}, np_random_seed; for others {instead}"
        )
    return known[name]


# what vector environments tell themselves
SHOWN = {"spec", "metadata", "render_mode", "observation_space", "action_space"}
