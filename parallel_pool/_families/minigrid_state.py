"""What minigrid's environments call the parts of a native state of MiniGrid."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.pool import write_state
from parallel_pool._families import minigrid

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool

# mg_state of csrc/envs/minigrid/grid.h: place, direction, steps and their limit; mission; carried
# object; places; what BabyAI's rules need; seeds
HEADER = struct.Struct("2i 3i 4i 4B 16x 4x 4x")
# mg_cell: kind, color, state, tag
CELL = struct.Struct("4B")
# cells of the largest grid
MAX_CELLS = 64 * 64


@dataclass(frozen=True)
class State:
    """A native state.

    Attributes:
        position: column and row of the agent.
        direction: of the agent, 0 to 3 from right on, clockwise.
        steps, max_steps: of the episode.
        mission: its code, of four words.
        carried: kind, color, state and tag of what the agent carries; zeros for nothing.
        cells: bytes of all cells of the grid, row by row, and what lies behind them.
    """

    position: tuple[int, int]
    direction: int
    steps: int
    max_steps: int
    mission: tuple[int, ...]
    carried: tuple[int, ...]
    cells: bytes


def read(pool: Pool, env_id: int) -> State:
    """Returns the state of an environment.

    Raises:
        StateError: it is in flight, or was never reset.
    """
    memory = np.zeros(HEADER.size + CELL.size * MAX_CELLS, np.uint8)
    write_state(pool, env_id, memory.ctypes.data)
    written = memory.tobytes()
    x, y, direction, steps, max_steps, *rest = HEADER.unpack_from(written)
    cells = written[HEADER.size :]
    return State((x, y), direction, steps, max_steps, tuple(rest[:4]), tuple(rest[4:]), cells)


def put(env: Any, state: State) -> None:
    """Gives minigrid's environment a native state."""
    env.agent_pos, env.agent_dir, env.step_count = state.position, state.direction, state.steps
    env.carrying = thing(*state.carried)
    cells = CELL.iter_unpack(state.cells[: CELL.size * env.width * env.height])
    env.grid.grid = [thing(*cell) for cell in cells]


def thing(kind: int, color: int, state: int, tag: int) -> Any:
    """Returns minigrid's object of a cell, None for an empty one; no picture shows its tag."""
    return minigrid.objects().WorldObj.decode(kind, color, state)
