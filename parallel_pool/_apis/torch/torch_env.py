"""TorchEnv: environments that take and return PyTorch tensors."""

from __future__ import annotations

from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.torch.torch_rollouts import TorchRolloutBuffer
from parallel_pool._apis.torch.transfers import transfers_to
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.env_errors import env_error_of
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from typing import Self

    import torch


# whose results, left by Ctrl-C, a call returns
TAKES = {
    "recv": ("recv", "step", "reset"),
    "step_wait": ("step_wait", "step"),
    "reset_wait": ("reset_wait", "reset"),
}


@public("compat.torch")
class TorchEnv(Uncopied):
    """Environments whose `reset`, `step`, `send` and `recv` take and return tensors, as do the
    halves of `step` and `reset`: `step_async`, `step_wait`, `reset_async` and `reset_wait`.

    On the CPU a tensor shares the memory of the array that the environments return: nothing is
    copied. On another device it is a copy there. Like the array it is yours, and never changes
    afterwards. All else is as in `envs`, whose attributes this object has. After Ctrl-C, `recv`,
    `step_wait` or `reset_wait` returns the result that the call would have returned.

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
            device: of all tensors: "cpu", "cuda", "cuda:1", or another one of PyTorch's.

        Raises:
            TypeError: envs are no environments, or device names none.
            ValueError: PyTorch can't use this device here.
        """
        for name in ("reset", "step", "close"):
            if not callable(getattr(envs, name, None)):
                raise TypeError(
                    f"envs={quote(envs)} is {a_type(envs)}, which has no {name}(): give a"
                    " Pool, a vector environment, or what parallel_pool.make returns"
                )
        self.envs = envs
        # what a call of that name has got from the environments, and Ctrl-C has kept from the
        # caller: one result, or none
        self._left: list[Any] = []
        self._left_by = ""
        self._transfers = transfers_to(device)
        self.device: torch.device = self._transfers.device

    def reset(self, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `reset` of the environments returns, as tensors."""
        self._left = []
        return self._received("reset", self.envs.reset, arguments, keywords)

    def step(self, actions: Any, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `step` of the environments returns, as tensors.

        Args:
            actions: a tensor on the device or the CPU (or what `step` of the environments takes).
            arguments: as of the environments; tensors among them become arrays.
            keywords: as of the environments; tensors among them become arrays.

        Raises:
            TypeError: a tensor is on another device, or of a dtype that NumPy does not have.
            Exception: as of the environments; the `batch` of an `EnvError` has tensors, also where
                that is the cause of the exception.
        """
        self._left = []
        return self._received("step", self.envs.step, (actions, *arguments), keywords)

    def send(self, actions: Any, *arguments: Any, **keywords: Any) -> None:
        """Does what `send` of the environments does; see `step`."""
        if not getattr(getattr(self.envs, "pool", self.envs), "is_async", False):
            self._left = []
        self._result(self.envs.send, (actions, *arguments), keywords)

    def recv(self, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `recv` of the environments returns, as tensors."""
        return self._received("recv", self.envs.recv, arguments, keywords)

    def step_async(self, actions: Any) -> None:
        """Does what `step_async` of the environments does; see `step`."""
        self._left = []
        self._result(self.envs.step_async, (actions,), {})

    def step_wait(self, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `step_wait` of the environments returns, as tensors."""
        return self._received("step_wait", self.envs.step_wait, arguments, keywords)

    def reset_async(self, *arguments: Any, **keywords: Any) -> None:
        """Does what `reset_async` of the environments does."""
        self._left = []
        self._result(self.envs.reset_async, arguments, keywords)

    def reset_wait(self, *arguments: Any, **keywords: Any) -> Any:
        """Returns what `reset_wait` of the environments returns, as tensors."""
        return self._received("reset_wait", self.envs.reset_wait, arguments, keywords)

    def async_reset(self, *arguments: Any, **keywords: Any) -> None:
        """Does what `async_reset` of the environments does."""
        self._left = []
        self._result(self.envs.async_reset, arguments, keywords)

    def rollout(self, steps: int, *, frames: bool = False) -> TorchRolloutBuffer:
        """Returns what `rollout` of the environments returns, with tensors.

        Args:
            steps: of a rollout: 1 or more.
            frames: as of the environments; `Stacks` return arrays.

        Raises:
            TypeError: the environments have no `rollout`, as those of make_vec and make_gymnasium.
            ValueError: as of the environments.
        """
        if not callable(getattr(self.envs, "rollout", None)):
            raise TypeError(
                f"{a_type(self.envs)} has no rollouts: give what parallel_pool.make_vec or"
                " make_gymnasium returns"
            )
        return TorchRolloutBuffer(self.envs.rollout(steps, frames=frames), self._transfers)

    def _received(self, name: str, call: Any, arguments: Any, keywords: Any) -> Any:
        """Returns what a call that receives returns, or what the last one has left."""
        # a call of another thread, which is refused, may begin a list of its own
        left = self._left
        if not left or self._left_by not in TAKES.get(name, ()):
            left = self._left = []
            self._left_by = name
            self._result(partial(_keep, left, call), arguments, keywords)
        result = self._transfers.tensors(left[0])
        # no function call from here on: Python handles signals after each
        self._left = []
        return result

    def _result(self, call: Any, arguments: Any, keywords: Any) -> Any:
        transfers = self._transfers
        given = [transfers.arrays(value) for value in arguments]
        named = {name: transfers.arrays(value) for name, value in keywords.items()}
        transfers.release()
        try:
            result = call(*given, **named)
        except Exception as error:
            failed = env_error_of(error)
            if failed is not None:
                failed.batch = transfers.tensors(failed.batch)
            raise
        return transfers.tensors(result)

    def close(self, **keywords: Any) -> None:
        """Closes the environments with their own keywords, such as timeout; tensors stay valid.

        On another device than the CPU it waits for copies in flight.
        """
        try:
            self.envs.close(**keywords)
        finally:
            self._transfers.close()

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


def _keep(left: list[Any], call: Any, *arguments: Any, **keywords: Any) -> None:
    """Puts the result of a call into a list, in one step: no exception can come between the two."""
    left[:] = starmap(partial(call, *arguments, **keywords), [()])
