"""PlayerColumns: the arrays of native environments with several players, by group of agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common.masks import has_any
from parallel_pool._apis.common.native_infos import VectorInfos
from parallel_pool._apis.common.vector_infos import finals_of, in_order_of_rows
from parallel_pool._apis.pettingzoo import groups
from parallel_pool._apis.pettingzoo.groups import AgentArrays
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.present_states import observe_columns
from parallel_pool._engine.trees import put_rows
from parallel_pool._native import lib

if TYPE_CHECKING:
    from parallel_pool._apis.common.native_infos import DTypes
    from parallel_pool._apis.pettingzoo.groups import AgentGroup
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Field

    Batch = Sequence[Array]


# per-player infos by which a game says who acts, whose episode ends, and who got what (pp_env.h)
LIVE, ENDED, GIVEN = "live", "ended", "given"
MARKS = (LIVE, ENDED, GIVEN)


class PlayerColumns:
    """Converts between a pool's batches, which have an axis of players, and arrays of groups.

    Attributes:
        possible_agents: a list of all agents: the players' names.
        groups: of the agents.
        follows: whether the dtype of any info follows that of the action.
    """

    def __init__(self, pool: Pool) -> None:
        """
        Args:
            pool: with rewards of float64.
        """
        spec = pool.spec
        self.possible_agents: list[Any] = list(spec.player_names)
        self._seen = spec.observations
        self._fields = {field.name: field for field in spec.infos if field.per_player}
        self._action = spec.action
        self._read_columns(pool)
        # bits of "given" that say who got an info
        told = [name for name in self._fields if name not in self._marks]
        self._bits = {name: 1 << (lib.PP_GIVEN_INFOS + i) for i, name in enumerate(told)}
        players = range(spec.num_players)
        names = self.possible_agents
        seen = [_space(spec.observations, player) for player in players]
        acts = [spec.action.of_player(player).space() for player in players]
        self.groups = groups.group_agents(
            names, dict(zip(names, seen, strict=True)), dict(zip(names, acts, strict=True))
        )
        # where a group's part of a column per player lies
        self._parts = {
            (group.agents, field.name): _part(group, field)
            for group in self.groups
            for field in spec.observations
            if field.per_player
        }

    def _read_columns(self, pool: Pool) -> None:
        """Stores the indices of the columns that results are made of."""
        engine = engine_indices(pool.columns)
        self._env_id, self._reward, self._elapsed = (
            engine[name] for name in ("env_id", "reward", "elapsed_step")
        )
        self._terminated, self._truncated = engine["terminated"], engine["truncated"]
        names = {field.name for field in pool.spec.infos if field.marks_players} & {*MARKS}
        marks = [(i, it) for i, it in enumerate(pool.columns) if it.field >= 0 and it.name in names]
        self._marks = {column.name: i for i, column in marks if not column.is_final}
        self._final_marks = {column.name: i for i, column in marks if column.is_final}
        # the first column of last observations; None unless the step that ends an episode begins
        # the next one
        self._finals = next((i for i, it in enumerate(pool.columns) if it.is_final), None)
        # marks are none of the infos that users see
        hidden = {i for i, _ in marks}
        columns = [
            replace(column, field=-1) if i in hidden else column
            for i, column in enumerate(pool.columns)
        ]
        self._infos = VectorInfos(pool.spec, columns)
        self.follows = self._infos.follows

    def joined(self, blocks: Sequence[Any], live: Array) -> Array:
        """Returns the actions of all players as one array.

        What a player does not need is 0, and so are the actions of players that do not act, as the
        pool checks them all.

        Args:
            blocks: the actions of each group (n, agents, ...).
            live: bool (n, k): which players act.
        """
        n, k = len(blocks[0]), len(self.possible_agents)
        field = self._action
        if len(blocks) == 1 and self.groups[0].action_space.shape == field.shape:
            joined = np.asarray(blocks[0])
        else:
            dtype = np.result_type(*(np.asarray(block).dtype for block in blocks))
            joined = np.zeros((n, k, *field.shape), dtype)
            for group, block in zip(self.groups, blocks, strict=True):
                ends = tuple(slice(size) for size in group.action_space.shape or ())
                joined[(slice(None), group.columns, *ends)] = block
        if LIVE in self._marks and not live.all():
            joined = joined.copy()
            joined[~live] = 0
        return joined if k > 1 and field.per_player else joined[:, 0]

    def live(self, pool: Pool, env_ids: Sequence[int]) -> Array:
        """Returns which players act in the present states of environments, bool (rows, k).

        Args:
            pool: of the environments.
            env_ids: those that go on without a reset.
        """
        shape = len(env_ids), len(self.possible_agents)
        if LIVE not in self._marks:
            return np.ones(shape, np.bool_)
        (live,) = observe_columns(pool, [pool.columns[self._marks[LIVE]]], env_ids)
        return live.reshape(shape)

    # --------------------------------------------------------------------------------- results --

    def restarted(self, batch: Batch) -> Array:
        """Returns which rows of a batch show the first state of an episode, bool (rows,)."""
        begins: Array = batch[self._elapsed] == 0
        if self._finals is None:
            return begins
        return begins | batch[self._terminated] | batch[self._truncated]

    def arrays(self, batch: Batch, live: Array, dtypes: DTypes = None) -> AgentArrays:
        """Returns the arrays of a batch.

        Args:
            batch: an array for each of the pool's columns, with rows of any environments.
            live: bool (n, k): which agents of all environments acted before.
            dtypes: of the actions, if infos follow them.
        """
        env_ids, terminated, truncated = (
            batch[self._env_id],
            batch[self._terminated],
            batch[self._truncated],
        )
        # rows of all environments are in order
        acted = live if len(env_ids) == len(live) else live[env_ids]
        shape, ended = acted.shape, terminated | truncated
        terminations = np.repeat(terminated[:, np.newaxis], shape[1], 1)
        truncations = np.repeat(truncated[:, np.newaxis], shape[1], 1)
        if ENDED in self._marks:
            terminations = self._last(batch, ENDED, ended, shape)
            # the episodes of the other players are over already
            truncations &= acted
        if GIVEN in self._marks:
            given = self._last(batch, GIVEN, ended, shape)
            # at a time limit of the engine's, those go on whom their environment did not end
            goes_on = self._last(batch, LIVE, ended, shape)
            truncations = (given & lib.PP_GIVEN_TRUNCATED > 0) | (truncations & goes_on)
        acting = np.ones(shape, np.bool_)
        if LIVE in self._marks:
            acting = batch[self._marks[LIVE]].reshape(shape).copy()
        if self._finals is None:
            acting &= ~ended[:, np.newaxis]
        return AgentArrays(
            self.blocks(batch),
            batch[self._reward].reshape(shape),
            terminations,
            truncations,
            acting,
            self._infos_of(batch, ended, dtypes),
            env_ids,
        )

    def _last(self, batch: Batch, name: str, ended: Array, shape: tuple[int, ...]) -> Array:
        """Returns a mark (rows, k) of a step, also where the next episode has begun since."""
        found: Array = batch[self._marks[name]].reshape(shape).copy()
        if self._finals is not None and has_any(ended):
            found[ended] = batch[self._final_marks[name]].reshape(shape)[ended]
        return found

    def blocks(self, batch: Batch, first: int = 0) -> tuple[Any, ...]:
        """Returns what the agents of each group see.

        Args:
            batch: arrays, such as those of `Pool.observe`.
            first: index of the first observation among them.
        """
        return tuple(self._block(group, batch, first) for group in self.groups)

    def _block(self, group: AgentGroup, batch: Batch, first: int) -> Any:
        """Returns what the agents of a group see."""
        if len(self._seen) == 1:
            return self._of_group(group, self._seen[0], batch[first])
        return {
            field.name: self._of_group(group, field, batch[first + i])
            for i, field in enumerate(self._seen)
        }

    def _of_group(self, group: AgentGroup, field: Field, values: Array) -> Array:
        """Returns the part (n, agents, ...) of a column that a group has, in its own size."""
        if not field.per_player:
            # what all players see is the same
            shape = (len(values), len(group.agents), *values.shape[1:])
            return np.broadcast_to(values[:, np.newaxis], shape).copy()
        if len(self.possible_agents) == 1:
            values = values[:, np.newaxis]
        part: Array = values[self._parts[group.agents, field.name]]
        return part

    # ----------------------------------------------------------------------------------- infos --

    def _infos_of(self, batch: Batch, ended: Array, dtypes: DTypes) -> dict[Any, Any]:
        """Returns the infos of a batch by agent, with those about episodes that have ended."""
        has_finals = self._finals is not None and has_any(ended)
        if self._infos.is_empty and not has_finals:
            return {agent: {} for agent in self.possible_agents}
        columns, restarted = tuple(batch), self.restarted(batch)
        infos: dict[str, Any] = {}
        final_info: dict[str, Any] = {}
        if has_finals:
            final_info = in_order_of_rows(self._infos.of_ends(columns, ended, dtypes))
            infos = finals_of(None, ended, final_info)
        if not self._infos.is_empty:
            infos.update(self._infos.of_step(columns, restarted, dtypes))
        if len(infos) > 2 and (self._infos.is_partial or has_any(restarted)):
            infos = in_order_of_rows(infos)
        found = self._by_agent(infos, batch, self._marks)
        if has_finals:
            found["final_obs"] = self._final_observations(batch, ended)
            found["final_info"] = self._by_agent(final_info, batch, self._final_marks)
        return found

    def _by_agent(
        self, infos: dict[str, Any], batch: Batch, marks: dict[str, int]
    ) -> dict[Any, Any]:
        """Returns a vector environment's infos by agent; those of all players stay as they are.

        Args:
            infos: of the batch.
            batch: the batch.
            marks: the columns that say what happened in the same steps.
        """
        found: dict[Any, Any] = {agent: {} for agent in self.possible_agents}
        for key, values in infos.items():
            field = self._fields.get(key)
            if field is None:
                if not (key.startswith("_") and key[1:] in self._fields):
                    found[key] = values
                continue
            masks = self._masks(infos, key, batch, marks)
            for player, (agent, mask) in enumerate(zip(self.possible_agents, masks, strict=True)):
                if mask is None:
                    continue
                own = values if len(self.possible_agents) == 1 else values[:, player]
                if field.player_sizes is not None:
                    own = own[:, : field.player_sizes[player]]
                found[agent][key] = own.copy()
                found[agent][f"_{key}"] = mask
        return found

    def _masks(
        self, infos: dict[str, Any], key: str, batch: Batch, marks: dict[str, int]
    ) -> list[Array | None]:
        """Returns for each player which environments have an info of it; None if none has.

        That is known where the environment says what it gives.
        """
        mask: Array = infos[f"_{key}"]
        if GIVEN not in marks:
            return [mask.copy() for _ in self.possible_agents]
        given = batch[marks[GIVEN]].reshape(len(mask), -1).T
        masks: Array = (given & self._bits[key] > 0) & mask
        return [own if has_any(own) else None for own in masks]

    def _final_observations(self, batch: Batch, ended: Array) -> dict[Any, Any]:
        """Returns the last observations of ended episodes by agent: arrays (n, ...)."""
        assert self._finals is not None
        found: dict[Any, Any] = {}
        for group in self.groups:
            block = groups.zeros(group.observation_space, (len(ended), len(group.agents)))
            put_rows(block, ended, groups.take(self._block(group, batch, self._finals), ended))
            found.update(groups.by_agent(group, block))
        return {agent: found[agent] for agent in self.possible_agents}

    # ----------------------------------------------------------------------------------- state --

    def state(self, seen: Any) -> Array:
        """Returns all that the agents see, one after another (n, ...), as mpe2 does.

        Args:
            seen: what `Pool.observe` returns.
        """
        parts = []
        for player in range(len(self.possible_agents)):
            for field, values in zip(self._seen, seen, strict=True):
                if field.per_player and len(self.possible_agents) > 1:
                    values = values[:, player]
                ends = tuple(slice(size) for size in field.of_player(player).shape)
                parts.append(values[(slice(None), *ends)].reshape(len(values), -1))
        return np.concatenate(parts, axis=1)


def _part(group: AgentGroup, field: Field) -> tuple[Any, ...]:
    """Returns the index of a group's part of a column (n, k, ...), in the group's own size."""
    shape = field.of_player(group.indices[0]).shape
    return slice(None), group.columns, *(slice(size) for size in shape)


def _space(fields: Sequence[Field], player: int) -> Any:
    """Returns the space of what a player sees."""
    if len(fields) == 1:
        return fields[0].of_player(player).space()
    from gymnasium import spaces

    return spaces.Dict([(field.name, field.of_player(player).space()) for field in fields])
