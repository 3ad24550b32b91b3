"""Program: what the functions of one environment share, and the calls between them."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import functools
import inspect
import types as python_types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from parallel_pool._translator import (
    aliasing,
    arrays,
    containers,
    displays,
    expressions,
    objects,
    order,
    reader,
    records,
    storage,
)
from parallel_pool._translator.body import Body
from parallel_pool._translator.displays import ListDisplay
from parallel_pool._translator.flow import Maybe
from parallel_pool._translator.reader import Function
from parallel_pool._translator.refusal import Dead, Refusal, Restart, Wider
from parallel_pool._translator.reset_options import ResetOptions
from parallel_pool._translator.seeding import GENERATORS
from parallel_pool._translator.template import Template, may_change
from parallel_pool._translator.types import (
    NONE,
    Array,
    Constant,
    Empty,
    List,
    Map,
    Member,
    Number,
    OpenDict,
    Optional,
    Record,
    TableArray,
    Text,
    Tuple,
    Type,
    number_of,
    of_dtype,
    unbounded,
)
from parallel_pool._translator.values import (
    UNKNOWN,
    Arr,
    Bound,
    Fixed,
    Flat,
    Generator,
    Lst,
    Mapping,
    Mem,
    Num,
    Opt,
    Options,
    Rec,
    Rng,
    SeedArgument,
    Self,
    Span,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    literal,
)

# kinds of one function, for the arguments that it is called with
MOST_FORMS = 24
# elements of an array that is written into the C file
LARGEST_TABLE = 16384
# bytes of an argument that is copied into a call
LARGEST_ARGUMENT = 65536


# pp_field.text
_WRITER = """\
static int32_t write_text(const void *code, char *out) {
  int32_t at, length;
  memcpy(&at, code, sizeof(at));
  if (at < 0 || at >= NUM_TEXTS) return -1;
  length = (int32_t)strlen(all_texts[at]);
  memcpy(out, all_texts[at], (size_t)length);
  return length;
}"""


@dataclass
class Compiled:
    """A function in C.

    Attributes:
        name: in C.
        result: the type of what it returns; None: it is not known yet.
        is_foreign: it returns a part of an attribute.
        shared: the attributes of which it returns a part.
        is_recursive: it calls itself.
        reference: it returns a pointer to something like this; None: a copy.
        effects: what it does to memories of its caller.
        order: of the axes of the array that it returns.
    """

    name: str
    result: Type | None = None
    order: tuple[int, ...] = ()
    is_foreign: bool = False
    shared: frozenset[tuple[str, str]] = frozenset()
    is_recursive: bool = False
    is_done: bool = False
    reference: Value | None = None
    effects: aliasing.Effects = dataclasses.field(default_factory=aliasing.Effects)


class Program:
    """The translation of one environment."""

    def __init__(self, template: Template, reset_options: ResetOptions) -> None:
        self.template = template
        self.reset_options = reset_options
        self.types = storage.Types()
        self.functions: list[str] = []
        self.declarations: list[str] = []
        self.tables: list[str] = []
        self.exceptions: dict[str, int] = {}
        self.exceptions_by_name: dict[str, type[BaseException]] = {}
        self.texts: dict[str, int] = {"": 0}
        self.text_tables: dict[tuple[int, ...], tuple[str, Callable[[str], int]]] = {}
        self.numpy_functions: list[tuple[str, str]] = []
        self.needs_distributions = False
        # a field shows texts
        self.shows_texts = False
        self.count = 0
        self._compiled: dict[Any, Compiled] = {}
        self._function_names: dict[Any, str] = {}
        self._arrays: dict[Any, str] = {}
        self._fixed_tables: dict[Any, str] = {}
        self._text_table_list: list[tuple[str, Callable[[str], int]]] = []
        self._letter_tables: list[str] = []
        self.yields: dict[Any, Type] = {}
        # the items of dicts that are written empty, by key, by the place where they are written
        self.open_dicts: dict[Any, dict[str, Type]] = {}
        # the generators from which it draws
        self.drawn: set[str] = set()
        self.assigned: set[str] = set()
        # what a call of a function changes, by the function
        self.effects: dict[int, order.Effects] = {}
        # the functions that a function names, by the function
        self.calls: dict[int, list[Function]] = {}
        # attributes that are one object after some function, and what changes in place
        self.edges: set[tuple[aliasing.Edge, str]] = set()
        self.changes: set[tuple[aliasing.Region, aliasing.Kind, str, int]] = set()
        self.compared: set[aliasing.Compared] = set()

    @functools.cached_property
    def info_methods(self) -> frozenset[str]:
        """The names of methods whose results step() or reset() returns as infos."""
        found = set()
        for name in ("reset", "step"):
            function = reader.find(self.template.cls, name)
            for each in displays.returned_infos(function.tree) if function is not None else ():
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                    found.add(each.func.attr)
        return frozenset(found)

    @functools.cached_property
    def methods_by_name(self) -> dict[str, list[Function]]:
        return order.methods_by_name(self.template.cls, self.template.env)

    # --------------------------------------------------------------------------------- names --

    def name(self, hint: str) -> str:
        self.count += 1
        return f"{hint}_{self.count}"

    def exception(self, name: str) -> int:
        return self.exceptions.setdefault(name, len(self.exceptions))

    def catches(self, body: Body, handler: ast.ExceptHandler) -> str:
        """Returns the C condition under which an exception is handled."""
        if handler.type is None:
            return "true"
        found = body.value(handler.type)
        classes = found.value if isinstance(found, Fixed) else None
        wanted: tuple[Any, ...] = classes if isinstance(classes, tuple) else (classes,)
        if not all(isinstance(each, type) for each in wanted):
            raise body.refuse("this except is not translated")
        matching = []
        for name, index in self.exceptions.items():
            cls: Any = self.exceptions_by_name.get(name) or getattr(builtins, name, Exception)
            if issubclass(cls, wanted):
                matching.append(f"c->raised == {index}")
        return " || ".join(matching) or "false"

    # ---------------------------------------------------------------------------- the object --

    def freeze(self, name: str) -> Any:
        """Returns an attribute that never changes, for which the program then holds only."""
        value = getattr(self.template.env, name)
        self.template.frozen[name] = value
        return value

    def never_zero(self, name: str) -> bool:
        """Returns whether an attribute that never changes is not 0; it is not in any pool, then."""
        if not getattr(self.template.env, name):
            return False
        self.template.divisors.add(name)
        return True

    def add_state(self, name: str) -> None:
        """Notes that an attribute changes, and begins anew."""
        if name in self.template.state:
            raise Refusal(f"self.{name} can't be changed here")
        self.template.add_state(name)
        raise Restart

    def constant_name(self, body: Body, tree: ast.expr | None) -> str | None:
        """Returns the attribute that an expression is a part of; None for others."""
        while isinstance(tree, ast.Subscript):
            tree = tree.value
        if isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name):
            owner = body.names.get(tree.value.id)
            if isinstance(owner, Self):
                return tree.attr
        return None

    def attribute(self, body: Body, name: str, after: type | None = None) -> Value:
        """Returns self.name, or super().name."""
        template = self.template
        function = reader.find(template.cls, name, after)
        if function is not None:
            if function.kind == "property":
                return self.call(body, Bound(function, True), [], {})
            return Bound(function, function.kind in ("method", "class"))
        if after is not None:
            found = getattr(super(after, template.env), name, None)
            if name == "reset":
                return Fixed(gymnasium.Env.reset)
            if found is None:
                raise body.refuse(f"super().{name} is not translated")
            return Fixed(_do_nothing)
        if name == "np_random":
            return Rng(name)
        if name in ("unwrapped",):
            return Self()
        if name in ("spec", "_np_random", "_np_random_seed"):
            return Fixed(None)
        if name == "__class__":
            return Fixed(template.cls)
        if name in template.state:
            of = template.state[name]
            held = storage.load(body, of, f"s->a_{name}", ("attribute", name))
            if isinstance(held, Arr):
                held.order = template.orders.get(name, ())
            return held
        if not hasattr(template.env, name):
            raise body.refuse(f"self.{name} is assigned nowhere before this line")
        value = getattr(template.env, name)
        if name not in vars(template.env):
            if not inspect.ismethod(value):
                return Fixed(value)
            raise body.refuse(f"self.{name}() is not translated")
        number = number_of(value)
        if number is not None:
            template.constants[name] = value
            return Num(number, f"k->a_{name}", name)
        if isinstance(value, np.ndarray) and of_dtype(value.dtype) is not None:
            template.constants[name] = value
            item = of_dtype(value.dtype)
            assert item is not None
            array = storage.memory_array(item, value.shape, f"k->a_{name}", ("attribute", name))
            array.is_read_only = True
            array.order = arrays.order_of(value)
            return array
        if isinstance(value, np.random.Generator) and name in template.generators:
            return Rng(name)
        if isinstance(value, np.random.Generator):
            raise body.refuse(
                f"self.{name} is a generator of its own: use self.np_random, which reset() seeds"
            )
        template.frozen[name] = value
        return Fixed(value)

    def set_attribute(self, body: Body, name: str, value: Value) -> None:
        """self.name = value."""
        function = reader.find(self.template.cls, name)
        if function is not None:
            raise body.refuse(f"self.{name} is a {function.kind}, and can't be assigned")
        template = self.template
        if isinstance(value, (Rng, SeedArgument)) and name in (*GENERATORS, *template.generators):
            return
        if name in ("np_random", "_np_random"):
            raise body.refuse("self.np_random is the engine's: seed it by reset(seed=...)")
        if isinstance(value, (Span, Flat, Bound, Generator, Self)):
            raise body.refuse(f"self.{name} can't hold this: make a list of it")
        if isinstance(value, Rec) and value.cls is OpenDict:
            raise body.refuse(f"self.{name} can't hold a dict whose keys depend on the way")
        if isinstance(value, Options):
            raise body.refuse(
                f"self.{name} can't hold the options of reset(): keep the numbers that are needed"
            )
        given = value
        of = body.unbounded(value)
        if name not in template.state:
            template.new_state(name, _kept(of), body)
            raise Restart
        have = template.state[name]
        if isinstance(have, Number):
            self.reset_options.meet((value, Num(have, "")))
        wanted = template.joined(body, name, have, _kept(of))
        if wanted != have:
            template.state[name] = wanted
            raise Restart
        now = storage.load(body, have, f"s->a_{name}", ("attribute", name))
        if isinstance(value, Arr) and (
            isinstance(now, Uni) or (isinstance(now, Arr) and arrays.reads(value, now))
        ):
            value = body.fresh(value)
        elif isinstance(value, (Tup, Rec)):
            value = (
                Rec(value.keys, tuple(map(body.kept, value.items)), cls=value.cls)
                if isinstance(value, Rec)
                else body.kept(value)
            )
        if isinstance(value, Arr):
            self._note_order(name, value.order)
        body.detach(("attribute", name))
        aliasing.attribute_assigned(body, name, given)
        storage.store(body, have, f"s->a_{name}", value, f"self.{name}")
        if value is not given:
            body.note_stored(have, f"s->a_{name}", given)
        self.assigned.add(name)
        # the name from which it came means the same object from now on
        now = storage.load(body, have, f"s->a_{name}", ("attribute", name))
        if isinstance(now, Uni) and isinstance(value, Arr):
            now = storage.member(body, now, value.type)
        for other, held in list(body.names.items()):
            if (held is given and isinstance(now, (Arr, Lst, Mapping, Uni))) or (
                held is given and isinstance(now, Rec) and now.cls is not None
            ):
                body.names[other] = now

    def _note_order(self, name: str, order: tuple[int, ...]) -> None:
        """Notes the order of an attribute's axes, and begins anew if it is another one."""
        have = self.template.orders.setdefault(name, order)
        if have != order and have != UNKNOWN:
            self.template.orders[name] = UNKNOWN
            raise Restart

    def widen_map(self, name: str, of: Map, key: Type, item: Type) -> None:
        """Notes that a dict of an attribute has keys and items of other types, and begins anew."""
        template = self.template
        have = unbounded(template.state[name])
        wanted = _replaced(have, unbounded(of), of.holding(key, item))
        template.state[name] = template.bounded(name, wanted)
        raise Restart

    def widen_list(self, name: str, of: List, item: Type) -> None:
        """Notes that a list of an attribute has items of another type, and begins anew."""
        self.template.widen(name, of, item)
        raise Restart

    def attribute_of_known(self, body: Body, value: Any, name: str) -> Value:
        """Returns an attribute of an object that is known before the program runs."""
        if isinstance(value, enum.Enum) and name in ("value", "name"):
            return Fixed(getattr(value, name))
        if isinstance(value, type) and reader.is_own(value) and not hasattr(value, "_fields"):
            function = reader.find(value, name)
            if function is not None:
                if function.kind == "class":
                    return ObjectMethod(function, Fixed(value))
                if value in self.template.cls.__mro__ or function.kind == "static":
                    return Bound(function, False)
        if not hasattr(value, name):
            raise body.refuse(f"{type(value).__name__} has no attribute {name}")
        if isinstance(value, np.ndarray):
            return expressions.attribute(body, self.table(value), name)
        found = getattr(value, name)
        if callable(found) and isinstance(value, (np.random.Generator, np.random.RandomState)):
            raise body.refuse("a generator of your own is not translated: use self.np_random")
        owner_module = getattr(value, "__name__", "")
        is_random = isinstance(value, python_types.ModuleType) and owner_module in (
            "random",
            "numpy.random",
        )
        if is_random and found is not np.random.default_rng:
            raise body.refuse(f"{owner_module}.{name} is not seeded by reset(): use self.np_random")
        if records.is_object(value):
            function = reader.find(type(value), name)
            if function is not None:
                if function.kind == "property":
                    return Fixed(found)
                if function.kind == "method":
                    return ObjectMethod(function, Fixed(value))
                return Bound(function, False)
        return Fixed(found)

    def draw_from(self, body: Body, value: Rng) -> None:
        """Notes which generator is drawn from: all of them are the engine's one.

        Raises:
            Refusal: it is another one.
        """
        self.drawn.add(value.name)
        if len(self.drawn) > 1:
            names = " and ".join(f"self.{each}" if each else "a local one" for each in self.drawn)
            raise body.refuse(f"two generators have the seed of reset(), {names}: draw from one")

    def attribute_of_member(self, body: Body, value: Mem, name: str) -> Value:
        members = list(value.member.cls)
        if name in ("value", "name"):
            values = [getattr(each, name) for each in members]
            found = containers.table(body, values)
            if found is None:
                raise body.refuse(f".{name} of {value.type} is not translated")
            return found(value.c)
        raise body.refuse(f".{name} of {value.type} is not translated")

    def widen_record(self, name: str, of: Record, wanted: Record) -> None:
        """Notes that an object of an attribute has a field of another type, and begins anew."""
        template = self.template
        have = template.state[name]
        template.state[name] = template.bounded(
            name, _replaced(unbounded(have), unbounded(of), wanted)
        )
        raise Restart

    def attribute_of_object(self, body: Body, value: Rec | Tup, name: str) -> Value:
        assert value.cls is not None
        displays.check_read(body, value)
        keys = value.keys if isinstance(value, Rec) else value.names
        if name in keys:
            return value.items[keys.index(name)]
        function = reader.find(value.cls, name)
        if function is None:
            if hasattr(value.cls, name):
                return Fixed(getattr(value.cls, name))
            raise body.refuse(f"{value.cls.__name__} has no attribute {name}")
        if function.kind == "property":
            return self._call(body, function, [value], {}, None)
        return ObjectMethod(function, value)

    def make_object(
        self, body: Body, cls: type, given: list[Value], keywords: dict[str, Value]
    ) -> Value:
        """Returns a new object of a class of the user's."""
        if reason := objects.check(cls):
            raise body.refuse(reason)
        if not dataclasses.is_dataclass(cls):
            return self._call(body, records.constructor(cls), given, keywords, None)
        fields = dataclasses.fields(cls)
        positional = [each.name for each in fields if each.init and not each.kw_only]
        keywords = {**keywords, **dict(zip(positional, given, strict=False))}
        if len(given) > len(positional) or keywords.keys() - {e.name for e in fields if e.init}:
            raise body.refuse(f"{cls.__name__} has no such arguments")
        items: list[Value] = []
        for each in fields:
            if each.name in keywords:
                items.append(keywords[each.name])
            elif each.default is not dataclasses.MISSING:
                items.append(Fixed(each.default))
            elif each.default_factory is not dataclasses.MISSING:
                items.append(Fixed(each.default_factory()))
            elif each.init:
                raise body.refuse(f"{cls.__name__} needs {each.name}")
            else:
                raise body.refuse(f"{cls.__name__}.{each.name} needs a default")
        kept = tuple(_number_if_known(body, body.kept(each)) for each in items)
        made = Rec(tuple(each.name for each in fields), kept, cls=cls)
        after = objects.written(cls, "__post_init__")
        return made if after is None else self._after_init(body, made, after)

    def method_of(self, function: Function, owner: Value) -> Bound:
        """Returns a method of an object of the user's."""
        return ObjectMethod(function, owner)

    def _after_init(self, body: Body, made: Rec, after: Function) -> Value:
        """Returns a new object after its __post_init__."""
        place = body.variable("o", made.type)
        storage.store(body, made.type, place, made)
        found = storage.load(body, made.type, place, ("memory", place))
        self.call(body, ObjectMethod(after, found), [], {})
        return storage.load(body, made.type, place)

    def space_contains(self, body: Body, space: Any, item: Value) -> str | bool:
        """space.contains(action): the engine has checked the action."""
        del space
        if isinstance(item, (Num, Arr, Mem, Tup)):
            return True
        raise body.refuse("whether a space contains this is not translated")

    # -------------------------------------------------------------------------------- tables --

    def table(self, value: Any) -> Arr:
        """Returns a known array, which all environments share."""
        order = arrays.order_of(value)
        value = np.ascontiguousarray(value)
        item = of_dtype(value.dtype)
        if item is None:
            raise Refusal(f"an array of {value.dtype} is not translated")
        if value.size > LARGEST_TABLE:
            raise Refusal(
                f"an array of {value.size:,} elements outside of self is not translated: keep it in"
                " an attribute, from __init__ on"
            )
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._arrays:
            name = self.name("table")
            self._arrays[key] = name
            text = arrays.literal_array(item, value) or "0"
            self.tables.append(f"static const {item.c} {name}[{max(1, value.size)}] = {{{text}}};")
        array = storage.memory_array(item, value.shape, self._arrays[key])
        array.is_read_only, array.is_place, array.order = True, False, order
        if value.size <= 64:
            # elements at places that are known are numbers
            plain = array.at

            def at(index: Sequence[str]) -> str:
                if all(each.isdigit() for each in index):
                    return literal(value[tuple(map(int, index))].item(), item)
                return plain(index)

            array.at = at
        return array

    def fixed_table(self, of: Type, values: Sequence[Any]) -> str:
        """Returns the name of a C array of known values of one type."""
        key = (of, repr(values))
        if key not in self._fixed_tables:
            text = ", ".join(self.c_literal(of, each) for each in values)
            self._fixed_tables[key] = self._table(self.types.c(of), text)
        return self._fixed_tables[key]

    def has_tables_of(self, of: Type) -> bool:
        """Returns whether known values of a type can be written into the program."""
        if isinstance(of, Tuple) or (isinstance(of, Record) and of.cls is None):
            return all(map(self.has_tables_of, of.items))
        if isinstance(of, TableArray):
            return True
        if isinstance(of, Optional):
            return self.has_tables_of(of.item)
        if isinstance(of, List):
            return not of.is_set and self.has_tables_of(of.item)
        if isinstance(of, Map):
            return self.has_tables_of(of.key) and self.has_tables_of(of.item)
        return isinstance(of, (Number, Text, Member, Constant, Empty))

    def _table(self, c_type: str, text: str) -> str:
        """Writes a C array; returns its name."""
        name = self.name("table")
        self.tables.append(f"static {c_type} {name}[] = {{{text or '0'}}};")
        return name

    def _held(self, of: List | Map, value: Any) -> str:
        """Returns the C pointer to a known list or dict."""
        if isinstance(of, Map):
            keys = self.fixed_table(of.key, list(value))
            items = self.fixed_table(of.item, list(value.values()))
            parts = f"{len(value)}, {len(value)}, {keys}, {items}"
        else:
            parts = f"{len(value)}, {len(value)}, {self.fixed_table(of.item, list(value))}"
        key = (of, parts)
        if key not in self._fixed_tables:
            self._fixed_tables[key] = self._table(self.types.struct(of), f"{{{parts}}}")
        return self._fixed_tables[key]

    def c_literal(self, of: Type, value: Any) -> str:
        """Returns a known value in C, as an initializer."""
        if isinstance(of, Number):
            return literal(value, of)
        if isinstance(of, Text):
            return str(self.text_number(value))
        if isinstance(of, Member):
            return str(list(of.cls).index(value))
        if isinstance(of, (Tuple, Record)):
            values = value.values() if isinstance(of, Record) else value
            parts = (self.c_literal(t, v) for t, v in zip(of.items, values, strict=True))
            return "{" + ", ".join(parts) + "}"
        if isinstance(of, TableArray):
            dims = ", ".join(map(str, value.shape)) or "0"
            return f"{{({of.item.c} *){self.table(value).pointer}, {{{dims}}}}}"
        if isinstance(of, Optional):
            return "{false}" if value is None else f"{{true, {self.c_literal(of.item, value)}}}"
        if isinstance(of, (Constant, Empty)):
            return "0"
        if isinstance(of, (List, Map)):
            return self._held(of, value)
        raise Refusal(f"{value!r} can't be kept in a table")

    # --------------------------------------------------------------------------------- texts --

    def text_number(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def text_id(self, value: Value) -> str:
        if isinstance(value, Txt):
            return value.c
        if isinstance(value, Fixed) and isinstance(value.value, (str, bytes)):
            return str(self.text_number(text_of(value.value)))
        raise Refusal(f"{value.type} is no text")

    def member_id(self, of: Member, value: Value) -> str:
        if isinstance(value, Mem) and value.member == of:
            return value.c
        if isinstance(value, Fixed) and isinstance(value.value, of.cls):
            return str(list(of.cls).index(value.value))
        raise Refusal(f"{value.type} is no {of}")

    def text_table(self, c: str, function: Callable[[str], int]) -> str:
        """Returns what a function says of a text that is not known."""
        name = self.name("texts")
        self._text_table_list.append((name, function))
        return f"{name}[{c}]"

    def rank_of(self, text: str) -> int:
        """Returns the place of a text among all, in Python's order."""
        return sorted(self.texts).index(text)

    def text_length(self, c: str) -> str:
        return self.text_table(c, len)

    def letter(self, body: Body, c: str, at: str) -> str:
        """Returns the text of one letter of a text."""
        place = body.c_variable("t", "int64_t")
        body.emit(f"{place} = {at};")
        length = self.text_length(c)
        body.check(
            f"pp_python_index(&{place}, {length})", "IndexError", "string index out of range"
        )
        name = self.name("letters")
        self._letter_tables.append(name)
        return f"{name}[{c}][{place}]"

    def all_texts(self) -> list[str]:
        return list(self.texts)

    def text_table_lines(self) -> list[str]:
        """Returns the tables of texts, when all texts are known."""
        count = -1
        found: dict[str, list[int]] = {}
        while count != len(self.texts):
            count = len(self.texts)
            if self._letter_tables:
                for text in list(self.texts):
                    for each in text:
                        self.text_number(each)
            for name, function in self._text_table_list:
                found[name] = [function(text) for text in list(self.texts)]
        # without such tables, letters are no texts
        spelled = list(self.texts) if self._letter_tables else []
        widest = max(map(len, self.texts))
        rows = ", ".join(
            "{" + (", ".join(str(self.text_number(each)) for each in text) or "0") + "}"
            for text in spelled
        )
        letters = [
            f"static const int32_t {name}[{len(self.texts)}][{max(1, widest)}] = {{{rows}}};"
            for name in self._letter_tables
        ]
        return [
            f"enum {{ NUM_TEXTS = {len(self.texts)} }};",
            *(self._writer() if self.shows_texts else []),
            *letters,
            *(
                f"static const int32_t {name}[{len(values)}] = {{{', '.join(map(str, values))}}};"
                for name, values in found.items()
            ),
        ]

    def _writer(self) -> list[str]:
        """Returns the function that writes the text of a number."""
        longest = max(len(text.encode()) for text in self.texts)
        texts = ", ".join(map(containers.c_text, self.texts))
        return [
            f"enum {{ LONGEST_TEXT = {max(1, longest)} }};",
            f"static const char *const all_texts[NUM_TEXTS] = {{{texts}}};",
            *_WRITER.splitlines(),
        ]

    # --------------------------------------------------------------------------------- NumPy --

    def numpy_loop(self, body: Body, name: str, of: Number, *cs: str) -> Num:
        """Returns what NumPy's own inner loop of a function makes of numbers."""
        if of.bits not in (32, 64) or of.kind != "f":
            raise body.refuse(f"np.{name} of {of} is not translated")
        function = getattr(np, name, None)
        code = "d" if of.bits == 64 else "f"
        signature = code * len(cs) + "->" + code
        if not isinstance(function, np.ufunc) or signature not in function.types:
            raise body.refuse(f"np.{name} of {of} is not translated")
        key = (name, signature)
        if key not in self.numpy_functions:
            self.numpy_functions.append(key)
        index = self.numpy_functions.index(key)
        caller = f"numpy_{'two' if len(cs) == 2 else 'one'}_{of.c}"
        c = f"{caller}(&numpy_loops[{index}], {', '.join(cs)})"
        return body.number(of, c)

    def numpy_index(self, name: str, of: Number, count: int, num_results: int = 1) -> int:
        """Returns the place of NumPy's inner loop of a function of floats."""
        code = "d" if of.bits == 64 else "f"
        key = (name, code * count + "->" + code * num_results)
        if key not in self.numpy_functions:
            self.numpy_functions.append(key)
        return self.numpy_functions.index(key)

    def numpy_fold(self, body: Body, name: str, array: Arr, count: str) -> Num:
        """Returns what NumPy's loop of two makes of all floats in memory."""
        index = self.numpy_index(name, array.item, 2)
        function = f"numpy_fold_{array.item.c}"
        return body.number(
            array.item, f"{function}(&numpy_loops[{index}], {array.pointer}, {count})"
        )

    def numpy_power(self, body: Body, of: Number, c: str, exponent: str) -> Num:
        """Returns what NumPy's loop makes of an element to the power of one number."""
        index = self.numpy_index("power", of, 2)
        return body.number(of, f"numpy_power_{of.c}(&numpy_loops[{index}], {c}, {exponent})")

    def numpy_matmul(
        self, body: Body, one: Arr, other: Arr, item: Number, is_dot: bool = False
    ) -> Value:
        """Returns one @ other of floats, or np.dot(): NumPy's loop calls the user's BLAS, for its
        bits."""
        if len(one.dims) not in (1, 2) or len(other.dims) not in (1, 2):
            raise body.refuse("@ of arrays with more than two axes is not translated")
        (a, a_steps), (b, b_steps) = (
            arrays.with_steps(body, each, item, is_dot) for each in (one, other)
        )
        index = self.numpy_index("matmul", item, 2)
        inner, theirs = one.dims[-1], other.dims[0]
        if isinstance(inner, int) and isinstance(theirs, int):
            if inner != theirs:
                raise body.refuse(f"@ of arrays whose axes have {inner} and {theirs} elements")
        else:
            body.check(f"{inner} == {theirs}", "ValueError", "matmul: mismatch of the inner axes")
        rows = one.dims[0] if len(one.dims) == 2 else 1
        columns = other.dims[1] if len(other.dims) == 2 else 1
        dims = (*one.dims[:-1], *other.dims[1:])
        result = arrays._new(body, item, dims)
        steps = a_steps if len(a_steps) == 2 else ["0", *a_steps]
        steps = [*steps, *(b_steps if len(b_steps) == 2 else [*b_steps, "0"])]
        steps += [str(columns) if len(one.dims) == 2 else "0", "1" if len(other.dims) == 2 else "0"]
        body.emit(
            f"numpy_matmul_{item.c}(&numpy_loops[{index}], {a}, {b}, {result.pointer}, {rows},"
            f" {inner}, {columns}, (const int64_t[]){{{', '.join(steps)}}});"
        )
        return result if dims else Num(item, result.at(()))

    def numpy_norm(self, body: Body, array: Arr) -> Value:
        """Returns np.linalg.norm of an array with one axis: the root of its product with itself."""
        item = array.item if array.item.kind == "f" else Number("f", 64, True)
        array = body.in_memory(array, item)
        square = self.numpy_matmul(body, array, array, item)
        assert isinstance(square, Num)
        return body.number(item, f"{'sqrt' if item.bits == 64 else 'sqrtf'}({square.c})")

    # --------------------------------------------------------------------------------- calls --

    def global_value(self, function: Function, name: str) -> Value:
        value = function.names[name]
        if isinstance(value, np.random.Generator):
            raise Refusal(f"{name} is a generator of its own: use self.np_random")
        return Fixed(value)

    def returned(self, body: Body, value: Value) -> Value:
        """Returns what a function returns; of the environment's step and reset, nothing."""
        if body.function.is_generator:
            return body.yielded if body.yielded is not None else Fixed(None)
        return containers.listed(value)

    def call(
        self, body: Body, bound: Bound, given: list[Value], keywords: dict[str, Value]
    ) -> Value:
        """Calls a method of the environment, or a function of the user's."""
        if isinstance(bound, ObjectMethod):
            return self._call(body, bound.function, [bound.owner, *given], keywords, None)
        own: list[Value] = []
        if bound.has_self:
            is_class = bound.function.kind == "class"
            own = [Fixed(self.template.cls) if is_class else Self()]
        return self._call(body, bound.function, [*own, *given], keywords, None)

    def call_function(
        self, body: Body, function: Any, given: list[Value], keywords: dict[str, Value]
    ) -> Value:
        if function is _do_nothing:
            return Fixed(None)
        return self._call(body, reader.read(function, None, "function"), given, keywords, None)

    def _call(
        self,
        body: Body,
        function: Function,
        given: list[Value],
        keywords: dict[str, Value],
        entry: Any,
    ) -> Value:
        arguments = self._bound(body, function, given, keywords)
        for name, value in arguments.items():
            held = [each for each, it in body.names.items() if it is value]
            if held and isinstance(value, ListDisplay) and may_change(function.tree, name):
                arguments[name] = body.listed(held[0])
        passed, forms, parameters = [], [], []
        for name, value in arguments.items():
            form, c, parameter = self._passed(body, name, value)
            forms.append((name, form))
            passed.append(c)
            parameters.append(parameter)
        key = (id(function.tree), function.file, function.tree.lineno, tuple(forms))
        compiled = self._compiled.get(key)
        if compiled is None:
            try:
                compiled = self._compile(function, arguments, forms, key)
            except Wider as wider:
                del self._compiled[key]
                name = wider.c.removeprefix("p_")
                if name not in arguments or wider.c == name:
                    raise
                arguments[name] = containers.widened(body, arguments[name], wider)
                return self._call(body, function, [], arguments, entry)
        elif not compiled.is_done:
            compiled.is_recursive = True
            if compiled.result is None:
                # what it returns is found at another place
                body.is_unresolved = True
                raise Dead
        # one that must be translated again: so must the caller
        body.is_unresolved = body.is_unresolved or key not in self._compiled
        regions = {
            f"p_{name}": aliasing.regions_of(body, value)
            | (aliasing.regions_of_text(body, c) if form[0] == "value" else set())
            for (name, form), value, c in zip(forms, arguments.values(), passed, strict=True)
        }
        result = self._emit_call(body, compiled, [each for each in passed if each], regions)
        if not function.is_generator:
            return result
        reads = order.read_by(body, function, list(arguments.values()))
        return Flat("iter", (result,), reads=reads)

    def _bound(
        self, body: Body, function: Function, given: list[Value], keywords: dict[str, Value]
    ) -> dict[str, Value]:
        tree = function.tree.args
        names = [each.arg for each in (*tree.posonlyargs, *tree.args)]
        if len(given) > len(names) and tree.vararg is None:
            raise body.refuse(f"{function.name}() takes {len(names)} arguments")
        found = dict(zip(names, given, strict=False))
        if tree.vararg is not None:
            found[tree.vararg.arg] = Tup(tuple(given[len(names) :]))
        allowed = {*names, *(each.arg for each in tree.kwonlyargs)}
        for name, value in keywords.items():
            if name not in allowed:
                if tree.kwarg is not None:
                    continue
                raise body.refuse(f"{function.name}() has no argument {name}")
            found[name] = value
        for name in (*names, *(each.arg for each in tree.kwonlyargs)):
            if name not in found:
                if name not in function.defaults:
                    raise body.refuse(f"{function.name}() needs {name}")
                found[name] = Fixed(function.defaults[name])
        if tree.kwarg is not None:
            found[tree.kwarg.arg] = Rec((), ())
        return found

    def _passed(self, body: Body, name: str, value: Value) -> tuple[Any, str, str]:
        """Returns the form of an argument, what is passed, and the parameter in C."""
        if isinstance(value, Maybe):
            value = value.value
        if isinstance(value, Generator):
            value = Flat("iter", (containers.made_of(body, value),))
        if isinstance(value, Flat) and value.kind == "iter":
            held, c, parameter = self._passed(body, name, value.parts[0])
            return ("iterator", held), c, parameter
        if isinstance(value, Fixed):
            return ("known", storage.fixed_type(value.value), _identity(value.value)), "", ""
        if isinstance(value, Self):
            return ("self",), "", ""
        if isinstance(value, Num):
            return ("number", value.number, value.attribute), value.c, value.number.c
        if isinstance(value, Arr):
            if not value.pointer:
                value = body.fresh(value)
            of = value.type
            dims = [str(dim) for dim in value.dims]
            kind = f"{value.item.c} *"
            root = _lasting(value.root)
            form: Any = ("array", of, root, value.is_read_only, value.is_foreign, value.order)
            if isinstance(of, Array):
                return form, f"({kind}){value.pointer}", kind
            struct = self.types.c(of)
            place = body.variable("p", of)
            body.emit(f"{place}.v = ({kind}){value.pointer};")
            for i, dim in enumerate(dims):
                body.emit(f"{place}.dim[{i}] = {dim};")
            return form, place, struct
        if isinstance(value, (Lst, Mapping)):
            of = value.type
            return ("held", of, _lasting(value.root)), value.c, f"{self.types.struct(of)} *"
        if isinstance(value, Uni) and not value.is_number:
            form = ("union", value.union, _lasting(value.root), value.is_foreign)
            return form, f"&{value.place}", f"{self.types.c(value.union)} *"
        if isinstance(value, Rec) and value.place and value.stored is not None:
            form = ("record", value.stored, _lasting(value.root))
            return form, f"&{value.place}", f"{self.types.c(value.stored)} *"
        if isinstance(value, (Rng, SeedArgument)):
            return ("self",), "", ""
        if isinstance(value, Bound):
            return ("known", NONE, id(value.function.tree)), "", ""
        if isinstance(value, (Span, Flat)):
            raise body.refuse("this can't be given to a function: make a list of it")
        of = _kept(body.unbounded(value))
        if self.types.bytes.get(self.types.c(of), 0) > LARGEST_ARGUMENT:
            raise body.refuse(
                f"{name} is {of}, too much to be copied into a call: give its arrays one by one, or"
                " keep it in self"
            )
        place = body.variable("p", of)
        storage.store(body, of, place, value, name)
        return ("value", of), place, self.types.c(of)

    def _parameter(self, body: Body, form: Any, c: str, value: Value) -> Value:
        """Returns what a parameter means in the function."""
        kind = form[0]
        if kind == "iterator":
            return Flat("iter", (self._parameter(body, form[1], c, value),))
        if kind == "known":
            return value
        if kind == "self":
            return value
        if kind == "number":
            return Num(form[1], c, form[2])
        if kind == "array":
            of = form[1]
            if isinstance(of, Array):
                array = storage.memory_array(of.item, of.shape, c, form[2])
            else:
                dims = [f"{c}.dim[{i}]" for i in range(of.ndim)]
                array = storage.memory_array(of.item, dims, f"{c}.v", form[2])
            array.is_read_only, array.is_foreign, array.order = form[3:]
            if array.root is None:
                array.root = ("parameter", c)
            return array
        if kind == "held":
            of = form[1]
            root = form[2] or ("parameter", c)
            return Lst(of, c, root) if isinstance(of, List) else Mapping(of, c, root)
        if kind == "record":
            return storage.load(body, form[1], f"(*{c})", form[2] or ("parameter", c))
        if kind == "union":
            return Uni(form[1], f"(*{c})", form[2] or ("parameter", c), form[3])
        return storage.load(body, form[1], c)

    def _compile(
        self, function: Function, arguments: dict[str, Value], forms: list[Any], key: Any
    ) -> Compiled:
        same = [each for each in self._compiled if each[:3] == key[:3]]
        if len(same) > MOST_FORMS:
            raise Refusal(f"{function.name}() is called with too many kinds of arguments")
        name = self._function_names.setdefault(key, self.name(f"f_{function.name.strip('_')}"))
        compiled = Compiled(name)
        self._compiled[key] = compiled
        result: Type | None = None
        for _ in range(6):
            # the type of the result: translated once for nothing
            body = self._translated(function, arguments, forms, result, dry=True)
            compiled.effects = body.effects
            compiled.reference = _reference(body.found_references)
            found = (
                _kept(body.result_type())
                if not isinstance(body.result_type(), Constant)
                else body.result_type()
            )
            compiled.is_foreign = body.returns_parts
            compiled.shared = frozenset(body.returns_of)
            compiled.order = arrays.one_order(body.returned_orders)
            if found == result:
                break
            compiled.result = result = found
            if not compiled.is_recursive:
                break
        reference = compiled.reference
        body = self._translated(function, arguments, forms, compiled.result, reference=reference)
        compiled.effects = body.effects
        if body.is_unresolved:
            # it calls what is being translated: once more when that is known
            del self._compiled[key]
            return compiled
        compiled.is_done = True
        self._write(compiled, body, forms)
        return compiled

    def _translated(
        self,
        function: Function,
        arguments: dict[str, Value],
        forms: list[Any],
        returns: Type | None,
        dry: bool = False,
        reference: Value | None = None,
    ) -> Body:
        body = Body(self, function, None if dry else returns)
        if reference is not None:
            body.returns_reference, body.returned_name = True, ""
        for (name, form), value in zip(forms, arguments.values(), strict=True):
            c = f"p_{name}"
            root = form[2] if form[0] in ("array", "held", "record", "union") else None
            body.parameters[c] = {
                ("attribute", part.partition(":")[2])
                for part in (aliasing.parts_of(root) if root else ())
                if part.startswith("attribute:")
            }
            body.names[name] = self._parameter(body, form, c, value)
        if function.is_generator:
            self._begin_generator(body, function, returns)
        try:
            body.statements(function.tree.body)
            if body.alive:
                body.give(Fixed(None))
        except Refusal as refusal:
            if not refusal.file:
                refusal.file = function.file
            raise
        return body

    def _begin_generator(self, body: Body, function: Function, returns: Type | None) -> None:
        """Lets a generator function collect what it yields; its caller loops over the list."""
        item: Type = Empty()
        if isinstance(returns, List):
            item = returns.item
        key = (function.file, function.tree.lineno)
        item = self.yields.get(key, item)
        body.yielded = containers.new_list(body, List(item), "8")

    def yielded(self, body: Body, value: Value) -> None:
        """yield value."""
        made = body.yielded
        assert made is not None
        of = made.list_type
        item = storage.join_items(of.item, storage.item_type(value))
        if item != of.item:
            self.yields[body.function.file, body.function.tree.lineno] = item
            made = Lst(List(item), made.c, made.root)
            body.yielded = made
            body.variables[made.c] = self.types.c(List(item))
        containers.append(body, made, value)

    def _write(self, compiled: Compiled, body: Body, forms: list[Any]) -> None:
        parameters = ["pp_python *c", "struct state *s", "const struct shared *k"]
        for name, form in forms:
            c = self._parameter_type(form)
            if c:
                parameters.append(f"{c}{'' if c.endswith('*') else ' '}p_{name}")
        assert compiled.result is not None
        if compiled.reference is not None:
            parameters.append(f"{aliasing.pointed_type(body, compiled.reference)} **result")
        elif not isinstance(compiled.result, Constant):
            parameters.append(f"{self.types.c(compiled.result)} *result".replace("* *", "**"))
        head = f"static int {compiled.name}({', '.join(parameters)})"
        self.declarations.append(f"{head};")
        lines = [f"/* {body.function.qualified_name} */", f"{head} {{"]
        body.is_recursive = compiled.is_recursive
        lines += ["  int status = PP_OK;", *body.declarations()]
        lines += ["  (void)c, (void)s, (void)k, (void)status;"]
        lines += body.text()
        if any("goto fail;" in line for line in lines):
            lines += ["fail:", "  return status;"]
        lines += ["}"]
        self.functions.append("\n".join(lines))

    def _parameter_type(self, form: Any) -> str:
        kind = form[0]
        if kind == "iterator":
            return self._parameter_type(form[1])
        if kind in ("known", "self"):
            return ""
        if kind == "number":
            return str(form[1].c)
        if kind == "array":
            of = form[1]
            return f"{of.item.c} *" if isinstance(of, Array) else self.types.c(of)
        if kind == "held":
            return f"{self.types.struct(form[1])} *"
        if kind in ("record", "union"):
            return f"{self.types.c(form[1])} *"
        return self.types.c(form[1])

    def _emit_call(
        self,
        body: Body,
        compiled: Compiled,
        passed: list[str],
        regions: dict[str, set[aliasing.Region]],
    ) -> Value:
        if not compiled.is_done:
            compiled.effects.rebinds |= self.template.rebound
        aliasing.before_call(body, compiled.effects, regions)
        result = ""
        assert compiled.result is not None
        arguments = ["c", "s", "k", *passed]
        target, body.call_target = body.call_target, None
        if compiled.reference is not None:
            place = body.through_pointer(
                body.name("ref"), compiled.reference, aliasing.root_of(compiled.reference)
            )
            result = aliasing.pointer_of(place).strip("&(*)")
            aliasing.point_to_root(body, result, aliasing.root_of(place))
            arguments.append(f"&{result}")
        elif target is not None and target[0] == compiled.result:
            result = f"(*({self.types.c(compiled.result)} *){target[1]})"
            arguments.append(f"&{result}")
        elif not isinstance(compiled.result, Constant):
            result = body.variable("r", compiled.result)
            arguments.append(f"&{result}")
        if compiled.is_recursive:
            deep = "RecursionError", "maximum recursion depth exceeded"
            with body.block("if (__builtin_expect(pp_python_is_deep(c), 0)) {"):
                body.emit("c->depth--;")
                body.fail(*deep)
        call = f"{compiled.name}({', '.join(arguments)})"
        if compiled.is_recursive:
            body.emit(f"status = {call};")
            body.emit("c->depth--;")
            call = "status"
        else:
            call = f"(status = {call})"
        failed = f"if (__builtin_expect({call} < 0, 0))"
        if body.handlers:
            with body.block(f"{failed} {{"):
                body.goto_handler()
        else:
            body.emit(f"{failed} goto fail;")
        results = aliasing.regions_of_text(body, result) if result else set()
        aliasing.called(body, compiled.effects, {**regions, "result": results})
        if compiled.reference is not None:
            return place
        if not result:
            assert isinstance(compiled.result, Constant)
            return Fixed(compiled.result.value)
        found = storage.load(body, compiled.result, result)
        if target is not None and isinstance(found, Arr) and target[0] == compiled.result:
            found.pointer = target[1]
        if isinstance(found, Arr):
            found.order = compiled.order
        if compiled.is_foreign and isinstance(found, Arr):
            found.is_foreign = True
        if isinstance(found, Arr):
            found.shared = compiled.shared
        return found

    def inline_generator(self, body: Body, value: Flat, function: Callable[[Value], None]) -> None:
        raise body.refuse("this generator is not translated")


@dataclass
class ObjectMethod(Bound):
    """A method of an object of the user's."""

    def __init__(self, function: Function, owner: Value) -> None:
        super().__init__(function, False)
        self.owner = owner


def _lasting(root: tuple[str, str] | None) -> tuple[str, str] | None:
    """Returns the root of an argument, if it is a part of the environment."""
    parts = aliasing.parts_of(root) if root is not None else []
    return root if any(part.startswith("attribute:") for part in parts) else None


def _reference(found: Sequence[Value | None]) -> Value | None:
    """Returns what a function returns, if all are parts of the environment of one type."""
    parts: list[Value] = []
    for each in found:
        if each is None:
            return None
        if not isinstance(each, Fixed):
            parts.append(each.target if isinstance(each, Opt) and each.target else each)
    if not parts or any(each.type != parts[0].type for each in parts):
        return None
    result = parts[0]
    for each in parts[1:]:
        result = dataclasses.replace(result, root=aliasing.joined_root(result, each))  # type: ignore[call-arg]
    may_be_none = any(isinstance(each, (Fixed, Opt)) for each in found)
    return aliasing.nullable(Fixed(None), result) if may_be_none else result


def _replaced(have: Type, of: Type, wanted: Type) -> Type:
    """Returns a type in which a part has become another one."""
    if have == of:
        return wanted
    if isinstance(have, List):
        item = _replaced(have.item, of, wanted)
        return have.holding(item)
    if isinstance(have, Map):
        return have.holding(have.key, _replaced(have.item, of, wanted))
    if isinstance(have, Optional):
        return Optional(_replaced(have.item, of, wanted))
    if isinstance(have, Tuple):
        return Tuple(tuple(_replaced(each, of, wanted) for each in have.items), have.cls)
    if isinstance(have, Record):
        items = tuple(_replaced(each, of, wanted) for each in have.items)
        return dataclasses.replace(have, items=items)
    return have


def _kept(of: Type) -> Type:
    """Returns the type in which a value of a type is kept among others."""
    if isinstance(of, Constant) and of.value is not None:
        try:
            return storage.fixed_type(of.value)
        except Refusal:
            return of
    if isinstance(of, Tuple):
        return Tuple(tuple(map(_kept, of.items)), of.cls)
    return of


def _number_if_known(body: Body, value: Value) -> Value:
    number = as_number(value)
    return number if isinstance(value, Fixed) and number is not None else value


def _identity(value: Any) -> Any:
    simple = (int, float, str, bool, type(None))
    if isinstance(value, simple) or (
        isinstance(value, tuple) and all(isinstance(each, simple) for each in value)
    ):
        return type(value).__name__, repr(value)
    return id(value)


def text_of(value: str | bytes) -> str:
    """Returns the text that stands for one: no text of the user's equals that of bytes."""
    return value if isinstance(value, str) else f"\0bytes {value!r}"


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """Stands for a method of Gymnasium's that does nothing here."""
