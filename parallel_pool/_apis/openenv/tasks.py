"""Tasks: OpenEnv's Task API, answered by methods of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.openenv import messages
from parallel_pool._apis.openenv.json_values import to_json
from parallel_pool._apis.openenv.messages import EXECUTION_ERROR, VALIDATION_ERROR, RequestError
from parallel_pool._engine.arguments import quote
from parallel_pool.errors import PoolError, PoolTimeoutError, StateError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease import AsyncLease

SPLIT_TYPES = ("train", "validation", "test")


class Tasks:
    """Answers the requests of the Task API with one leased environment."""

    def __init__(self, lease: AsyncLease, timeout: float) -> None:
        """
        Args:
            lease: of the environment.
            timeout: seconds of a call.
        """
        self._lease, self._timeout = lease, timeout

    async def splits(self, body: Mapping[str, Any]) -> Any:
        """Returns names and types of the splits."""
        found = await self._call("list_splits")
        if not isinstance(found, list):
            wrong = f"list_splits returned {quote(found)}: it must return a list"
            raise RequestError(EXECUTION_ERROR, wrong, 500)
        return [_split(each) for each in found]

    async def tasks(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Returns all tasks of a split."""
        messages.only(body, "split")
        return {"tasks": await self._call("list_tasks", messages.typed(body, "split", str))}

    async def num_tasks(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Returns how many tasks a split has."""
        messages.only(body, "split")
        return {"num_tasks": await self._call("num_tasks", messages.typed(body, "split", str))}

    async def task(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Returns one task of a split."""
        messages.only(body, "split", "index")
        split, index = messages.typed(body, "split", str), messages.typed(body, "index", int)
        return {"task": await self._call("get_task", split, index)}

    async def task_range(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Returns some tasks of a split, as a slice of Python selects them."""
        messages.only(body, "split", "start", "stop")
        start, stop = (messages.typed(body, name, int, None) for name in ("start", "stop"))
        split = messages.typed(body, "split", str)
        return {"tasks": await self._call("get_task_range", split, start, stop)}

    async def _call(self, name: str, *arguments: Any) -> Any:
        try:
            return to_json(await self._lease.call(name, *arguments, timeout=self._timeout))
        except IndexError:
            raise RequestError(VALIDATION_ERROR, "Invalid task index", 400) from None
        except (AttributeError, NotImplementedError) as error:
            raise _unsupported(name) from error
        except StateError as error:
            # native environments have no methods
            raise _unsupported(name) from error
        except Exception as error:
            status = 504 if isinstance(error, PoolTimeoutError) else 500
            code = EXECUTION_ERROR if isinstance(error, PoolError) else VALIDATION_ERROR
            raise RequestError(code, messages.reason(error), status) from error


def _unsupported(name: str) -> RequestError:
    message = f"{name} is not supported for this environment"
    return RequestError(EXECUTION_ERROR, message, 501)


def _split(split: Any) -> dict[str, Any]:
    if isinstance(split, dict):
        return split
    name = str(split)
    return {"name": name, "type": name if name in SPLIT_TYPES else "validation"}
