"""Pictures of the simulations of a `mujoco.batch.Batch`."""

from __future__ import annotations

from typing import Any, ClassVar

from parallel_pool._families import mujoco
from parallel_pool._families.mujoco_renderer import MODES, SceneRenderer


class BatchRenderer(SceneRenderer):
    """Draws the simulations of a batch; shapes and colours are those of the model.

    Attributes:
        modes: the render modes.
    """

    modes: ClassVar[tuple[str, ...]] = MODES

    def __init__(self, batch: Any, name: str, mode: str, **options: Any) -> None:
        """
        Args:
            batch: the batch; a weak reference will do.
            name, mode, options: as for `SceneRenderer`.
        """
        self._batch = batch
        super().__init__(batch.model, name, mode, **options)

    def _load(self, env_id: int) -> None:
        self._batch.get_data(env_id, self._data)
        # outputs of the batch may be those of another simulation
        mujoco.import_mujoco().mj_forward(self._model, self._data)
