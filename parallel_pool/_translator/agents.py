"""Agents: the C file of a class with several agents, which act at the same time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._translator import containers, definition, loops, operators, storage
from parallel_pool._translator.body import Body
from parallel_pool._translator.fields import Field
from parallel_pool._translator.infos import RESERVED, is_text
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import Array, DynamicArray, Entry, Map, Number, Text, Type
from parallel_pool._translator.values import (
    Fixed,
    Flat,
    Mapping,
    Opt,
    SeedArgument,
    Txt,
    Value,
    cast,
)

# infos by which the APIs learn who acts, whose episode is over, and what was returned for whom
LIVE, ENDED, GIVEN = "live", "ended", "given"
MARKS = (LIVE, ENDED, GIVEN)
# bits of GIVEN in C: pp_given of pp_env.h
OBSERVED, REWARDED, TERMINATION, TRUNCATION, TRUNCATED, TOLD = (
    f"PP_GIVEN_{each}"
    for each in ("OBS", "REWARD", "TERMINATION", "TRUNCATION", "TRUNCATED", "INFO")
)
MAX_INFOS = 32


class Definition(definition.Definition):
    """The C file of a class of PettingZoo's.

    In the program an agent is a text, and a dict by agent a dict of texts. The numbers of the
    agents' texts are 1, 2, 3 ..., in the order of `possible_agents`. Each field has a value for
    each agent; the infos LIVE, ENDED and GIVEN say which of them the class has returned.
    """

    def __init__(self, *given: Any) -> None:
        template = given[0]
        self.names: tuple[str, ...] = template.agents
        self.num_players = len(self.names)
        super().__init__(*given)
        self.program.attributes.freeze("possible_agents")
        for name in self.names:
            self.program.texts.number(name)
        for name, item in zip(
            MARKS, (Number("b", 8), Number("b", 8), Number("i", 64)), strict=True
        ):
            mark = Field(name, (name,), item, (), None, True, True, self.num_players)
            self.infos.fields.setdefault(name, mark)

    # -------------------------------------------------------------------------------- fields --

    def _all_observations(self) -> list[Field]:
        seen = self._spaces("observation_space")
        found = [self._observations(each) for each in seen]
        keys = [[field.name for field in fields] for fields in found]
        for agent, own in zip(self.names, keys, strict=True):
            if own != keys[0]:
                raise Refusal(
                    f"{agent} sees {', '.join(own)}, and {self.names[0]} {', '.join(keys[0])}: give"
                    " all agents observations with the same keys"
                )
            if taken := set(own) & {*MARKS, *RESERVED} - {"obs"}:
                raise Refusal(f"an observation can't be named {min(taken)!r}: choose another key")
        return [
            self._of_all("observation", [fields[i] for fields in found])
            for i in range(len(found[0]))
        ]

    def _spaces(self, method: str) -> list[Any]:
        """Returns the space of each agent."""
        env = self.template.env
        try:
            return [getattr(env, method)(agent) for agent in self.names]
        except Exception as error:
            kind = type(error).__name__
            raise Refusal(f"{method}(agent) fails in Python: {kind}: {error}") from None

    def _of_all(self, what: str, fields: Sequence[Field]) -> Field:
        """Returns the field of all agents, from those of each of them.

        Raises:
            Refusal: they differ in more than the length of an axis, or the number of choices.
        """
        sizes = tuple(_size(field) for field in fields)
        widest = fields[sizes.index(max(sizes))]
        for agent, field, size in zip(self.names, fields, sizes, strict=True):
            if len(field.key) > 1:
                raise Refusal(
                    f"the {what} space of {agent} has a Dict in a Dict, which is not translated for"
                    " several agents: write one Dict"
                )
            if isinstance(field.space, spaces.Tuple):
                raise Refusal(
                    f"the {what} space of {agent} is a Tuple, which is not translated for several"
                    " agents: write a MultiDiscrete"
                )
            if not _is_part(field.space, widest.space, size):
                raise Refusal(
                    f"the {what} spaces of the agents differ: {field.space} of {agent}, and"
                    f" {widest.space} of {self.names[fields.index(widest)]}; of several agents only"
                    " the lengths of arrays of one axis may differ, and the n of a Discrete"
                )
        is_one = len(set(sizes)) == 1
        return replace(widest, players=self.num_players, sizes=None if is_one else sizes)

    def _acts(self) -> Field:
        """Returns the field of the actions."""
        acts = self._spaces("action_space")
        for agent, space in zip(self.names, acts, strict=True):
            if not isinstance(
                space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
            ):
                kind = type(space).__name__
                raise Refusal(f"a {kind} as action space, of {agent}, is not translated")
            if np.any(getattr(space, "start", 0)):
                raise Refusal(
                    f"the action space {space}, of {agent}, is not translated: let it start at 0,"
                    " and add in step()"
                )
        return self._of_all("action", [self._observation("action", (), each) for each in acts])

    def _action(self) -> tuple[Value, str, str]:
        field = self._acts()
        text = self._space_field("action", field.item, field.shape, field.space, field)
        # what step() gets is a dict
        return Fixed(None), f"{field.item.c} *", text

    def _action_size(self) -> str:
        return str(self._acts().size)

    def _players(self) -> str:
        names = ", ".join(map(containers.c_text, self.names))
        self.program.tables.lines.append(f"static const char *const player_names[] = {{{names}}};")
        return f"\n    .num_players = {self.num_players},\n    .player_names = player_names,"

    # --------------------------------------------------------------------------------- calls --

    def _arguments(self, body: Body, name: str) -> dict[str, Value]:
        if name == "reset":
            return {"seed": SeedArgument(), "options": self.program.reset_options.parameter()}
        return {"actions": self._actions(body)}

    def _actions(self, body: Body) -> Mapping:
        """Returns the dict of the actions of those who act, in the order of self.agents."""
        field = self._acts()
        item: Type = field.item
        if field.shape:
            item = DynamicArray(field.item, 1) if field.sizes else Array(field.item, field.shape)
        of = Map(Text(), item)
        made, count = body.variable("d", of), self.num_players
        parts = (made, f"{made}->k", f"{made}->v")
        sizes = (f"sizeof(*{made})", *(f"{count} * sizeof(*{each})" for each in parts[1:]))
        for part, size in zip(parts, sizes, strict=True):
            body.emit(f"{part} = pp_python_memory(c, {size});")
            body.check(f"{part} != NULL", "MemoryError", "")
        body.emit(f"{made}->count = 0;")
        body.emit(f"{made}->capacity = {count};")

        def add(player: str) -> None:
            with body.block(f"if (s->i_{LIVE}[{player}]) {{"):
                place = f"{made}->v[{made}->count]"
                given = f"action + {player} * {field.each}"
                if isinstance(item, DynamicArray):
                    body.emit(f"{place}.v = ({field.item.c} *)({given});")
                    body.emit(f"{place}.dim[0] = {self._table(field)}[{player}];")
                elif isinstance(item, Array):
                    body.emit(f"memcpy({place}.v, {given}, sizeof({place}.v));")
                else:
                    body.emit(f"{place} = action[{player}];")
                body.emit(f"{made}->k[{made}->count++] = {player} + 1;")

        self._each_agent(body, add)
        return Mapping(of, made)

    def _table(self, field: Field) -> str:
        """Returns the C array of the players' own sizes of a field."""
        assert field.sizes is not None
        return self.program.tables.fixed(Number("i", 64), list(field.sizes))

    def _each_agent(self, body: Body, function: Callable[[str], None]) -> None:
        """Calls a function for each player in self.agents."""
        agents = self.program.attributes.read(body, "agents")
        player: list[str] = []
        loops.iterate(
            body,
            agents,
            lambda name: player.append(self._player(body, name, "self.agents")),
            lambda: function(player.pop()),
        )

    def _player(self, body: Body, agent: Value, what: str) -> str:
        """Returns the C expression of an agent's place in possible_agents."""
        if isinstance(agent, Fixed) and agent.value in self.names:
            return str(self.names.index(agent.value))
        if not isinstance(agent, Txt):
            raise body.refuse(f"{what}: {agent.type} is none of possible_agents")
        at = body.temporary("int32_t", f"{agent.c} - 1")
        text = f"{what}: an agent is none of possible_agents"
        body.check(f"0 <= {at} && {at} < {self.num_players}", "ValueError", text)
        return at

    # ------------------------------------------------------------------------------- results --

    def _finish_step(self, body: Body, tree: ast.expr | None) -> None:
        parts = self._parts(body, tree, 5)
        if parts is None:
            raise body.refuse(
                "step() must return observations, rewards, terminations, truncations and infos"
            )
        observations, rewards, terminations, truncations, infos = parts
        self._clear(body)
        body.emit(f"memset(r->reward, 0, {self.num_players} * sizeof(double));")
        self._write_all(body, observations, infos, False)
        self._each_entry(body, rewards, "the rewards", lambda *one: self._reward(body, *one))
        for what, value in (("terminations", terminations), ("truncations", truncations)):
            self._flags(body, what, value)
        self._list(body)
        over, ended = body.c_variable("t", "bool"), body.c_variable("t", "bool")
        index = body.c_variable("i", "int64_t")
        body.emit(f"{over} = true, {ended} = false;")
        with body.block(f"for ({index} = 0; {index} < {self.num_players}; {index}++) {{"):
            cut = f"s->i_{ENDED}[{index}] || s->i_{GIVEN}[{index}] & {TRUNCATED}"
            body.emit(f"if ({cut}) s->i_{LIVE}[{index}] = false;")
            body.emit(f"{over} &= !s->i_{LIVE}[{index}];")
            body.emit(f"{ended} |= s->i_{ENDED}[{index}];")
        body.emit(f"r->terminated = {over} && {ended};")
        body.emit(f"r->truncated = {over} && !{ended};")

    def _finish_reset(self, body: Body, tree: ast.expr | None) -> None:
        parts = self._parts(body, tree, 2)
        if parts is None:
            raise body.refuse("reset() must return observations and infos")
        self._clear(body)
        self._write_all(body, parts[0], parts[1], True)
        self._list(body)
        index, found = body.c_variable("i", "int64_t"), body.c_variable("t", "bool")
        body.emit(f"{found} = false;")
        with body.block(f"for ({index} = 0; {index} < {self.num_players}; {index}++) {{"):
            body.emit(f"{found} |= s->i_{LIVE}[{index}];")
        body.check(found, "ValueError", "self.agents is empty after reset()")

    def _clear(self, body: Body) -> None:
        """Sets what the agents get to zeros: what is not returned for one stays so."""
        for field in self._kept_fields():
            body.emit(f"memset(s->{field.member}, 0, sizeof(s->{field.member}));")

    def _write_all(self, body: Body, observations: Any, infos: Any, is_reset: bool) -> None:
        what = "the observations"
        self._each_entry(body, observations, what, lambda *one: self._observed(body, *one))
        what = "the infos"
        self._each_entry(body, infos, what, lambda *one: self._told(body, *one, is_reset=is_reset))

    def _each_entry(
        self, body: Body, value: Value | None, what: str, function: Callable[[str, Value], None]
    ) -> None:
        """Calls a function for each player and value of a dict by agent."""
        assert value is not None
        value = body.plain(value)
        record = body.record(value)
        if record is None and not isinstance(value, Mapping):
            raise body.refuse(f"{what} are {value.type}: return a dict by agent")
        if record is not None and not record.keys:
            return
        entry: list[Value] = []

        def inside() -> None:
            key, item = containers.unpacked(body, entry.pop(), 2, False)
            player = self._player(body, key, what)
            function(player, body.plain(item))

        loops.iterate(body, Flat("items", (value,)), entry.append, inside)

    def _mark(self, body: Body, player: str, bits: str) -> None:
        body.emit(f"s->i_{GIVEN}[{player}] |= {bits};")

    def _reward(self, body: Body, player: str, value: Value) -> None:
        number = body.as_num(value, "the reward")
        body.emit(f"r->reward[{player}] = {cast(number.c, Number('f', 64), number.number)};")
        self._mark(body, player, REWARDED)

    def _flags(self, body: Body, what: str, value: Value | None) -> None:
        is_end = what == "terminations"

        def write(player: str, flag: Value) -> None:
            found = body.truth(flag)
            c = operators.c_truth(found)
            if is_end:
                body.emit(f"s->i_{ENDED}[{player}] = {c};")
                self._mark(body, player, TERMINATION)
            else:
                self._mark(body, player, f"{TRUNCATION} | ({c} ? {TRUNCATED} : 0)")

        self._each_entry(body, value, f"the {what}", write)

    def _list(self, body: Body) -> None:
        """Marks who is in self.agents."""
        count = body.c_variable("n", "int64_t")
        body.emit(f"{count} = 0;")

        def mark(player: str) -> None:
            text = "self.agents has an agent twice"
            body.check(f"!s->i_{LIVE}[{player}]", "ValueError", text)
            self._mark(body, player, f"++{count} << PP_GIVEN_PLACE")
            body.emit(f"s->i_{LIVE}[{player}] = true;")

        self._each_agent(body, mark)

    # ---------------------------------------------------------------------------- each agent --

    def _observed(self, body: Body, player: str, value: Value) -> None:
        if not self.observations[0].key and body.record(value) is not None:
            raise body.refuse(
                f"an observation is {value.type}, and its space {self.observations[0].space}:"
                " return what observation_space() says"
            )
        for field in self.observations:
            self._write_of(body, field, player, self._part(body, value, field))
        self._mark(body, player, OBSERVED)

    def _write_of(self, body: Body, field: Field, player: str, value: Value) -> None:
        """Stores a value of one player."""
        place = body.c_variable("m", f"{field.item.c} *")
        body.emit(f"{place} = s->{field.member} + {player} * {field.each};")
        if field.space is None:
            self._write_value(body, replace(field, players=0), value, place)
        elif field.sizes is None or not field.shape:
            self._write_array(body, field, value, place)
        elif player.isdigit():
            own = replace(field, shape=(field.sizes[int(player)],))
            self._write_array(body, own, value, place)
        else:
            self._write_sized(body, field, player, value, place)

    def _write_sized(self, body: Body, field: Field, player: str, value: Value, place: str) -> None:
        """Stores an array, whose length is that of the player's own space."""
        array = body.array(value)
        if len(array.dims) != 1:
            raise body.refuse(f"{field.name} has {len(array.dims)} axes, and its space 1")
        length = f"{self._table(field)}[{player}]"
        body.check(
            f"{array.dims[0]} == {length}",
            "ValueError",
            f"{field.name} has %lld elements, and its space %lld",
            f"(long long){array.dims[0]}",
            f"(long long){length}",
        )
        if array.item.kind == "f" and field.item.kind != "f":
            raise body.refuse(f"{field.name} is an array of {array.item.dtype.name}")
        body.copy_elements(array, storage.memory_array(field.item, array.dims, place))

    def _told(self, body: Body, player: str, value: Value, *, is_reset: bool) -> None:
        """Stores the infos of one player."""
        record = body.record(value)
        if record is None:
            raise body.refuse(f"an agent's info is {value.type}: return a dict with known keys")
        self._mark(body, player, TOLD)
        for key, item in zip(record.keys, record.items, strict=True):
            if isinstance(item, Opt) and isinstance(item.optional, Entry):
                with body.block(f"if ({item.some}) {{"):
                    self._told_of(body, player, key, storage.held(body, item), is_reset)
            else:
                self._told_of(body, player, key, body.plain(item), is_reset)

    def _told_of(self, body: Body, player: str, key: Any, value: Value, is_reset: bool) -> None:
        """Stores an info of one player."""
        if key in MARKS:
            raise body.refuse(f"an info can't be named {key!r}: choose another name")
        if is_text(value):
            raise body.refuse(
                f"the info {key!r} is {value.type}, and infos of agents are numbers and arrays:"
                " write a number for each text"
            )
        field, value = self.infos.find(body, key, value, is_reset)
        field.on_step = field.on_reset = True
        at = list(self.infos.fields).index(key) - len(MARKS)
        if at >= MAX_INFOS:
            raise body.refuse(f"more than {MAX_INFOS} infos of agents are not translated")
        self._write_of(body, field, player, value)
        self._mark(body, player, f"INT64_C(1) << (PP_GIVEN_INFOS + {at})")


def _size(field: Field) -> int:
    """Returns what may differ between agents: the n of a Discrete, or the length of one axis."""
    if isinstance(field.space, spaces.Discrete):
        return int(field.space.n)
    return int(field.shape[0]) if len(field.shape) == 1 else 0


def _is_part(space: Any, widest: Any, size: int) -> bool:
    """Returns whether an agent's space is the first part of the widest one."""
    if type(space) is not type(widest) or space.dtype != widest.dtype:
        return False
    if isinstance(space, spaces.Discrete):
        return bool(space.start == widest.start)
    if len(space.shape) != 1:
        return bool(space == widest)
    names = {spaces.Box: ("low", "high"), spaces.MultiDiscrete: ("nvec", "start")}
    parts = names.get(type(space), ())
    return all(np.array_equal(getattr(space, name), getattr(widest, name)[:size]) for name in parts)
