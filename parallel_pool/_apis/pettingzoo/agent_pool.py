"""AgentPool: a pool of native environments that says which of their players act next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.pettingzoo.players import LIVE
from parallel_pool._engine.base_pool import is_in_flight
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.pool import Pool
from parallel_pool._native import ffi, lib

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array


class AgentPool(Pool):
    """A `Pool` whose states, snapshots that were put back included, say who acts in them.

    Attributes:
        restores: calls of `set_state`, to see whether states have changed between the steps.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Makes the environments; for arguments and exceptions see `Pool`."""
        self.restores = 0
        super().__init__(*arguments, **options)
        fields = enumerate(self.spec.fields)
        # None: all players act until the episode ends
        self._live_field = next(
            (i for i, it in fields if it.name == LIVE and it.marks_players), None
        )

    def set_state(self, states: Sequence[bytes], env_ids: Any = None) -> None:
        """Restores snapshots; see `Pool.set_state`."""
        try:
            super().set_state(states, env_ids)
        finally:
            # a call that fails may have changed some environments
            self.restores += 1

    def read_live(self, before: Array) -> Array:
        """Returns which players act in the next step of each environment, bool (n, k).

        Args:
            before: what stands for environments in flight.
        """
        live = before.copy()
        for env_id, row in enumerate(live):
            if is_in_flight(self, env_id):
                continue
            row[:] = not self.needs_reset(env_id)
            if self._live_field is not None and row.any():
                rows = ffi.new("void *[]", len(self.spec.fields))
                rows[self._live_field] = ffi.from_buffer(row)
                check(lib.pp_pool_observe(self._handle, env_id, rows, error_slot.raw))
        return live
