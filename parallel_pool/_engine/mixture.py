"""Mixture: environments of several definitions in one pool."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, check_count, quote
from parallel_pool._engine.specs import Definition, Rows, Spec, Values
from parallel_pool._engine.strict_zip import zip
from parallel_pool._engine.variation import LIMIT, Each, key_of, value_for_env
from parallel_pool._native import ffi, lib, new_error, raise_error

# the option that says which task an environment has, and the one that holds the pool's spaces
TASK, SPACES = "task", "_spaces"
# the info that says which actions are allowed: csrc/native/spaces.c
ACTION_MASK = "action_mask"
# the form of ids that Gymnasium's registry takes
GYMNASIUM_ID = re.compile(r"([\w:-]+/)?[\w:.-]+", re.ASCII)
# how many sets of options are remembered
MAX_KNOWN_OPTIONS = 16


class Member(NamedTuple):
    """One task of a mixture.

    Attributes:
        name: of the task.
        definition: of its environments.
        options: of its environments, without max_episode_steps.
        limit: max_episode_steps, None for none.
    """

    name: str
    definition: Definition
    options: Mapping[str, Any]
    limit: int | None


class United(NamedTuple):
    """What the tasks of a mixture have with given options.

    Attributes:
        number: of the spaces in which each task has room.
        options: of each task, under the names of its own definition, completed.
        specs: of each task alone.
    """

    number: int
    options: list[dict[str, Any]]
    specs: list[Spec]


class Mixture(Definition):
    """A definition whose environments are of several others; `mixed` makes it."""

    def __init__(self, task_id: str, members: Sequence[Member]) -> None:
        """Makes the definition.

        Raises:
            ValueError: these definitions can't be mixed.
        """
        self.members = tuple(members)
        tasks = ffi.new("pp_task[]", len(self.members))
        keep = [task_id.encode(), *(each.name.encode() for each in self.members)]
        names = [ffi.new("char[]", each) for each in keep]
        for raw, name, member in zip(tasks, names[1:], self.members, strict=True):
            raw.name, raw.definition = name, member.definition.raw
        out, error = ffi.new("const pp_env_def **"), new_error()
        status = lib.pp_mixture_create(names[0], tasks, len(self.members), out, error)
        if status < 0:
            raise_error(status, error)
        super().__init__(out[0])
        self.tasks = tuple(each.name for each in self.members)
        limits = {each.limit for each in self.members}
        self.max_episode_steps = limits.pop() if len(limits) == 1 else None
        self._by_name = {each.name: i for i, each in enumerate(self.members)}
        self._known: dict[Any, United] = {}

    @property
    def families(self) -> frozenset[str]:
        return frozenset(each.definition.family for each in self.members)

    def definitions_of(self, spec: Spec, num_envs: int) -> tuple[Definition, ...]:
        tasks = (value_for_env(spec.options[TASK], i) for i in range(num_envs))
        return tuple(self.members[self._by_name[task]].definition for task in tasks)

    # --------------------------------------------------------------------------------- tasks --

    def spread(self, options: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
        """Returns the options with the task of each environment: blocks of equal size.

        Raises:
            TypeError, ValueError: there is no such task, or num_envs is no multiple of them.
        """
        if TASK in options:
            self._check_tasks(options[TASK])
            return dict(options)
        count = len(self.tasks)
        if num_envs % count:
            raise ValueError(
                f"num_envs={num_envs}: {self.id} has {count} tasks: choose a multiple of {count},"
                " or name the task of each environment: task=parallel_pool.each([...])"
            )
        block = num_envs // count
        each = tuple(task for task in self.tasks for _ in range(block))
        return {**options, TASK: each[0] if count == 1 else Each(each)}

    def limit_of(self, options: Mapping[str, Any], num_envs: int) -> Any:
        """Returns the time limit of environments with spread options: one for all, or each(...)."""
        if self.max_episode_steps is not None or TASK not in options:
            return self.max_episode_steps
        tasks = [value_for_env(options[TASK], i) for i in range(num_envs)]
        limits = [self._member(task).limit for task in tasks]
        return limits[0] if len(set(limits)) == 1 else Each(tuple(limits))

    def _check_tasks(self, given: Any) -> None:
        """Refuses a task that there is not, and names its environment."""
        for env_id, task in enumerate(given.values if isinstance(given, Each) else ()):
            try:
                self._member(task)
            except (TypeError, ValueError) as error:
                raise type(error)(f"environment {env_id}: {error}") from None

    def _member(self, task: Any) -> Member:
        if isinstance(task, str) and task in self._by_name:
            return self.members[self._by_name[task]]
        error = ValueError if isinstance(task, str) else TypeError
        names = ", ".join(self.tasks[:8]) + (", ..." if len(self.tasks) > 8 else "")
        raise error(f"task={quote(task)}: {self.id} has the tasks {names}: choose one of them")

    # ------------------------------------------------------------------------------- options --

    def fill(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the options of an environment of one task, with the pool's spaces.

        Raises:
            TypeError, ValueError: an option is wrong, or no task has it.
        """
        member = self._member(options.get(TASK, self.tasks[0]))
        united = self._unite(options)
        known = member.definition.options
        own = dict(united.options[self._by_name[member.name]])
        own |= {name: options[name] for name in options if self._varies(name) and name in known}
        # where a task's default is not the mixture's
        for name, option in known.items():
            default, others = option.default, self.options[name].default
            if default is not None and (type(default), default) != (type(others), others):
                own.setdefault(name, default)
        return {**own, TASK: member.name, SPACES: united.number}

    def _varies(self, name: str) -> bool:
        """Returns whether an option has no part in spaces: configure does not read it."""
        return name in self.options and self.options[name].varies

    def _unite(self, options: Mapping[str, Any]) -> United:
        """Returns what the tasks have with the options of one environment."""
        given = {
            name: value
            for name, value in options.items()
            if name not in (TASK, SPACES) and not self._varies(name)
        }
        key = tuple((name, key_of(given[name])) for name in sorted(given, key=str))
        if key not in self._known:
            while len(self._known) >= MAX_KNOWN_OPTIONS:
                del self._known[next(iter(self._known))]
            self._known[key] = self._make(given)
        return self._known[key]

    def _make(self, given: Mapping[str, Any]) -> United:
        completed = [
            registry.fill_options(each.definition, {**each.options, **given})
            for each in self.members
        ]
        options = [
            {name: value for name, value in it.items() if name in each.definition.options}
            for it, each in zip(completed, self.members, strict=True)
        ]
        left = [it.keys() - own.keys() for it, own in zip(completed, options, strict=True)]
        # these raise the error for unknown options: of one task, and of all
        for member, names in zip(self.members, left, strict=True):
            wrong = {name: member.options[name] for name in names & member.options.keys()}
            if wrong:
                Values(member.definition.options, wrong, member.name)
        unknown = set(given).intersection(*left)
        if unknown:
            Values(self.options, {name: given[name] for name in unknown}, self.id)
        specs = [
            each.definition.configure(own) for each, own in zip(self.members, options, strict=True)
        ]
        for member, spec in zip(self.members, specs, strict=True):
            if spec.given:
                raise ValueError(
                    f"{self.id}: results of {member.name} may lack infos ({', '.join(spec.given)}),"
                    " which can't be mixed: let all its results have the same infos"
                )
        number, error = ffi.new("int64_t *"), new_error()
        values = ffi.new("pp_value *[]", [spec.values.raw for spec in specs])
        status = lib.pp_mixture_unite(self.raw, values, number, error)
        if status < 0:
            raise_error(status, error)
        return United(number[0], options, specs)

    # ---------------------------------------------------------------------------------- rows --

    def add_rows(self, spec: Spec, options: Mapping[str, Any], num_envs: int) -> None:
        """Notes in a pool's spec which of its environments have which infos and actions.

        Args:
            spec: of the pool; it is changed.
            options: spread, of all environments.
            num_envs: environments.
        """
        own: list[Spec] = []
        for i in range(num_envs):
            one = {name: value_for_env(value, i) for name, value in options.items()}
            own.append(self._unite(one).specs[self._by_name[one[TASK]]])
        spec.fields = tuple(
            _with_rows(field, own) if field.is_info else field for field in spec.fields
        )
        spec.infos = tuple(field for field in spec.fields if field.is_info)
        spec.row_actions = tuple(each.action for each in own)


def _with_rows(field: Any, specs: Sequence[Spec]) -> Any:
    """Returns an info with the environments that have it."""
    found = [next((it for it in spec.infos if it.name == field.name), None) for spec in specs]
    # the engine adds it to tasks that have none
    is_added = field.name == ACTION_MASK and field.on_step and field.on_reset
    on_step = np.array([is_added if it is None else it.on_step for it in found])
    on_reset = np.array([is_added if it is None else it.on_reset for it in found])
    on_termination = np.array([it is not None and it.on_termination for it in found])
    flags = {
        "on_step": bool(on_step.any()),
        "on_reset": bool(on_reset.any()),
        "on_termination": bool(on_termination.any()),
    }
    is_alike = all(mask.all() or not mask.any() for mask in (on_step, on_reset, on_termination))
    rows = None if is_alike else Rows(on_step, on_reset, on_termination)
    return replace(field, **flags, rows=rows)


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of an environment of a mixture; see `Family.options`."""
    assert isinstance(definition, Mixture)
    return definition.fill(options)


# ------------------------------------------------------------------------------------ making --


def mixed(
    id: str,
    tasks: Sequence[str | Definition] | Mapping[str, str | Definition | tuple[Any, Any]],
) -> Definition:
    """Registers a mixture of native environments, which every API takes by its id.

    A pool of it has `num_envs / len(tasks)` environments of each task, one block after another;
    the option `task` chooses others. Each row is what a pool of that task alone returns; where
    spaces differ, observations are padded with zeros, an action is one of its own task's, and the
    info "action_mask" says which these are.

    Args:
        id: of the mixture.
        tasks: ids or definitions, each the name of its task; or a dict from names to ids,
            definitions, or tuples of one and a dict of options, max_episode_steps among them.

    Returns:
        The definition, which `Pool` takes as well as its id.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: there is no such environment, the id is taken, or these environments can't be
            mixed. Whether their spaces go together is known when a pool is made.

    Example:
        >>> tasks = ["ALE/Pong-v5", "ALE/Breakout-v5"]
        >>> definition = parallel_pool.mixed("Paddles", tasks)
        >>> envs = parallel_pool.make_vec("Paddles", num_envs=4)
        >>> envs.get_attr("task")
        ('ALE/Pong-v5', 'ALE/Pong-v5', 'ALE/Breakout-v5', 'ALE/Breakout-v5')
        >>> envs.action_space
        MultiDiscrete([6 6 4 4])
        >>> envs.close()
    """
    if not isinstance(id, str):
        raise TypeError(f"id={quote(id)} is {a_type(id)}: give a string")
    if not GYMNASIUM_ID.fullmatch(id):
        raise ValueError(
            f"id={quote(id)}: choose letters, digits and _ . : -, such as Atari57-v0, perhaps after"
            " a namespace and a slash: Gymnasium takes no other"
        )
    members = _members(tasks)
    known = registry.definitions().get(id)
    if known is not None:
        if isinstance(known, Mixture) and known.members == tuple(members):
            return known
        raise ValueError(f"the id {quote(id)} is taken: choose another")
    mixture = Mixture(id, members)
    registry.add_made(mixture)
    return mixture


def _members(tasks: Any) -> list[Member]:
    if isinstance(tasks, Mapping):
        named = dict(tasks)
    elif isinstance(tasks, Sequence) and not isinstance(tasks, (str, bytes)):
        named = {}
        for each in tasks:
            name = each.id if isinstance(each, Definition) else each
            if not isinstance(name, str):
                raise TypeError(f"tasks hold {quote(name)}, {a_type(name)}: give ids")
            if name in named:
                raise ValueError(
                    f"tasks hold {quote(name)} twice: give a dict from names to ids, or the task of"
                    " each environment: task=parallel_pool.each([...])"
                )
            named[name] = each
    else:
        raise TypeError(f"tasks={quote(tasks)} is {a_type(tasks)}: give a list of ids, or a dict")
    if not named:
        raise ValueError("there are no tasks: give one or more")
    return [_member(name, given) for name, given in named.items()]


def _member(name: Any, given: Any) -> Member:
    if not isinstance(name, str) or not name or "\0" in name:
        raise TypeError(f"the task {quote(name)} is {a_type(name)}: give a string")
    found, options = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if isinstance(found, str):
        found = registry.find(found)
    if not isinstance(found, Definition):
        raise TypeError(
            f"task {quote(name)} is {a_type(given)}: give an id, or an id and a dict of options"
        )
    if isinstance(found, Mixture):
        raise ValueError(f"task {quote(name)} is a mixture itself: give its tasks")
    if not isinstance(options, Mapping):
        raise TypeError(f"options of {quote(name)} are {a_type(options)}: give a dict")
    own = dict(options)
    limit = own.pop(LIMIT, None)
    if limit is not None:
        limit = check_count(f"{LIMIT} of {name}", limit, 0) or None
    elif LIMIT not in options:
        limit = found.max_episode_steps
    return Member(name, found, own, limit)
