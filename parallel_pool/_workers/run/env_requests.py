"""Requests: what the parent process can ask of a worker's environments besides stepping them.

A request is a tuple (kind, ids of environments, further arguments). The kind chooses a function of
`KINDS`, which gets the environments themselves. To ask something of the worker and not of its
environments, name one of them. `env_calls` is the parent's side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parallel_pool._engine.strict_zip import zip


def answer(envs: Sequence[Any], kind: str, *arguments: Any) -> Any:
    """Returns the answer to a request: a value for each environment, or None for "set"."""
    return KINDS[kind](envs, *arguments)


def _call(envs: Sequence[Any], name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Calls a method of environments, or gets an attribute that can't be called."""
    results = []
    for env in envs:
        found = _get_one(env, name)
        results.append(found(*args, **kwargs) if callable(found) else found)
    return results


def _get(envs: Sequence[Any], name: str) -> list[Any]:
    """Gets an attribute, which may be a method."""
    return [_get_one(env, name) for env in envs]


def _get_one(env: Any, name: str) -> Any:
    return env.get_wrapper_attr(name) if hasattr(env, "get_wrapper_attr") else getattr(env, name)


def _set(envs: Sequence[Any], name: str, values: Sequence[Any]) -> None:
    """Sets an attribute of environments, each to its value."""
    for env, value in zip(envs, values, strict=True):
        if hasattr(env, "set_wrapper_attr"):
            env.set_wrapper_attr(name, value)
        else:
            setattr(env, name, value)


def _apply(envs: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
    """Calls a function with each environment."""
    return [function(env) for env in envs]


KINDS: dict[str, Callable[..., Any]] = {"call": _call, "get": _get, "set": _set, "apply": _apply}
