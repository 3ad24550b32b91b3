"""Body: translates the statements of one function, for arguments of known types."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import (
    aliasing,
    arrays,
    assignment,
    calls,
    containers,
    displays,
    elements,
    expressions,
    loops,
    objects,
    operators,
    order,
    python_calls,
    statements,
    storage,
    unions,
)
from parallel_pool._translator.flow import Loop, Lost, Maybe, Names, Pending
from parallel_pool._translator.reader import Function
from parallel_pool._translator.refusal import MISTAKES, Dead, Refusal
from parallel_pool._translator.template import may_change
from parallel_pool._translator.types import (
    NONE,
    Array,
    Constant,
    List,
    Map,
    Number,
    Type,
    unbounded,
)
from parallel_pool._translator.values import (
    Arr,
    Bound,
    Dim,
    Fixed,
    Flat,
    Functions,
    Generator,
    Lambda,
    Lst,
    Mapping,
    Mem,
    Method,
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
    cast,
    is_function,
    is_iterator,
    is_known_number,
)

if TYPE_CHECKING:
    from parallel_pool._translator.program import Program

# values that take no memory
WITHOUT_MEMORY = (Bound, Flat, Functions, Lambda, Method, Rng, SeedArgument, Span)


NEGATIVE = "negative dimensions are not allowed"
# bytes of the variables of a function on the stack, and of one that calls itself
MAX_STACK_BYTES, MAX_RECURSIVE_BYTES = 16384, 1024


class Body:
    """The translation of one function."""

    def __init__(self, program: Program, function: Function, returns: Type | None) -> None:
        self.program = program
        self.function = function
        self.lines: list[Any] = []
        self.variables: dict[str, str] = {}
        self.names: Names = {aliasing.FLOW: aliasing.Flow()}
        # C variables of names, and the memories to which parameters refer
        self.places: dict[str, set[str]] = {}
        self.parameters: dict[str, set[aliasing.Region]] = {}
        self.effects = aliasing.Effects()
        self.notes_copies = True
        self.is_any_order = False
        # parts of what loops go over
        self.loop_items: list[tuple[Value, ...]] = []
        # it calls a function whose result is not known yet
        self.is_unresolved = False
        # what all returns refer to, if each returns a part of the environment
        self.found_references: list[Value | None] = []
        self.returns_reference = False
        self.alive = True
        self.loops: list[Loop] = []
        self.loop_ends: dict[str, list[Pending]] = {}
        # what a generator function has yielded
        self.yielded: Lst | None = None
        # for step and reset of the environment: what becomes of the result
        self.entry: Callable[[Body, ast.expr | None], None] | None = None
        self.handlers: list[str] = []
        self.is_checked = False
        self.is_recursive = False
        self.at: ast.AST = function.tree
        self.indent = 1
        self.returns = returns
        self.found_returns: list[Type] = []
        self.returns_parts = False
        # the attributes whose parts it returns
        self.returns_of: set[tuple[str, str]] = set()
        self.returned_orders: list[tuple[int, ...]] = []
        # its memory is that of the result
        self.returned_name = function.returned_name
        # where the result of the next call goes, and its type
        self.call_target: tuple[Type, str] | None = None
        self.labels = 0

    # ---------------------------------------------------------------------------------- text --

    def emit(self, line: str) -> None:
        self.lines.append("  " * self.indent + line)

    @contextlib.contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        self.emit(head)
        self.indent += 1
        yield
        self.indent -= 1
        self.emit(tail)

    @contextlib.contextmanager
    def buffer(self) -> Iterator[list[Any]]:
        """Collects lines."""
        kept, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = kept

    def name(self, hint: str) -> str:
        """Returns a new C name."""
        return self.program.name(hint)

    def variable(self, hint: str, of: Type) -> str:
        """Returns a new C variable of the function."""
        name = self.name(hint)
        self.variables[name] = self.program.types.c(of)
        return name

    def c_variable(self, hint: str, c_type: str) -> str:
        name = self.name(hint)
        self.variables[name] = c_type
        return name

    def temporary(self, c_type: str, c: str) -> str:
        """Keeps the value of an expression from now on."""
        if c.isidentifier() and c.startswith("t_"):
            return c
        name = self.name("t")
        self.variables[name] = c_type
        self.emit(f"{name} = {c};")
        return name

    def number(self, number: Number, c: str) -> Num:
        """Returns a number that is computed now."""
        return Num(number, self.temporary(number.c, c))

    def kept(self, value: Value) -> Value:
        """Returns a value that later changes of variables and attributes do not change."""
        if isinstance(value, Num):
            if value.c.replace(".", "").replace("-", "").isdigit():
                return value
            return replace(value, c=self.temporary(value.number.c, value.c))
        if isinstance(value, Tup):
            return displays.same(value, tuple(self.kept(item) for item in value.items))
        if isinstance(value, Arr) and not value.is_read_only:
            # what nothing else refers to is not changed
            is_own = value.pointer and value.root is None and not value.is_foreign
            if is_own:
                return value
            made = self.fresh(value)
            self.note_stored(value.type, made.pointer, value)
            return made
        if isinstance(value, Opt) and value.pointer:
            return self.pointing(self.name("ref"), value)
        if isinstance(value, Opt):
            name = self.variable("t", value.optional)
            self.emit(f"{name} = {value.place};")
            self.note_stored(value.optional, name, value)
            return Opt(value.optional, name, option=value.option)
        if isinstance(value, Uni):
            name = self.variable("t", value.union)
            self.emit(f"{name} = {value.place};")
            return Uni(value.union, name, is_foreign=value.is_foreign)
        if isinstance(value, (Txt, Mem)):
            return replace(value, c=self.temporary("int32_t", value.c))
        return value

    def in_temporary(self, value: Value) -> Value:
        """Returns a list, dict or object in memory of its own; of a pointer, what it points to."""
        of = self.unbounded(value)
        place = self.variable("t", of)
        storage.store(self, of, place, value)
        return storage.load(self, of, place)

    def before(self, value: Value, later: Sequence[ast.AST]) -> Value:
        """Returns an operand as it is before later ones are evaluated."""
        return order.before(self, value, later)

    # ---------------------------------------------------------------------------- exceptions --

    def handler(self) -> str:
        return self.handlers[-1] if self.handlers else "fail"

    def fail(self, name: str, text: str = "", *arguments: str) -> None:
        """Raises an exception."""
        index = self.program.exception(name)
        line = getattr(self.at, "lineno", 0)
        quoted = containers.c_text(text)
        rest = "".join(f", {each}" for each in arguments)
        if not arguments:
            quoted, rest = '"%s"', f", {quoted}"
            if not text:
                quoted, rest = '""', ""
        self.is_checked = True
        call = f'pp_python_raise(c, {index}, "{name}", {line}, {quoted}{rest})'
        if not self.handlers:
            self.emit(f"{{ status = {call}; goto fail; }}")
            return
        self.emit(f"{{ status = {call};")
        self.goto_handler()
        self.emit("}")

    def goto_handler(self) -> None:
        """Leaves for what handles an exception, which knows the names as they are now."""
        if self.handlers:
            self.lines.append(Pending(dict(self.names), self.indent, handler=self.handler()))
        self.emit(f"goto {self.handler()};")

    def check(self, condition: str, name: str, text: str, *arguments: str) -> None:
        """Raises an exception unless a condition holds."""
        if condition == "true":
            return
        self.emit(f"if (__builtin_expect(!({condition}), 0))")
        self.indent += 1
        self.fail(name, text, *arguments)
        self.indent -= 1

    def refuse(self, message: str) -> Refusal:
        return Refusal(message, self.at)

    # -------------------------------------------------------------------------------- values --

    def value(self, tree: ast.expr) -> Value:
        """Translates an expression."""
        kept, self.at = self.at, tree
        try:
            return expressions.translate(self, tree)
        except Refusal as refusal:
            if not refusal.line:
                refusal.line = tree.lineno
            raise
        finally:
            self.at = kept

    def plain(self, value: Value) -> Value:
        """Returns the value of one that could be None; raises TypeError in the program if it is."""
        if isinstance(value, Opt):
            self.check(value.some, "TypeError", "None is no value to compute with")
            return storage.held(self, value)
        if isinstance(value, Maybe):
            return value.value
        return value

    def as_num(self, value: Value, what: str = "this") -> Num:
        value = self.plain(value)
        if isinstance(value, Uni) and value.is_number:
            value = unions.widest(value)
        found = as_number(value)
        if found is None and isinstance(value, Arr) and not value.dims:
            return Num(value.item, value.at(()))
        if found is None and isinstance(value, Arr) and all(dim == 1 for dim in value.dims):
            return Num(value.item, value.at(["0"] * len(value.dims)))
        if found is None:
            raise self.refuse(f"{what} is {value.type}, not a number")
        return found

    def as_int(self, value: Value, what: str = "this") -> str:
        """Returns an integer as the C expression of an int64_t."""
        found = self.as_num(value, what)
        if found.number.kind == "f":
            if found.option:
                self.program.reset_options.settle(found.option, Number("i", 64))
            raise self.refuse(f"{what} is a float: write int(...)")
        return cast(found.c, Number("i", 64), found.number)

    def known(self, value: Value, what: str) -> Any:
        """Returns a number that must be known, as the length of an axis.

        One that was read from an attribute that never changes is that of the template.
        """
        if isinstance(value, Fixed):
            return value.value
        if isinstance(value, Tup):
            return tuple(self.known(item, what) for item in value.items)
        if isinstance(value, Num) and value.attribute:
            return self.program.attributes.freeze(value.attribute)
        raise self.refuse(f"{what} must not change while the program runs")

    def dim(self, value: Value) -> Dim:
        """Returns the length of an axis."""
        c = self.as_int(value, "a length")
        if isinstance(value, Fixed) or (isinstance(value, Num) and value.attribute):
            found = int(self.known(value, "a length"))
            if found < 0:
                self.fail("ValueError", NEGATIVE)
            return max(0, found)
        dim = self.temporary("int64_t", c)
        self.check(f"{dim} >= 0", "ValueError", NEGATIVE)
        return dim

    def truth(self, value: Value) -> str | bool:
        """Returns whether a value counts as true: a C expression, or what is known."""
        return operators.truth(self, value)

    def array(self, value: Value) -> Arr:
        return arrays.as_array(self, value)

    def fresh(self, array: Arr) -> Arr:
        return arrays.fresh(self, array)

    def lasting(self, array: Arr) -> Arr:
        """Returns a copy of an array in the memory of the call."""
        made = arrays.scratch(self, array.item, array.dims)
        arrays.copy_elements(self, array, made)
        return made

    def in_memory(self, array: Arr, item: Number | None = None) -> Arr:
        return arrays.in_memory(self, array, item)

    def copy_elements(self, of: Arr, to: Arr) -> None:
        arrays.copy_elements(self, of, to)

    def items(self, value: Value) -> tuple[Value, ...] | None:
        return containers.items(self, value)

    def record(self, value: Value) -> Rec | None:
        return containers.record(self, value)

    def as_list(self, value: Value, of: List) -> Lst:
        return containers.as_list(self, value, of)

    def as_map(self, value: Value, of: Map) -> Mapping:
        return containers.as_map(self, value, of)

    # what modules need of those that use them

    def note_stored(self, of: Type, place: str, value: Value, is_pointer: bool = False) -> None:
        aliasing.stored(self, of, place, value, is_pointer)

    def changed(self, value: Value) -> None:
        """Notes that an object changes in place."""
        aliasing.changed(self, value)

    def items_moved(self, value: Value) -> None:
        """Notes that the items of a container are about to move in memory."""
        aliasing.moved(self, value)

    def special(self, value: Value, name: str, *given: Value) -> Value | None:
        return objects.special(self, value, name, *given)

    def own_operator(self, op: ast.AST, one: Value, other: Value) -> Value | None:
        return objects.operator(self, op, one, other)

    def is_same(self, one: Rec, other: Rec) -> str | bool:
        return objects.is_same(self, one, other)

    def objects_equal(self, one: Value, other: Value) -> str | bool | None:
        return objects.equal(self, one, other)

    def equal(self, one: Value, other: Value) -> str | bool:
        return operators.equal(self, one, other)

    def both(self, one: str | bool, other: str | bool) -> str | bool:
        return operators.both(self, one, other)

    def find_key(self, value: Mapping, key: Value) -> str:
        return containers.find_key(self, value, key)

    @contextlib.contextmanager
    def any_order(self, holds: bool = True) -> Iterator[None]:
        """Lets the items of sets come in any order: the result does not depend on it."""
        kept, self.is_any_order = self.is_any_order, holds
        yield
        self.is_any_order = kept

    def check_order(self, value: Value) -> None:
        """Raises Refusal if the order of items can't be known."""
        if not self.is_any_order and containers.is_set(value):
            raise self.refuse(
                "the order of a set is not translated, as it depends on how Python hashes: write"
                " sorted(...) of it"
            )

    def without_notes(self) -> contextlib.AbstractContextManager[None]:
        """Lets copies be objects of their own."""
        return aliasing.unnoted(self)

    def may_change(self, of: Type) -> bool:
        """Returns whether objects of a type, or what they hold, can change in place."""
        if not isinstance(of, List):
            return bool(aliasing.kinds_of(of))
        return bool(aliasing.kinds_of(of.item))

    def item_taken(self, value: Value, place: str) -> None:
        """Notes that an item was taken out of a container."""
        aliasing.taken(self, value, place)

    def items_shared(self, made: Value, value: Value) -> None:
        """Notes that a new container has the items of another one."""
        aliasing.items_shared(self, made, value)

    def made_of(self, value: Generator) -> Lst:
        return containers.made_of(self, value)

    def contains(self, value: Value, item: Value) -> str | bool:
        return containers.contains(self, value, item)

    def may_be_equal(self, one: Value, other: Value) -> bool:
        return containers.kind_of(one) == containers.kind_of(other)

    def lists_equal(self, one: Value, other: Value) -> str | bool:
        return containers.lists_equal(self, one, other)

    def of_containers(self, op: ast.operator, one: Value, other: Value) -> Value:
        return containers.binary(self, op, one, other)

    def each_type(self, value: Uni, function: Callable[[Value], None]) -> None:
        unions.each(self, value, function)

    def spread(self, values: Sequence[Value], function: Callable[[list[Value]], Value]) -> Value:
        return unions.spread(self, values, function)

    def iterate(self, over: Value, begin: Callable[[Value], None], inside: Any) -> None:
        loops.iterate(self, over, begin, inside)

    def condition(self, tree: ast.expr) -> str | bool:
        return expressions.condition(self, tree)

    def list_from(self, value: Value) -> Lst:
        return python_calls.list_from(self, value)

    def attribute(self, value: Value, name: str) -> Value:
        return expressions.attribute(self, value, name)

    @contextlib.contextmanager
    def tried(self) -> Iterator[None]:
        """Translates something for its types only."""
        kept = dict(self.names), self.alive, self.indent
        with self.buffer():
            yield
        self.names, self.alive, self.indent = kept

    def each_item(self, value: Value, function: Callable[[Value], None]) -> None:
        python_calls.each_item(self, value, function)

    def apply(
        self, function: Value, arguments: list[Value], keywords: dict[str, Value] | None = None
    ) -> Value:
        return calls.apply(self, function, arguments, keywords or {})

    def new_list(self, of: List, room: str) -> Lst:
        return containers.new_list(self, of, room)

    def append(self, value: Lst, item: Value) -> None:
        containers.append(self, value, item)

    def bounds(self, value: Lst, tree: ast.Slice) -> tuple[str, str]:
        return elements.bounds(self, value, tree)

    def scoped(self, tree: Any) -> Any:
        return expressions.scoped(self, tree)

    def narrow(self, tree: ast.expr) -> None:
        expressions.narrow(self, tree, True)

    def unrolled(self, tree: Any) -> Tup | None:
        return expressions.unrolled(self, tree)

    def called_lambda(self, function: Lambda, given: Sequence[Value]) -> Value:
        return expressions.called_lambda(self, function, given)

    def set_key(self, tree: ast.expr, owner: Rec, key: Any, value: Value) -> None:
        assignment.set_key(self, tree, owner, key, value)

    def by_key(
        self, keys: Sequence[Any], items: Sequence[Value], key: Value, default: Value | None
    ) -> Value:
        return elements.by_key(self, keys, items, key, default)

    # --------------------------------------------------------------------------------- names --

    def look_up(self, name: str) -> Value:
        """Returns what a name of the function means."""
        found = self.names.get(name)
        if isinstance(found, Lost):
            raise self.refuse(found.reason)
        if isinstance(found, Maybe):
            self.check(
                found.flag,
                "UnboundLocalError",
                f"cannot access local variable '{name}' where it is not associated with a value",
            )
            return found.value
        if found is not None:
            return found
        if name not in self.function.locals:
            if name in self.function.names:
                return self.program.global_value(self.function, name)
            import builtins

            if hasattr(builtins, name):
                return Fixed(getattr(builtins, name))
        raise self.refuse(f"{name} is not defined here, or not on all ways to here")

    def assign(self, name: str, value: Value) -> None:
        """Makes a name mean a value."""
        if isinstance(value, Maybe):
            value = value.value
        if is_iterator(value):
            value = expressions.begun(self, name, value)
        if displays.is_repeated(value) and self.may_change(value.type):
            assert isinstance(value, Tup)
            value = containers.list_of(self, value.items)
        self.detach(("variable", name), name)
        self._keep_display(name)
        aliasing.assigned(self, name, value)
        if isinstance(value, Num):
            place = self.own(name, value.number)
            self.emit(f"{place} = {value.c};")
            self.names[name] = replace(value, c=place)
        elif aliasing.is_variable(value):
            self.names[name] = self.pointing(f"ref_{name}", value)
        elif isinstance(value, Arr) and value.root is not None and value.is_place:
            # another name for the same memory
            self.names[name] = value
        elif isinstance(value, (Fixed, Self, Generator)) or self.is_reference(value):
            self.names[name] = value
        elif any(value is each for each in self.names.values()):
            # another name for a list that is only written down so far
            held = next(key for key, each in self.names.items() if each is value)
            tree = self.function.tree
            if isinstance(value, displays.ListDisplay) and (
                may_change(tree, name) or may_change(tree, held)
            ):
                value = self.listed(held)
            self.names[name] = value
        elif isinstance(value, displays.ListDisplay):
            # a tuple, until it changes
            kept = self.in_variable(name, Tup(value.items))
            self.names[name] = displays.same(value, containers.items(self, kept) or ())
        elif isinstance(value, Opt):
            kept = self.in_variable(name, value)
            if isinstance(kept, Opt):
                kept.option = value.option
            self.names[name] = kept
        else:
            self.names[name] = self.in_variable(name, value)

    def is_reference(self, value: Value) -> bool:
        return (
            (isinstance(value, (Lst, Mapping)) and value.root is not None)
            or (isinstance(value, Rec) and bool(value.place) and value.root is not None)
            or (isinstance(value, Uni) and not value.is_number and value.root is not None)
            or (isinstance(value, Opt) and value.root is not None and self.may_change(value.type))
            or (isinstance(value, (Tup, Rec)) and any(map(is_function, value.items)))
            or isinstance(value, WITHOUT_MEMORY)
        )

    def in_variable(self, name: str, value: Value, of: Type | None = None) -> Value:
        """Stores a value in the variable of a name."""
        of = of or value.type
        if isinstance(of, Constant):
            return Fixed(of.value)
        place = self.own(name, of)
        storage.store(self, of, place, value, name)
        found = storage.load(self, of, place, ("variable", name))
        if isinstance(found, Arr) and isinstance(value, Arr):
            found.order = value.order
        return found

    def own(self, name: str, of: Type) -> str:
        """Returns the C variable of a name for a type."""
        if name == self.returned_name and of == self.returns and isinstance(of, Array):
            return "(*result)"
        place = f"v_{name}_{self.program.types.key(of)}"
        self.variables[place] = self.program.types.c(of)
        self.places.setdefault(name, set()).add(place)
        return place

    def listed(self, name: str) -> Value:
        """Makes a list of one that was only written down so far, for all its names."""
        display = self.names[name]
        assert isinstance(display, displays.ListDisplay)
        self.changed(display)
        names = [each for each, value in self.names.items() if value is display]
        made = containers.list_of(self, display.items)
        for each in names:
            del self.names[each]
        self.assign(name, made)
        for each in names:
            self.names[each] = self.names[name]
        return self.names[name]

    def _keep_display(self, name: str) -> None:
        """Lets other names keep a list that is only written down, and is in the memory of one."""
        display = self.names.get(name)
        others = [each for each, value in self.names.items() if value is display and each != name]
        if isinstance(display, displays.ListDisplay) and others:
            kept = self.in_variable(others[0], Tup(display.items))
            like = displays.same(display, containers.items(self, kept) or ())
            for each in others:
                self.names[each] = like

    def detach(self, root: tuple[str, str], but: str = "") -> None:
        """Copies what other names hold of a memory that is about to be assigned anew."""
        held: list[tuple[str, Value]] = []
        for name, value in self.names.items():
            inner = value.value if isinstance(value, Maybe) else value
            if name == but or root == ("variable", name):
                continue
            if not aliasing.is_of(getattr(inner, "root", None), root):
                continue
            if isinstance(inner, (Arr, Rec, Lst, Mapping, Uni, Opt)):
                held.append((name, inner))
        memory = (
            {root}
            if root[0] == "attribute"
            else {("memory", each) for each in self.places.get(root[1], ())}
        )
        aliasing.separate(self, held, memory)

    def unbounded(self, value: Value) -> Type:
        """Returns the type in which a value is copied into the memory of the call."""
        if isinstance(value, Lst):
            it = value.list_type
            return it.holding(it.item)
        if isinstance(value, Mapping):
            return value.map_type.holding(value.map_type.key, value.map_type.item)
        return unbounded(value.type)

    # ---------------------------------------------------------------------------------- flow --

    def joined(self, flows: Sequence[Names]) -> Names:
        """Returns what names mean where several ways meet."""
        first, *others = flows
        result = dict(first)
        for other in others:
            for name in list(dict.fromkeys((*result, *other))):
                one, two = result.get(name), other.get(name)
                result[name] = self._join(name, one, two)
        return result

    def _join(self, name: str, one: Value | None, other: Value | None) -> Value:
        for each in (one, other):
            if isinstance(each, Lost):
                return each
        if isinstance(one, aliasing.Flow) and isinstance(other, aliasing.Flow):
            return one.joined(other)
        if one is None or other is None or isinstance(one, Maybe) or isinstance(other, Maybe):
            present = [
                each.value if isinstance(each, Maybe) else each
                for each in (one, other)
                if each is not None
            ]
            value = present[0] if len(present) == 1 else self._join(name, *present)
            if not self._is_own(name, value):
                value = self._canonical(name, value)
            flag = f"v_{name}_is_set"
            self.variables[flag] = "bool"
            return Maybe(value, flag)
        if isinstance(one, Options) and isinstance(other, Options) and one == other:
            return replace(one, known=one.known & other.known)
        if self._same(one, other):
            return one
        if aliasing.is_reference(one) and aliasing.is_reference(other) and one.type == other.type:
            shown = one
            if isinstance(one, Arr) and isinstance(other, Arr):
                shown = replace(one, order=arrays.one_order([one.order, other.order]))
            return self.through_pointer(f"ref_{name}", shown, aliasing.joined_root(one, other))
        if (like := aliasing.nullable(one, other)) is not None:
            return self.through_pointer(f"ref_{name}", like, aliasing.root_of(like))
        if type(one) is type(other) and isinstance(one, (Self,)):
            return one
        self.program.reset_options.meet((one, other))
        try:
            of = self._joined_type(self._type(one), self._type(other), name in self.shown_names)
        except Refusal as refusal:
            raise self.refuse(f"{name}: {refusal.args[0]}") from None
        found = self._at(name, of)
        if isinstance(found, Arr) and isinstance(one, Arr) and isinstance(other, Arr):
            found.order = arrays.one_order([one.order, other.order])
        return found

    def _joined_type(self, one: Type, other: Type, is_shown: bool) -> Type:
        """Returns the type of what may be either; is_shown: it may be an info."""
        found = storage.joined_dicts(one, other) if is_shown else None
        return found or storage.join(one, other)

    @functools.cached_property
    def shown_names(self) -> frozenset[str]:
        """The names of infos: dicts that the function writes and returns, and does not read."""
        return displays.infos_of(self.function.tree, self.program.info_methods)

    def _type(self, value: Value) -> Type:
        return self.unbounded(value)

    def _is_own(self, name: str, value: Value) -> bool:
        return isinstance(value, (Fixed, Self)) or self._same(value, self._canonical(name, value))

    def through_pointer(self, name: str, like: Value, root: tuple[str, str]) -> Value:
        """Returns what a C pointer refers to, which may be different objects of one type."""
        if isinstance(like, Opt):
            assert like.target is not None
            target = self.through_pointer(name, like.target, root)
            pointer = aliasing.pointer_of(target).strip("&(*)")
            return Opt(like.optional, "", root, pointer, target)
        pointer = f"{name}_{self.program.types.key(like.type)}"
        self.variables[pointer] = f"{aliasing.pointed_type(self, like)} *"
        if isinstance(like, Arr):
            array = storage.memory_array(like.item, like.dims, pointer, root)
            array.order = like.order
            return array
        found = storage.load(self, like.type, f"(*{pointer})", root)
        if isinstance(found, (Lst, Mapping)):
            found.c = pointer
        return found

    def pointing(self, name: str, value: Value) -> Value:
        """Returns a reference that stays where it is when the other one's pointer is set anew."""
        result = self.through_pointer(name, value, aliasing.root_of(value))
        aliasing.point(self, aliasing.pointer_of(result).strip("&(*)"), value)
        return result

    def _canonical(self, name: str, value: Value) -> Value:
        if aliasing.is_reference(value) or (isinstance(value, Opt) and value.pointer):
            return self.through_pointer(f"ref_{name}", value, aliasing.root_of(value))
        found = self._at(name, self._type(value))
        if isinstance(found, Arr) and isinstance(value, Arr):
            found.order = value.order
        return found

    def _at(self, name: str, of: Type) -> Value:
        if isinstance(of, Constant):
            return Fixed(of.value)
        return storage.load(self, of, self.own(name, of), ("variable", name))

    def _same(self, one: Value, other: Value) -> bool:
        if type(one) is not type(other):
            return False
        if isinstance(one, Arr) and isinstance(other, Arr):
            is_same = one.key == other.key and one.type == other.type and one.key != ""
            return is_same and one.order == other.order
        if isinstance(one, displays.ListDisplay) != isinstance(other, displays.ListDisplay):
            return False
        if isinstance(one, Opt) and isinstance(other, Opt) and one.pointer:
            return one.pointer == other.pointer
        if isinstance(one, Fixed) and isinstance(other, Fixed):
            return one.type == other.type and (
                not is_known_number(one) or repr(one.value) == repr(other.value)
            )
        if isinstance(one, Tup) and isinstance(other, Tup):
            return len(one.items) == len(other.items) and all(
                self._same(a, b) for a, b in zip(one.items, other.items, strict=True)
            )
        if isinstance(one, Rec) and isinstance(other, Rec):
            kept = (one.keys, one.cls, one.place, one.stored, one.root)
            return kept == (other.keys, other.cls, other.place, other.stored, other.root) and all(
                self._same(a, b) for a, b in zip(one.items, other.items, strict=True)
            )
        return one == other

    def convert(self, target: Names) -> None:
        """Stores what names mean now where the target has it."""
        for name, wanted in target.items():
            have = self.names.get(name)
            if isinstance(wanted, aliasing.Flow):
                continue
            if isinstance(wanted, Maybe):
                if isinstance(have, Maybe):
                    if have.flag != wanted.flag:
                        self.emit(f"{wanted.flag} = {have.flag};")
                else:
                    self.emit(f"{wanted.flag} = {'false' if have is None else 'true'};")
                wanted = wanted.value
            if isinstance(have, Maybe):
                have = have.value
            if have is None or isinstance(wanted, Lost) or self._same(have, wanted):
                continue
            if aliasing.is_reference(wanted) or (isinstance(wanted, Opt) and wanted.pointer):
                pointer = aliasing.pointer_of(wanted).strip("&(*)")
                if pointer.startswith(f"ref_{name}_"):
                    aliasing.point(self, pointer, have)
                    continue
            of = self._type(wanted)
            if isinstance(of, Constant) or (isinstance(have, Num) and have.c == self.own(name, of)):
                continue
            storage.store(self, of, self.own(name, of), have, name)

    def join_flows(self, one: Names, other: Names) -> Value:
        """Returns what is known of memories on either of two ways."""
        return self._join(aliasing.FLOW, one[aliasing.FLOW], other[aliasing.FLOW])

    def settle(self, pending: Sequence[Pending], target: Names) -> None:
        """Fills in what is stored on the ways to a place."""
        kept = self.names, self.indent
        flow = target[aliasing.FLOW]
        assert isinstance(flow, aliasing.Flow)
        for each in pending:
            with self.buffer() as lines:
                self.names, self.indent = dict(each.names), each.indent
                self.convert(target)
                flow = flow.joined(aliasing.flow_of(self))
            each.lines[:] = lines
        self.names, self.indent = kept
        # what was copied has two names from now on
        target[aliasing.FLOW] = flow

    # ---------------------------------------------------------------------------- statements --

    def statements(self, trees: Sequence[ast.stmt]) -> None:
        for tree in trees:
            if not self.alive:
                return
            self.statement(tree)

    def statement(self, tree: ast.stmt) -> None:
        self.at = tree
        function = statements.FUNCTIONS.get(type(tree))
        if function is None:
            raise self.refuse(f"a {type(tree).__name__.lower()} statement is not translated")
        kept = len(self.lines), self.indent, list(self.handlers), list(self.loops)
        try:
            function(self, tree)
        except Dead as dead:
            del self.lines[kept[0] :]
            _, self.indent, self.handlers, self.loops = kept
            self.fail("IndexError", str(dead) or "list index out of range")
            self.alive = False
        except Refusal as refusal:
            if not refusal.line:
                refusal.line = tree.lineno
            raise
        except MISTAKES as mistake:
            kind = type(mistake).__name__
            text = ast.unparse(tree).partition("\n")[0][:60]
            message = f"`{text}` is not translated ({kind}: {str(mistake)[:80]})"
            raise Refusal(message, tree) from mistake

    def assign_to(self, target: ast.expr, value: Value) -> None:
        """Assigns to a name, an attribute, an element, or several of them."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            assignment.unpack(self, target, value)
        elif isinstance(target, ast.Starred):
            self.assign_to(target.value, value)
        else:
            assignment.assign_place(self, target, value)

    def assign_item(self, target: ast.expr, item: Value) -> None:
        """Assigns an item of a loop: names refer to its parts."""
        self.loop_items.append(item.items if isinstance(item, Tup) else ())
        self.assign_to(target, item)
        self.loop_items.pop()

    def give(self, value: Value) -> None:
        """Returns from the function."""
        value = self.program.functions.returned(self, value)
        if self.returns_reference:
            self.emit(f"*result = {aliasing.pointer_of(value)};")
            self.emit("return PP_OK;")
            aliasing.returned(self, None)
            self.alive = False
            return
        of = self._type(value)
        self.found_returns.append(of)
        root = getattr(value, "root", None)
        if root is not None and root[0] != "variable":
            self.returns_parts = True
        if root is not None and root[0] == "attribute":
            self.returns_of.add(root)
        self.returns_of |= getattr(value, "shared", frozenset())
        if isinstance(value, Arr):
            self.returned_orders.append(value.order)
        if self.returns is not None:
            if not isinstance(self.returns, Constant):
                storage.store(self, self.returns, "(*result)", value, "the result")
            self.emit("return PP_OK;")
        else:
            self.note_stored(of, "(*result)", value)
        aliasing.returned(self, value)
        is_part = root is not None and all(
            each.startswith("attribute:") for each in aliasing.parts_of(root)
        )
        is_pointer = aliasing.is_reference(value) or (isinstance(value, Opt) and value.pointer)
        is_none = isinstance(value, Fixed) and value.value is None
        self.found_references.append(value if is_none or (is_part and is_pointer) else None)
        self.alive = False

    def branch(self, condition: str | bool, then: Any, otherwise: Any) -> None:
        """Translates two ways, of which a condition chooses one."""
        if isinstance(condition, bool):
            (then if condition else otherwise)()
            return
        entry, flows = dict(self.names), []
        texts: list[list[Any]] = []
        for way in (then, otherwise):
            self.names, self.alive = dict(entry), True
            with self.buffer() as lines:
                self.indent += 1
                way()
                if self.alive:
                    pending = Pending(dict(self.names), self.indent)
                    lines.append(pending)
                    flows.append(pending)
                self.indent -= 1
            texts.append(lines)
        self.alive = bool(flows)
        if flows:
            target = self.joined([each.names for each in flows])
            self.settle(flows, target)
            self.names = target
        self.emit(f"if ({condition}) {{")
        self.lines.extend(texts[0])
        if any(not isinstance(line, Pending) or line.lines for line in texts[1]):
            self.emit("} else {")
            self.lines.extend(texts[1])
        self.emit("}")

    # -------------------------------------------------------------------------------- result --

    def text(self) -> list[str]:
        """Returns the lines of the function's body."""
        lines = list(_flat(self.lines))
        large = self._large()
        return [_by_pointer(line, large) for line in lines] if large else lines

    def declarations(self) -> list[str]:
        """Returns the lines that declare the function's variables.

        Large ones are not on the stack, which a thread has little of.
        """
        large = self._large()
        lines = [_declared(name, of) for name, of in self.variables.items() if name not in large]
        release = "__attribute__((cleanup(pp_python_release)))"
        for name in large:
            of = self.variables[name]
            lines.append(f"  {of} *{name} {release} = ({of} *)malloc(sizeof({of}));")
        if large:
            condition = " && ".join(large)
            raised = self.program.exception("MemoryError")
            line = getattr(self.function.tree, "lineno", 0)
            call = f'pp_python_raise(c, {raised}, "MemoryError", {line}, "%s", "")'
            lines.append(f"  if (!({condition})) return {call};")
        return lines

    def _large(self) -> list[str]:
        """Returns the variables that do not fit on the stack."""
        sizes = {name: self.program.types.bytes.get(of, 0) for name, of in self.variables.items()}
        total = sum(sizes.values())
        found = []
        for name in sorted(sizes, key=lambda name: -sizes[name]):
            if total <= (MAX_RECURSIVE_BYTES if self.is_recursive else MAX_STACK_BYTES):
                break
            total -= sizes[name]
            found.append(name)
        return found

    def result_type(self) -> Type:
        """Returns the type of what the function returns."""
        if not self.found_returns:
            return NONE
        result = self.found_returns[0]
        for each in self.found_returns[1:]:
            is_shown = self.function.name in self.program.info_methods
            result = self._joined_type(result, each, is_shown)
        return result


def _declared(name: str, of: str) -> str:
    return f"  {of}{'' if of.endswith('*') else ' '}{name};"


def _by_pointer(line: str, large: Sequence[str]) -> str:
    """Returns a line of C in which variables are what pointers of their names point to."""
    names = "|".join(large)
    pattern = rf'"(?:[^"\\]|\\.)*"|\b({names})\b'
    return re.sub(pattern, lambda found: f"(*{found[1]})" if found[1] else found[0], line)


def _flat(lines: Sequence[Any]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, Pending):
            yield from _flat(line.lines)
        else:
            yield line
