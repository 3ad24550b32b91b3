"""World: stands for one world of a batch, in what is called or asked of single environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._families import mujoco_batch

if TYPE_CHECKING:
    from parallel_pool._apis.mujoco_batch.task_worlds import TaskWorlds


class World:
    """One world of a task; has also the task's own attributes.

    Attributes:
        spec: None, as no id is registered.
    """

    __slots__ = ("_env_id", "_worlds")

    spec = None

    def __init__(self, worlds: TaskWorlds, env_id: int) -> None:
        """
        Args:
            worlds: all of them.
            env_id: which one.
        """
        self._worlds = worlds
        self._env_id = env_id

    @property
    def unwrapped(self) -> World:
        """This object."""
        return self

    @property
    def observation_space(self) -> Any:
        """Of this world."""
        return self._worlds.observation_space

    @property
    def action_space(self) -> Any:
        """Of this world."""
        return self._worlds.action_space

    @property
    def metadata(self) -> dict[str, Any]:
        """As of all worlds."""
        return dict(self._worlds.metadata)

    @property
    def render_mode(self) -> str | None:
        """As of all worlds."""
        return self._worlds.render_mode

    @property
    def np_random(self) -> Any:
        """The world's generator; None before its first reset."""
        return self._worlds.generators[self._env_id]

    @property
    def np_random_seed(self) -> int | None:
        """From which the generator was made."""
        return self._worlds.seeds[self._env_id]

    @property
    def model(self) -> Any:
        """A copy of the MjModel, with this world's values."""
        return self._worlds.batch.get_model(self._env_id)

    @property
    def data(self) -> Any:
        """A new MjData with this world's state, on which mj_forward was called."""
        return mujoco_batch.data_of(self._worlds.batch, self._env_id)[1]

    def render(self) -> Any:
        """Returns a picture; None without a render mode."""
        return self._worlds.draw(self._env_id)

    def __getattr__(self, name: str) -> Any:
        # only for names that this class lacks; a row of the world's own values
        task = self._worlds.task
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(task, name)
        return value[self._env_id].copy() if name in task.own else value

    def close(self) -> None:
        """Closes all worlds: they are closed together."""
        self._worlds.close()
