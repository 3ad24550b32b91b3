"""TorchEnv: environments that take and return PyTorch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common.dependencies import install
from parallel_pool._engine.actions import unreadable
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.trees import map_leaves
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool.errors import EnvError, MissingDependencyError

try:
    import torch
except ImportError as error:
    raise MissingDependencyError(
        f"tensors need PyTorch ({error}): pip install torch, or {install('sb3')}"
    ) from error

if TYPE_CHECKING:
    from typing import Self


class TorchEnv(Uncopied):
    """Environments whose `reset`, `step`, `send` and `recv` take and return tensors.

    A tensor shares the memory of the array that the environments return: nothing is copied. Like
    the array it is yours, and never changes afterwards. All else is as in `envs`, whose attributes
    this object has.

    Attributes:
        envs: the environments.
        device: of all tensors.

    Example:
        >>> with parallel_pool.make_vec("CartPole-v1", 4).torch() as envs:
        ...     observations, infos = envs.reset(seed=1)
        ...     observations, rewards, *others = envs.step(torch.zeros(4, dtype=torch.int64))
        >>> observations.shape, rewards.dtype
        (torch.Size([4, 4]), torch.float64)
    """

    def __init__(self, envs: Any, device: Any = "cpu") -> None:
        """
        Args:
            envs: a `Pool`, a vector environment, or what `parallel_pool.make` returns.
            device: "cpu".

        Raises:
            TypeError: envs are no environments, or device names none.
            NotImplementedError: another device.
        """
        for name in ("reset", "step", "close"):
            if not callable(getattr(envs, name, None)):
                raise TypeError(
                    f"envs={quote(envs)} is {a_type(envs)}, which has no {name}(): give a"
                    " Pool, a vector environment, or what parallel_pool.make returns"
                )
        self.envs = envs
        try:
            self.device = torch.device(device)
        except (TypeError, RuntimeError) as error:
            raise TypeError(f"device={quote(device)}: give 'cpu': {error}") from None
        if self.device.type != "cpu":
            raise NotImplementedError(
                f"device={quote(device)}: tensors of environments are on the CPU; copy what you"
                " need to"
                f' the device, as in observations.to("{self.device}")'
            )

    def reset(self, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `reset` of the environments returns, as tensors."""
        return self._result(self.envs.reset, arguments, keywords)

    def step(self, actions: Any, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `step` of the environments returns, as tensors.

        Args:
            actions: a tensor on the CPU (or what `step` of the environments takes).
            arguments: as of the environments; tensors among them become arrays.
            keywords: as of the environments; tensors among them become arrays.

        Raises:
            TypeError: a tensor is on another device, or of a dtype that NumPy does not have.
            Exception: as of the environments; an `EnvError.batch` has tensors.
        """
        return self._result(self.envs.step, (actions, *arguments), keywords)

    def send(self, actions: Any, *arguments: Any, **keywords: Any) -> None:
        """Does what `send` of the environments does; see `step`."""
        self._result(self.envs.send, (actions, *arguments), keywords)

    def recv(self, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `recv` of the environments returns, as tensors."""
        return self._result(self.envs.recv, arguments, keywords)

    def async_reset(self, *arguments: Any, **keywords: Any) -> None:
        """Does what `async_reset` of the environments does."""
        self._result(self.envs.async_reset, arguments, keywords)

    def _result(self, call: Any, arguments: Any, keywords: Any) -> Any:
        given = [arrays(value) for value in arguments]
        named = {name: arrays(value) for name, value in keywords.items()}
        try:
            return tensors(call(*given, **named))
        except EnvError as error:
            error.batch = tensors(error.batch)
            raise

    def close(self, **keywords: Any) -> None:
        """Closes the environments with their own keywords, such as timeout; tensors stay valid."""
        self.envs.close(**keywords)

    def __getattr__(self, name: str) -> Any:
        # only for names that this object lacks; "envs" itself, before __init__ has set it
        if name == "envs":
            raise AttributeError(name)
        return getattr(self.envs, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"TorchEnv({self.envs!r})"


def tensors(value: Any) -> Any:
    """Returns a result with tensors in place of arrays, in the same memory.

    Arrays of objects and of texts stay as they are.
    """
    return map_leaves(_tensor, value)


def _tensor(value: Any) -> Any:
    is_tensor = isinstance(value, np.ndarray) and value.dtype.kind not in "OSUV"
    return torch.from_numpy(value) if is_tensor else value


def arrays(value: Any) -> Any:
    """Returns a value with arrays in place of tensors, in the same memory."""
    return map_leaves(_array, value)


def _array(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    try:
        return value.detach().numpy()
    except Exception as error:
        raise unreadable("actions", value.detach(), error) from error
