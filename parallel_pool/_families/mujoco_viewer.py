"""WorldView: MuJoCo's viewer of one simulation of a batch, beside the running batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._families.mujoco import import_mujoco
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from typing import Self


@public("mujoco_batch")
class WorldView:
    """A window of `mujoco.viewer` that shows one world; see `BatchVectorEnv.view`.

    The window has a model and data of its own, so that it may be moved and paused while the batch
    goes on; what is changed in it changes nothing in the batch.

    Attributes:
        is_open: whether the window is there.

    Example:
        >>> envs = parallel_pool.mujoco_batch.BatchVectorEnv(Balance, 4)
        >>> observations, infos = envs.reset(seed=1)
        >>> with envs.view(3) as view:
        ...     while view.is_open:
        ...         results = envs.step(envs.action_space.sample())
        ...         view.update()
        >>> envs.close()
    """

    def __init__(self, batch: Any, env_id: int) -> None:
        """Opens the window.

        Args:
            batch: the `mujoco.batch.Batch`.
            env_id: the world.
        """
        import mujoco.viewer  # type: ignore[import-untyped]

        self._batch = batch
        self._env_id = env_id
        self._model, self._data = batch.get_model(env_id), batch.get_data(env_id)
        self._window = mujoco.viewer.launch_passive(self._model, self._data)
        self.update()

    @property
    def is_open(self) -> bool:
        """Whether the window is there; the user may have closed it."""
        return bool(self._window.is_running())

    def update(self) -> None:
        """Shows the world as it is now; does nothing once the window is closed."""
        if not self.is_open:
            return
        with self._window.lock():
            self._batch.get_model(self._env_id, self._model)
            self._batch.get_data(self._env_id, self._data)
            import_mujoco().mj_forward(self._model, self._data)
        self._window.sync()

    def close(self) -> None:
        """Closes the window."""
        self._window.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
