"""Pictures of the simulations of a `mujoco.batch.Batch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._families import mujoco
from parallel_pool._families.mujoco_renderer import MODES, SceneRenderer

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

SEGMENTATION = "segmentation_array"


class BatchRenderer(SceneRenderer):
    """Draws the simulations of a batch; shapes and colours are those of the model.

    Attributes:
        modes: the render modes.
    """

    modes: ClassVar[tuple[str, ...]] = (*MODES, SEGMENTATION)

    def __init__(self, batch: Any, name: str, mode: str, **options: Any) -> None:
        """
        Args:
            batch: the batch; a weak reference will do.
            name, options: as for `SceneRenderer`.
            mode: one of `modes`.

        Raises:
            TypeError, ValueError: an argument is wrong.
        """
        if mode not in self.modes:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, self.modes))}")
        self._batch = batch
        self._shows_objects = mode == SEGMENTATION
        super().__init__(batch.model, name, MODES[0] if self._shows_objects else mode, **options)

    def _load(self, env_id: int) -> None:
        self._batch.get_data(env_id, self._data)
        # outputs of the batch may be those of another simulation
        mujoco.import_mujoco().mj_forward(self._model, self._data)

    def _draw_first(self, env_id: int) -> Any:
        picture = super()._draw_first(env_id)
        return self._objects() if self._shows_objects else picture

    def _draw_again(self, env_id: int) -> Any:
        if not self._shows_objects:
            return super()._draw_again(env_id)
        viewer = self._gymnasium_renderer.viewer
        viewer.make_context_current()
        viewer.cam = self._camera(env_id)
        return self._objects()

    def _objects(self) -> Array:
        """Returns what each pixel shows, int32 (height, width, 2): ids of objects and their types.

        Gymnasium's own, which has the two in the other order, fails with NumPy 2.
        """
        library = mujoco.import_mujoco()
        viewer = self._gymnasium_renderer.viewer
        scene, camera = viewer.scn, viewer.cam
        camera.fixedcamid = number = self._gymnasium_renderer.camera_id
        camera_types = library.mjtCamera
        is_free = number == -1
        camera.type = camera_types.mjCAMERA_FREE if is_free else camera_types.mjCAMERA_FIXED
        library.mjv_updateScene(
            *(viewer.model, viewer.data, viewer.vopt, viewer.pert, camera),
            *(library.mjtCatBit.mjCAT_ALL, scene),
        )
        names = library.mjtRndFlag
        flags = [int(names.mjRND_SEGMENT), int(names.mjRND_IDCOLOR)]
        scene.flags[flags] = 1
        library.mjr_render(viewer.viewport, scene, viewer.con)
        scene.flags[flags] = 0
        colours = np.empty((viewer.viewport.height, viewer.viewport.width, 3), np.uint8)
        library.mjr_readPixels(colours, None, viewer.viewport, viewer.con)
        # a colour is the number of a shape, from 1 on; 0 is the background
        numbers: Array = colours[::-1] @ np.array([1, 1 << 8, 1 << 16])
        shapes = [(shape.segid, shape.objid, shape.objtype) for shape in scene.geoms[: scene.ngeom]]
        found = np.array([shape for shape in shapes if shape[0] >= 0], np.int32).reshape(-1, 3)
        objects: Array = np.full((scene.ngeom + 1, 2), -1, np.int32)
        objects[found[:, 0] + 1] = found[:, 1:]
        return objects.take(numbers, axis=0)
