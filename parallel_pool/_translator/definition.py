"""Definition: the C file of one environment, with its callbacks and its `pp_env_def`."""

from __future__ import annotations

import ast
import inspect
import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._translator import (
    aliasing,
    arrays,
    classes,
    known_values,
    layout,
    reader,
    state_checks,
    storage,
)
from parallel_pool._translator.body import Body
from parallel_pool._translator.containers import c_text
from parallel_pool._translator.fields import DTYPES, MAX_AXES, Field, has_discretes, leaves
from parallel_pool._translator.file_text import TEXT
from parallel_pool._translator.infos import GIVEN, Infos, is_text
from parallel_pool._translator.program import Program
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.reset_options import ResetOptions
from parallel_pool._translator.template import Template
from parallel_pool._translator.types import (
    NONE,
    Array,
    Draws,
    Entry,
    Number,
    holds,
    number_of,
    of_dtype,
)
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Num,
    Opt,
    Rec,
    SeedArgument,
    Self,
    Tup,
    Uni,
    Value,
    as_number,
    cast,
)

# letters of a step that is compiled twice: for runs of which all rows are wanted, and for others
MAX_TWICE_LETTERS = 30_000


@dataclass
class Source:
    """A translated environment.

    Attributes:
        text: the C file.
        about: what Python needs to know of it, which the C file holds as JSON.
        symbol: of the definition.
    """

    text: str
    about: dict[str, Any]
    symbol: str
    template: Template


class Definition:
    """The C file of a class of Gymnasium's.

    Attributes:
        num_players: of a class with several agents; 0 for others.
    """

    num_players = 0

    def __init__(
        self,
        template: Template,
        task_id: str,
        infos: Infos,
        reset_options: ResetOptions,
        shown: tuple[ast.expr | None, ...],
    ) -> None:
        self.template = template
        self.task_id = task_id
        self.program = Program(template, reset_options)
        self.infos = infos
        # the action as a value, its C type, and its pp_field
        self.action: tuple[Value, str, str] = Fixed(None), "", ""
        self.observations = self._all_observations()
        self.shown = shown
        self.shows_observation = self.shown[0] is not None
        self.shows_info = self.shown[1] is not None and not self.infos.optional()

    # -------------------------------------------------------------------------------- fields --

    def _all_observations(self) -> list[Field]:
        return self._observations(self.template.env.observation_space)

    def _observations(self, space: Any) -> list[Field]:
        if not isinstance(space, spaces.Dict):
            return [self._observation("obs", (), space)]
        found = [self._observation(".".join(path), path, each) for path, each in leaves(space)]
        if [field.name for field in found] == ["obs"]:
            raise Refusal(
                "an observation space Dict whose only key is 'obs' is not translated: choose"
                " another key, or write the space itself"
            )
        return found

    def _observation(self, name: str, key: tuple[Any, ...], space: Any) -> Field:
        if isinstance(space, spaces.Tuple):
            if key or not has_discretes(space):
                raise Refusal(
                    f"the observation space {space} is not translated: write a Dict of its parts"
                )
            return Field(name, key, Number("i", 64, True), (len(space.spaces),), space)
        if not isinstance(
            space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
        ):
            raise Refusal(f"a {type(space).__name__} as observation space is not translated")
        item = of_dtype(space.dtype)
        if item is None or item.dtype.name not in DTYPES:
            raise Refusal(f"observations of {space.dtype} are not translated")
        shape = tuple(space.shape or ())
        if len(shape) > MAX_AXES:
            raise Refusal(f"observations of more than {MAX_AXES} axes are not translated")
        return Field(name, key, item, shape, space)

    def _write_observation(self, body: Body, value: Value) -> None:
        value = body.plain(value)
        for field in self.observations:
            self._write_field(body, field, self._part(body, value, field))

    def _part(self, body: Body, value: Value, field: Field) -> Value:
        """Returns what an observation has under the keys of a field."""
        for key in field.key:
            record = body.record(body.plain(value))
            if record is None:
                raise body.refuse(f"an observation is {value.type}, and its space a Dict")
            if key not in record.keys:
                raise body.refuse(f"the observation has no key {key!r}")
            value = record.items[record.keys.index(key)]
        return value

    def _write_field(self, body: Body, field: Field, value: Value) -> None:
        """Stores an observation in the state, or in a row that is wanted."""
        if self.shows_observation:
            with body.block(f"if (rows[{self.observations.index(field)}]) {{"):
                self._write_array(body, field, value, self._row(field))
            return
        self._write_array(body, field, value, f"s->{field.member}")

    def _row(self, field: Field) -> str:
        """Returns the row of a field, as an array in C."""
        at = [*self.observations, *self.infos.fields.values()].index(field)
        return f"(({field.item.c} *)rows[{at}])"

    def _write_array(self, body: Body, field: Field, value: Value, place: str) -> None:
        value = body.plain(value)
        if isinstance(value, Uni):
            body.each_type(value, lambda each: self._write_array(body, field, each, place))
            return
        if not field.shape:
            number = body.as_num(value, f"the observation {field.name}")
            if number.number.kind == "f" and field.item.kind != "f":
                raise body.refuse(f"the observation {field.name} is a float")
            body.emit(f"{place}[0] = {cast(number.c, field.item, number.number)};")
            return
        array = body.array(value)
        if array.item.kind == "f" and field.item.kind != "f":
            raise body.refuse(
                f"{field.name} is an array of {array.item.dtype.name}, and its space has"
                f" {field.item.dtype.name}: write .astype(np.{field.item.dtype.name})"
            )
        if len(array.dims) != len(field.shape):
            raise body.refuse(
                f"{field.name} has {len(array.dims)} axes, and its space {len(field.shape)}"
            )
        for dim, wanted in zip(array.dims, field.shape, strict=True):
            if isinstance(dim, int) and dim != wanted:
                raise body.refuse(f"{field.name} has the shape {array.dims}, not {field.shape}")
            if isinstance(dim, str):
                body.check(
                    f"{dim} == {wanted}",
                    "ValueError",
                    f"{field.name} has %lld elements on an axis of {wanted}",
                    f"(long long){dim}",
                )
        array = Arr(
            array.item,
            tuple(field.shape),
            array.at,
            pointer=array.pointer,
            is_read_only=array.is_read_only,
        )
        body.copy_elements(array, storage.memory_array(field.item, field.shape, place))

    def _write_infos(self, body: Body, value: Value, is_reset: bool) -> None:
        record = body.record(body.plain(value))
        if record is None:
            raise body.refuse("the info is no dict with known keys")
        for field in self.infos.optional() and [*self.infos.optional(), self.infos.fields[GIVEN]]:
            body.emit(f"memset(s->{field.member}, 0, sizeof(s->{field.member}));")
        told = self.infos.told(body, record)
        for key, item in told.items():
            if isinstance(item, Opt) and isinstance(item.optional, Entry):
                self.infos.note_optional(self.infos.fields.get(key))
                with body.block(f"if ({item.some}) {{"):
                    self._write_info(body, key, storage.held(body, item), is_reset)
            else:
                self._write_info(body, key, item, is_reset)
        seen = {*told, GIVEN}
        for field in list(self.infos.fields.values()):
            has = field.on_reset if is_reset else field.on_step
            if has and field.name not in seen:
                self.infos.note_optional(field)

    def _write_info(self, body: Body, key: Any, value: Value, is_reset: bool) -> None:
        value = value if is_text(value) else body.plain(value)
        field, value = self.infos.find(body, key, value, is_reset)
        if field.is_optional:
            bit = f"INT64_C(1) << {self.infos.optional().index(field)}"
            body.emit(f"s->{self.infos.fields[GIVEN].member}[0] |= {bit};")
        if self.shows_info:
            at = len(self.observations) + list(self.infos.fields.values()).index(field)
            with body.block(f"if (rows[{at}]) {{"):
                self._write_value(body, field, value, self._row(field))
        else:
            self._write_value(body, field, value, f"s->{field.member}")

    def _write_value(self, body: Body, field: Field, value: Value, place: str) -> None:
        if field.is_text:
            self.program.texts.are_shown = True
            body.emit(f"{place}[0] = {self._code(body, value)};")
            return
        number = as_number(value)
        if number is not None:
            body.emit(f"{place}[0] = {cast(number.c, field.item, number.number)};")
            return
        memory = storage.memory_array(field.item, field.shape, place)
        body.copy_elements(body.array(value), memory)

    def _code(self, body: Body, value: Value) -> str:
        """Returns the number of a text, as C's pp_field.text takes it."""
        if isinstance(value, Opt):
            inner = self._code(body, storage.held(body, value))
            return f"{value.some} ? {inner} : -1"
        if isinstance(value, Fixed) and value.value is None:
            return "-1"
        return self.program.texts.c(value)

    # ----------------------------------------------------------------------------- functions --

    def _arguments(self, body: Body, name: str) -> dict[str, Value]:
        """Returns what the engine gives to step or reset."""
        if name == "reset":
            return {"seed": SeedArgument(), "options": self.program.reset_options.parameter()}
        return {"action": self.action[0]}

    def _entry(self, name: str, finish: Any) -> str:
        """Translates step or reset; returns the lines of its function."""
        function = reader.find(self.template.cls, name)
        if function is None:
            raise Refusal(f"{self.template.cls.__name__} has no method {name}")
        body = Body(self.program, function, NONE)
        body.entry = finish
        tree = function.tree.args
        names = [each.arg for each in (*tree.posonlyargs, *tree.args)]
        body.names[names[0]] = Self()
        allowed = {*names[1:], *(each.arg for each in tree.kwonlyargs)}
        positional = iter(names[1:])
        arguments = self._arguments(body, name)
        for given, value in arguments.items():
            target = given if given in allowed else next(positional, None)
            if target is not None:
                body.names[target] = value
        if tree.kwarg is not None:
            rest = {k: v for k, v in arguments.items() if k not in body.names}
            body.names[tree.kwarg.arg] = Rec(tuple(rest), tuple(rest.values()))
        for missing in allowed - body.names.keys():
            if missing in function.defaults:
                body.names[missing] = Fixed(function.defaults[missing])
        try:
            body.statements(function.tree.body)
            if body.alive:
                raise body.refuse(f"{name}() returns nothing at its end")
        except Refusal as refusal:
            if not refusal.file:
                refusal.file = function.file
            raise
        extra = ", const ACTION action, pp_result *r" if name == "step" else ""
        if name == "reset" and self.program.reset_options.is_used:
            extra = ", const pp_value *options"
        head = [
            f"/* {function.qualified_name} */",
            f"static inline int env_{name}(pp_python *c, struct state *s,"
            f" const struct shared *k{extra}) {{",
            "  int status = PP_OK;",
        ]
        return self._function(body, head)

    def _finish_step(self, body: Body, tree: ast.expr | None) -> None:
        parts = self._parts(body, tree, 5)
        if parts is None:
            raise body.refuse(
                "step() must return an observation, a reward, terminated, truncated and an info"
            )
        observation, reward, terminated, truncated, info = parts
        if observation is not None:
            self._write_observation(body, observation)
        assert reward is not None and terminated is not None and truncated is not None
        number = body.as_num(reward, "the reward")
        body.emit(f"r->reward[0] = {cast(number.c, Number('f', 64), number.number)};")
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            found = body.truth(flag)
            if found is not False:
                body.emit(f"r->{name} = {'true' if found is True else found};")
        if info is not None:
            self._write_infos(body, info, False)

    def _finish_reset(self, body: Body, tree: ast.expr | None) -> None:
        parts = self._parts(body, tree, 2)
        if parts is None:
            raise body.refuse("reset() must return an observation and an info")
        if parts[0] is not None:
            self._write_observation(body, parts[0])
        if parts[1] is not None:
            self._write_infos(body, parts[1], True)

    def _parts(self, body: Body, tree: ast.expr | None, count: int) -> list[Value | None] | None:
        """Returns the parts of a result; None for those that are computed when they are needed."""
        if isinstance(tree, ast.Tuple) and len(tree.elts) == count:
            skipped = {0: self.shows_observation, count - 1: self.shows_info}
            return [
                None if skipped.get(i) else body.kept(body.value(each))
                for i, each in enumerate(tree.elts)
            ]
        value = Fixed(None) if tree is None else body.value(tree)
        items = body.items(value)
        return list(items) if items is not None and len(items) == count else None

    def _show(self) -> str:
        """Returns the function that writes rows of the observations and infos."""
        function = reader.find(self.template.cls, "step")
        assert function is not None
        body = Body(self.program, function, NONE)
        body.names[function.tree.args.args[0].arg] = Self()
        if self.shows_observation:
            tree = _without_copy(self.shown[0])
            wanted = " || ".join(f"rows[{i}]" for i in range(len(self.observations)))
            with body.block(f"if ({wanted}) {{"):
                first = self.observations[0]
                if not first.key and isinstance(tree, ast.Call):
                    # a method that makes the observation writes it into the row
                    body.call_target = Array(first.item, first.shape), self._row(first)
                value = body.value(tree)
                body.call_target = None
                self._write_observation(body, value)
        else:
            self._copy_rows(body, self.observations, 0)
        if self.shows_info:
            self.is_reset = True
            assert self.shown[1] is not None
            for is_reset in (False, True):
                # both have the same keys; the rows are written once
                with body.buffer() as lines:
                    self._write_infos(body, body.value(self.shown[1]), is_reset)
            body.lines.extend(lines)
        else:
            self._copy_rows(body, list(self.infos.fields.values()), len(self.observations))
        lines = [
            "static inline int env_show(pp_python *c, struct state *s, const struct shared *k,",
            "                           void *const *rows) {",
            "  int status = PP_OK;",
        ]
        return self._function(body, lines, "return PP_OK;")

    def _copy_rows(self, body: Body, fields: list[Field], first: int) -> None:
        for i, field in enumerate(fields, first):
            size = f"sizeof(s->{field.member})"
            body.emit(f"if (rows[{i}]) memcpy(rows[{i}], s->{field.member}, {size});")

    def _function(self, body: Body, head: list[str], end: str = "") -> str:
        """Returns a C function with its variables and labels."""
        lines = [*head, *body.declarations()]
        lines.append("  (void)c, (void)s, (void)k, (void)status;")
        lines += body.text()
        if end:
            lines.append(f"  {end}")
        if any("goto fail;" in line for line in lines):
            lines += ["fail:", "  return status;"]
        return "\n".join([*lines, "}"])

    def _action(self) -> tuple[Value, str, str]:
        """Returns the action as a value, its C type, and its pp_field."""
        space = self.template.env.action_space
        if isinstance(space, spaces.Discrete):
            field = self._space_field("action", Number("i", 64, True), (), space)
            return Num(Number("i", 64, True), "action[0]"), "int64_t *", field
        if isinstance(space, spaces.Tuple) and has_discretes(space):
            integer, count = Number("i", 64, True), len(space.spaces)
            field = self._space_field("action", integer, (count,), space)
            parts = tuple(Num(integer, f"action[{i}]") for i in range(count))
            return Tup(parts), "int64_t *", field
        if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
            item = of_dtype(space.dtype)
            if item is None or item.dtype.name not in DTYPES:
                raise Refusal(f"actions of {space.dtype} are not translated")
            array = storage.memory_array(item, space.shape, "action")
            array.is_place, array.is_read_only = False, True
            field = self._space_field("action", item, space.shape, space)
            return array, f"{item.c} *", field
        raise Refusal(
            f"the action space {space} is not translated: write a Box, a Discrete, a MultiDiscrete,"
            " a MultiBinary, or a Tuple of Discretes"
        )

    def _space_field(
        self, name: str, item: Number, shape: Any, space: Any, of: Field | None = None
    ) -> str:
        parts = [f".name = {c_text(name)}", f".dtype = {DTYPES[item.dtype.name]}"]
        if of is not None and of.players:
            parts.append(".per_player = true")
        if of is not None and of.sizes:
            table = self.program.tables.fixed(Number("i", 64), list(of.sizes))
            parts.append(f".player_sizes = {table}")
        if shape and not isinstance(space, spaces.Discrete):
            parts.append(f".ndim = {len(shape)}")
            parts.append(f".shape = {{{', '.join(map(str, shape))}}}")
        if isinstance(space, spaces.Box):
            word = re.sub(r"\W", "_", name)
            for side, values in (("lows", space.low), ("highs", space.high)):
                table = f"{side}_{word}"
                text = arrays.literal_array(Number("f", 64), values.astype(np.float64))
                self.program.tables.lines.append(
                    f"static const double {table}[] = {{{text or '0'}}};"
                )
                parts.append(f".{side} = {table}")
        elif isinstance(space, spaces.Discrete):
            parts += [".space = PP_DISCRETE", f".n = {space.n}", f".low = {space.start}"]
        elif isinstance(space, (spaces.MultiDiscrete, spaces.Tuple)):
            is_tuple = isinstance(space, spaces.Tuple)
            parts.append(f".space = {'PP_DISCRETE_TUPLE' if is_tuple else 'PP_MULTI_DISCRETE'}")
            discretes: Any = space.spaces if isinstance(space, spaces.Tuple) else [space]
            counts = np.ravel([each.n if is_tuple else each.nvec for each in discretes])
            starts = np.ravel([each.start for each in discretes])
            members = [("nvec", "i", counts), *([("lows", "f", starts)] if starts.any() else [])]
            for member, kind, numbers in members:
                table = self.program.tables.fixed(Number(kind, 64), numbers.tolist())
                parts.append(f".{member} = {table}")
        elif isinstance(space, spaces.MultiBinary):
            parts.append(".space = PP_MULTI_BINARY")
        return "{" + ", ".join(parts) + "}"

    # ---------------------------------------------------------------------------------- file --

    def write(self, max_episode_steps: int | None, reward_threshold: float | None) -> Source:
        template, program = self.template, self.program
        self.action = self._action()
        _, action_type, action_field = self.action
        reset = self._entry("reset", self._finish_reset)
        asked = program.reset_options
        asked.finish()
        step = self._entry("step", self._finish_step)
        step = step.replace("const ACTION action", f"const {action_type}action")
        show = self._show()
        aliasing.check(program)
        self._check_generators()
        initial = self._initial()
        checks = state_checks.lines(template.state, self._kept_fields())
        fields = self._fields()
        players = self._players()
        options, defaults = self._options()
        members = self._state_members()
        forms = {name: layout.form(of, classes.name_of) for name, of in template.state.items()}
        shared, constants = self._shared_members()
        tables = [*program.tables.lines, *program.texts.lines()]
        symbol = "pp_env_" + re.sub(r"\W", "_", self.task_id).lower()
        source, _ = reader.place_of(template.cls)
        about = {
            "file": source,
            "module": template.cls.__module__,
            "class": template.cls.__qualname__,
            "numpy": program.numpy.functions,
            "layout": constants,
            "options": defaults,
            "fixed": template.options,
            "frozen": sorted(template.frozen),
            "divisors": sorted(template.divisors),
            "initial": sorted(set(template.state) - self._surely_assigned()),
            "state": forms,
            "generators": template.seeded(),
            "texts": program.texts.known(),
            "refused": asked.refused,
            "why_none": asked.why_none,
        }
        text = TEXT.format(
            id=self.task_id,
            file=c_text(source.rpartition("/")[2]),
            distributions='#include "base/distributions.h"\n'
            if program.needs_distributions
            else "",
            types="\n".join(program.types.text),
            state="\n".join(members),
            shared="\n".join(shared),
            expose="\n".join(layout.Picture(forms).lines()),
            tables="\n".join(tables),
            num_loops=max(1, len(program.numpy.functions)),
            declarations="\n".join([*asked.declarations(), *program.functions.declarations]),
            functions="\n\n".join(program.functions.definitions),
            step=step,
            reset=reset,
            show=show,
            initial=initial,
            checks=checks,
            action_type=action_type,
            action_size=self._action_size(),
            fields=fields,
            whole=self._whole(step + show),
            has_none=" || ".join(f"!rows[{i}]" for i in range(self._num_fields())),
            num_fields=self._num_fields(),
            row_pointers=self._row_pointers(),
            field_sizes=self._field_sizes(),
            reset_arguments=", how->options" if asked.is_used else "",
            reset_options="".join(asked.definitions(template.cls.__name__)),
            reset_members=asked.members(),
            options=options,
            num_options=len(defaults) + 2,
            about=c_text(json.dumps(about)),
            symbol=symbol,
            c_id=c_text(self.task_id),
            action_field=action_field,
            num_players=max(1, self.num_players),
            players=players,
            limit=max_episode_steps or 0,
            threshold=_threshold(reward_threshold),
        )
        return Source(text, about, symbol, template)

    def _check_generators(self) -> None:
        """Raises Refusal if an attribute may keep a generator that reset(seed=...) replaces."""
        for name in sorted(set(self.template.state) - self._surely_assigned()):
            if holds(self.template.state[name], Draws):
                raise Refusal(
                    f"self.{name} keeps self.np_random, which reset(seed=...) replaces: assign"
                    f" self.{name} in each reset()"
                )

    def _surely_assigned(self) -> set[str]:
        """Returns the attributes that reset() assigns in any case."""
        function = reader.find(self.template.cls, "reset")
        assert function is not None
        own = function.tree.args.args[0].arg
        found: set[str] = set()
        for each in function.tree.body:
            targets = each.targets if isinstance(each, ast.Assign) else []
            if isinstance(each, ast.AnnAssign):
                targets = [each.target]
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                found.update(
                    part.attr
                    for part in parts
                    if isinstance(part, ast.Attribute)
                    and isinstance(part.value, ast.Name)
                    and part.value.id == own
                )
        return found

    def _players(self) -> str:
        """Returns the members of the definition that say which players there are."""
        return ""

    def _action_size(self) -> str:
        space = self.template.env.action_space
        if isinstance(space, spaces.Discrete):
            return "1"
        if isinstance(space, spaces.Tuple):
            return str(len(space.spaces))
        return str(int(np.prod(space.shape, dtype=np.int64)))

    def _kept_fields(self) -> list[Field]:
        """Returns the fields that are a part of the state, as they can't be computed from it."""
        return [
            *([] if self.shows_observation else self.observations),
            *([] if self.shows_info else self.infos.fields.values()),
        ]

    def _state_members(self) -> list[str]:
        types = self.program.types
        lines = []
        for field in self._kept_fields():
            lines.append(f"  {field.item.c} {field.member}[{max(1, field.size)}];")
        for name, of in self.template.state.items():
            lines.append(f"  {types.c(of)} a_{name};")
        return lines or ["  char empty;"]

    def _shared_members(self) -> tuple[list[str], list[Any]]:
        """Returns the members of the constants, each on a multiple of 8 bytes, and their order."""
        lines, layout = [], []
        for name, value in self.template.constants.items():
            if isinstance(value, np.ndarray):
                item = of_dtype(value.dtype)
                assert item is not None
                size = -(-max(1, value.nbytes) // 8) * 8 // item.dtype.itemsize
                lines.append(f"  {item.c} a_{name}[{size}] __attribute__((aligned(8)));")
                layout.append([name, value.dtype.str, list(value.shape)])
            else:
                number = number_of(value)
                assert number is not None
                wide = Number("f", 64) if number.kind == "f" else Number("i", 64)
                if number.kind == "f" and number.bits == 32:
                    lines.append(f"  float a_{name} __attribute__((aligned(8)));")
                    layout.append([name, "<f4", None])
                    continue
                lines.append(f"  {wide.c} a_{name};")
                layout.append([name, "<f8" if number.kind == "f" else "<i8", None])
        return lines or ["  int64_t empty;"], layout

    def _initial(self) -> str:
        """Returns the lines that store what attributes are after __init__."""
        program = self.program
        function = reader.find(self.template.cls, "reset")
        assert function is not None
        body = Body(program, function, None)
        for name, of in self.template.state.items():
            held = self.template.initial
            if name in held:
                value = held[name]
            elif hasattr(self.template.cls, name) and not callable(
                getattr(self.template.cls, name)
            ):
                value = getattr(self.template.cls, name)
            else:
                continue
            known_values.store(body, of, f"s->a_{name}", value)
        return "\n".join([*body.declarations(), *body.text()])

    def _fields(self) -> str:
        lines = []
        for field in self.observations:
            text = self._space_field(field.name, field.item, field.shape, field.space, field)
            lines.append(f"    {text},")
        for field in self.infos.fields.values():
            when = (
                "PP_ALWAYS"
                if field.on_step and field.on_reset
                else "PP_ON_STEP"
                if field.on_step
                else "PP_ON_RESET"
            )
            when += " | PP_IF_GIVEN" if field.is_optional else ""
            parts = [
                f".name = {c_text(field.name)}",
                ".is_info = true",
                f".when = {when}",
                f".dtype = {DTYPES[field.item.dtype.name]}",
            ]
            if field.players:
                parts.append(".per_player = true")
            if field.shape:
                parts.append(f".ndim = {len(field.shape)}")
                parts.append(f".shape = {{{', '.join(map(str, field.shape))}}}")
            if field.is_text:
                parts += [".space = PP_TEXT", ".n = LONGEST_TEXT", ".text = write_text"]
            if field.item.kind == "f":
                parts += [".low = -INFINITY", ".high = INFINITY"]
            lines.append(f"    {{{', '.join(parts)}}},")
        return "\n".join(lines)

    def _field_sizes(self) -> str:
        fields = (*self.observations, *self.infos.fields.values())
        return ", ".join(f"{max(1, each.size)} * sizeof({each.item.c})" for each in fields)

    def _num_fields(self) -> int:
        return len(self.observations) + len(self.infos.fields)

    def _whole(self, text: str) -> str:
        """Returns the lines of step_many for runs all of whose rows are wanted."""
        if len(text) > MAX_TWICE_LETTERS:
            return ""
        has_all = " && ".join(f"run->fields[{i}]" for i in range(self._num_fields()))
        return f"  if ({has_all}) return step_rows(shared, run, true);\n"

    def _row_pointers(self) -> str:
        """Returns the lines that find the first row of each field."""
        lines = []
        for at, field in enumerate((*self.observations, *self.infos.fields.values())):
            size = f"{max(1, field.size)} * sizeof({field.item.c})"
            lines.append(f"  rows[{at}] = run->fields[{at}];")
            lines.append(f"  strides[{at}] = rows[{at}] ? {size} : 0;")
        return "\n".join(lines)

    def _options(self) -> tuple[str, dict[str, Any]]:
        """Returns the pp_options of the constructor, and their defaults."""
        lines, defaults = [], {}
        parameters = inspect.signature(self.template.cls).parameters
        for name, each in parameters.items():
            value = self.template.options.get(name, each.default)
            if name in ("render_mode", "kwargs", "args") or name.startswith("_"):
                continue
            kind = {bool: "BOOL", int: "INT", float: "FLOAT"}.get(type(value))
            if kind is None or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                continue
            if kind == "INT" and abs(value) > 2**53:
                continue
            if kind == "FLOAT" and not np.isfinite(value):
                continue
            number = "true" if value is True else "false" if value is False else repr(value)
            lines.append(
                f"    {{.name = {c_text(name)}, .type = PP_OPT_{kind}, .number = {number},"
                f' .doc = "an argument of {self.template.cls.__name__}"}},'
            )
            defaults[name] = value
        return "\n".join(lines), defaults


def _without_copy(tree: ast.expr | None) -> ast.expr:
    """Returns X of X.copy(): a row is a copy in any case."""
    assert tree is not None
    target = tree.func if isinstance(tree, ast.Call) and not (tree.args or tree.keywords) else None
    return target.value if isinstance(target, ast.Attribute) and target.attr == "copy" else tree


def _threshold(value: float | None) -> str:
    if value is None:
        return ""
    return f"\n    .has_reward_threshold = true,\n    .reward_threshold = {value},"
