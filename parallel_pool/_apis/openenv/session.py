"""Session: one client's environment, in OpenEnv's terms."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.openenv import messages
from parallel_pool._apis.openenv.json_reader import from_json
from parallel_pool._apis.openenv.json_values import Arrays, to_json
from parallel_pool._apis.openenv.messages import EXECUTION_ERROR, VALIDATION_ERROR, RequestError
from parallel_pool.errors import ClosedError, NotResetError, PoolTimeoutError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease import AsyncLease

# OpenEnv's limit of an episode's name
MAX_EPISODE_ID = 255


class Session:
    """Steps and resets one leased environment.

    A call that fails leaves the session as it is: the client may reset.
    """

    def __init__(
        self, lease: AsyncLease, step_timeout: float, reset_timeout: float, arrays: Arrays
    ) -> None:
        """
        Args:
            lease: of the environment.
            step_timeout: seconds of a step.
            reset_timeout: seconds of a reset.
            arrays: how arrays are written.
        """
        self._lease = lease
        self._step_timeout, self._reset_timeout = step_timeout, reset_timeout
        self._arrays = arrays
        self._episode_id: str | None = None
        self._step_count = 0

    async def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Begins an episode; fields besides seed and episode_id are the reset's options.

        Raises:
            RequestError: a field is wrong, or the environment has failed.
        """
        seed = messages.typed(data, "seed", int, None)
        if seed is not None and seed < 0:
            raise RequestError(VALIDATION_ERROR, f"seed={seed}: give 0 or more")
        episode_id = messages.typed(data, "episode_id", str, None)
        if episode_id is not None and len(episode_id) > MAX_EPISODE_ID:
            raise RequestError(
                VALIDATION_ERROR, f"episode_id: give {MAX_EPISODE_ID} characters or fewer"
            )
        options = dict(messages.typed(data, "options", dict, None) or {})
        named = ("seed", "episode_id", "options")
        options.update((name, data[name]) for name in data if name not in named)
        try:
            observation, info = await self._lease.reset(
                seed=seed, options=options or None, timeout=self._reset_timeout
            )
            result = self._result(observation, None, False, False, info)
        except Exception as error:
            raise _failed(error) from error
        self._episode_id, self._step_count = episode_id or uuid.uuid4().hex, 0
        return result

    async def step(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Makes a step with the field "action"; "metadata", which all actions have, is ignored.

        Raises:
            RequestError: the action is not in its space, there is no memory to read it, or the
                environment has failed.
        """
        messages.only(data, "action", "metadata")
        if "action" not in data:
            raise RequestError(VALIDATION_ERROR, "action is missing")
        try:
            action = from_json(data["action"], self._lease.action_space, "action")
        except ValueError as error:
            raise RequestError(VALIDATION_ERROR, str(error)) from None
        except MemoryError:
            raise messages.no_memory() from None
        try:
            result = self._result(*await self._lease.step(action, timeout=self._step_timeout))
        except Exception as error:
            raise _failed(error) from error
        self._step_count += 1
        return result

    def state(self) -> dict[str, Any]:
        """Returns the name of the episode, and how many steps it has made."""
        return {"episode_id": self._episode_id, "step_count": self._step_count}

    def _result(
        self, observation: Any, reward: Any, terminated: bool, truncated: bool, info: Any
    ) -> dict[str, Any]:
        metadata = to_json(info, self._arrays)
        shown = {"observation": to_json(observation, self._arrays), "metadata": metadata}
        shown.update(terminated=bool(terminated), truncated=bool(truncated))
        result = {"observation": shown, "reward": to_json(reward)}
        result["done"] = bool(terminated or truncated)
        # twice, as OpenEnv's servers do, whose clients read one or the other
        return {**result, "metadata": metadata} if metadata else result


def _failed(error: Exception) -> RequestError:
    """Returns the error that the client gets for a call that failed."""
    if isinstance(error, ClosedError):
        return RequestError(messages.SESSION_ERROR, "the server is closing", 503)
    status = 504 if isinstance(error, PoolTimeoutError) else 500
    if isinstance(error, NotResetError):
        status = 409
    return RequestError(EXECUTION_ERROR, messages.reason(error), status)
