"""Guards: runs an environment's callbacks between zones of memory that they must not change.

A definition is copied, and its callbacks are replaced by functions of Python that call them: with
rows of their own, so that a write beyond a row shows, and `observe` more often than a pool does, so
that it shows whether it changes the state. The engine runs these functions as the callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._contract.play import Run, require, same
from parallel_pool._engine import registry
from parallel_pool._engine.specs import Definition, Field
from parallel_pool._native import ffi, lib
from parallel_pool._prover.contract_error import ContractError
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from parallel_pool._core import CData

# bytes before and after what a callback may write, and after each state; chosen so that no
# environment writes them by chance
ZONE = 64
PATTERN = bytes((17 * i + 0xA5) % 256 for i in range(ZONE))
# what rows hold before a callback writes them, in two calls
BLANKS = b"\xab", b"\x54"
# resets and steps whose rows are looked at in every way; later ones once
THOROUGH_CALLS = 40

# Definitions made here, with their callbacks, for ever: a pool calls them until it is freed,
# and the garbage collector may free what it calls first.
_kept: list[Any] = []

# called before each callback, with its name and the environment's index
Told = Callable[[str, int], None]


class Zone:
    """Memory for a callback to write, between two zones.

    Attributes:
        at: pointer to its first byte.
        size: bytes.
    """

    def __init__(self, size: int, blank: bytes, zone: int) -> None:
        self.size, self._zone = size, zone
        self._memory = ffi.new("char[]", max(size + 2 * zone, 1))
        self.at = self._memory + zone
        self._bytes = ffi.buffer(self._memory, size + 2 * zone)
        self._bytes[:] = PATTERN[:zone] + blank * size + PATTERN[:zone]

    def content(self) -> bytes:
        """Returns what was written."""
        return bytes(self._bytes[self._zone : self._zone + self.size])

    def check(self, what: str) -> None:
        """Raises ContractError if a zone was changed."""
        all_bytes, zone = bytes(self._bytes), PATTERN[: self._zone]
        for side, seen in (("before", all_bytes[: len(zone)]), ("behind", all_bytes[-len(zone) :])):
            if zone and seen != zone:
                changed = [i for i, (a, b) in enumerate(zip(seen, zone, strict=True)) if a != b]
                distance = len(zone) - changed[-1] if side == "before" else changed[0] + 1
                raise ContractError(
                    f"{what} has {self.size} bytes, and the byte {distance} {side} them was"
                    " written: compare with the field's shape and dtype"
                )


class Guarded:
    """A definition whose callbacks are watched.

    Attributes:
        definition: for pools, whose threads must be the caller's: num_threads=1.
        failure: what a callback did wrong first; None for nothing.
        state_size: bytes of the environment's own state, behind which is a zone.
    """

    def __init__(
        self,
        definition: Definition,
        *,
        told: Told = lambda callback, env_id: None,
        zone: int = ZONE,
        by_run: bool = False,
    ) -> None:
        """
        Args:
            definition: the environment's.
            by_run: steps by step_many, one environment at a time.
            told: called before each callback.
            zone: bytes around rows; 0 under a sanitizer, which finds the line of C instead.
        """
        self.failure: BaseException | None = None
        self._original = definition.raw
        self._told, self._zone = told, zone
        self._fields: tuple[Field, ...] = ()
        self._num_players = 1
        self._avoids_runs = False
        self.state_size = int(definition.raw.state_size)
        # the zone behind each state, by the number of the environment
        self._tails: dict[int, CData] = {}
        self._looks = 0
        raw = ffi.new("pp_env_def *", self._original[0])
        self._keep: list[Any] = [raw]
        _kept.append(self._keep)
        if raw.configure:
            raw.configure = self._function("int(pp_config *)", self._configure)
        else:
            raw.state_size += ZONE
        raw.init = self._function("int(pp_env *)", self._init)
        raw.reset = self._function("int(pp_env *, pp_reset *)", self._reset)
        step = self._step_by_run if by_run else self._step
        raw.step = self._function("int(pp_env *, const void *, pp_result *)", step)
        raw.observe = self._function("int(pp_env *, void *const *, bool)", self._observe)
        # the engine calls it only for steps that are cheaper than a function of Python's
        raw.step_many = ffi.NULL
        if raw.check_state:
            kind = "int(pp_env *, pp_saved *)"
            raw.check_state = self._function(kind, self._check_state)
        if raw.seed:
            raw.seed = self._function("int(pp_env *, const pp_seed *)", self._seed)
        self.definition = definition.with_raw(raw)

    def configure(self, options: Mapping[str, Any]) -> None:
        """Learns the fields that environments with these options have."""
        spec = self.definition.configure(options)
        self._fields, self._num_players = spec.fields, spec.num_players
        self._tails.clear()

    def _function(self, kind: str, call: Callable[..., int]) -> CData:
        def guarded(*arguments: Any) -> int:
            if self.failure is not None:
                return int(lib.PP_ERR_ENV)
            try:
                return call(*arguments)
            except BaseException as error:
                self.failure = error
                return int(lib.PP_ERR_ENV)

        made = ffi.callback(kind, guarded, error=int(lib.PP_ERR_ENV))
        self._keep.append(made)
        return made

    # ------------------------------------------------------------------------------ callbacks --

    def _configure(self, config: CData) -> int:
        self._told("configure", -1)
        status = int(self._original.configure(config))
        self.state_size = int(config.state_size)
        self._avoids_runs = bool(config.avoids_runs)
        config.state_size += ZONE
        return status

    def _init(self, env: CData) -> int:
        tail = ffi.cast("char *", env.state) + self.state_size
        ffi.memmove(tail, PATTERN, ZONE)
        self._tails[env.id] = tail
        self._told("init", env.id)
        status = int(self._original.init(env)) if self._original.init else 0
        self._check_states("init")
        return status

    def _seed(self, env: CData, seed: CData) -> int:
        self._told("seed", env.id)
        status = int(self._original.seed(env, seed))
        self._check_states("seed")
        return status

    def _check_state(self, env: CData, saved: CData) -> int:
        self._told("check_state", env.id)
        before = ffi.buffer(saved.state, saved.size)[:]
        own = ffi.new("pp_saved *", saved[0])
        # what load gets has no zone
        if not self._original.load:
            own.size = self.state_size
        status = int(self._original.check_state(env, own))
        after = ffi.buffer(saved.state, saved.size)[:]
        require(after == before, "check_state changes what it checks")
        self._check_states("check_state")
        return status

    def _reset(self, env: CData, how: CData) -> int:
        self._told("reset", env.id)
        status = int(self._original.reset(env, how))
        self._check_states("reset")
        return status

    def _step(self, env: CData, action: CData, result: CData) -> int:
        """Calls step with rewards of its own."""
        self._told("step", env.id)
        size = 8 * self._num_players
        rewards = Zone(size, b"\0", self._zone)
        own = ffi.new("pp_result *", result[0])
        own.reward = ffi.cast("double *", rewards.at)
        status = int(self._original.step(env, action, own))
        rewards.check("step: result->reward")
        self._check_states("step")
        kept = result.reward
        result[0] = own[0]
        result.reward = kept
        ffi.memmove(kept, rewards.at, size)
        return status

    def _observe(self, env: CData, rows: CData, is_reset: bool) -> int:
        self._looks += 1
        seen: list[dict[int, bytes]] = []
        wanted = [i for i in range(len(self._fields)) if rows[i]]
        for blank in BLANKS if self._looks <= THOROUGH_CALLS else BLANKS[:1]:
            status, written = self._look(env, wanted, is_reset, blank)
            if status < 0:
                return status
            seen.append(written)
        for i in wanted:
            contents = {each[i] for each in seen}
            require(
                len(contents) == 1,
                f"observe does not write all of {self._fields[i].name}, or writes another value in"
                " a second call: write every byte of each field whose pointer is not null",
            )
        if self._looks <= THOROUGH_CALLS:
            self._look_alone(env, wanted, is_reset, seen[0])
        for i in wanted:
            ffi.memmove(rows[i], seen[0][i], len(seen[0][i]))
        return 0

    def _look_alone(
        self, env: CData, wanted: list[int], is_reset: bool, seen: dict[int, bytes]
    ) -> None:
        """Observes each field without the others."""
        for i in wanted:
            status, written = self._look(env, [i], is_reset, BLANKS[0])
            require(
                status >= 0 and written[i] == seen[i],
                f"observe writes another {self._fields[i].name} if the other fields are null",
            )

    def _look(
        self, env: CData, wanted: list[int], is_reset: bool, blank: bytes
    ) -> tuple[int, dict[int, bytes]]:
        """Calls observe with rows of their own; returns its status, and what it wrote."""
        self._told("observe", env.id)
        zones = {i: Zone(self._row_bytes(i), blank, self._zone) for i in wanted}
        own = ffi.new("void *[]", max(len(self._fields), 1))
        for i, each in zones.items():
            own[i] = each.at
        status = int(self._original.observe(env, own, is_reset))
        for i, each in zones.items():
            each.check(f"observe: the row of {self._fields[i].name}")
        self._check_states("observe")
        return status, {i: each.content() for i, each in zones.items()}

    def _step_by_run(self, env: CData, action: CData, result: CData) -> int:
        """Steps one environment by step_many, if the engine would."""
        if self._avoids_runs:
            return self._step(env, action, result)
        self._told("step_many", env.id)
        wanted = [i for i, field in enumerate(self._fields) if not field.is_info or field.on_step]
        rows = {i: Zone(self._row_bytes(i), BLANKS[0], self._zone) for i in wanted}
        fields = ffi.new("void *[]", max(len(self._fields), 1))
        for i, each in rows.items():
            fields[i] = each.at
        rewards = Zone(8 * self._num_players, BLANKS[0], self._zone)
        flags = [Zone(1, b"\0", self._zone) for _ in range(2)]
        run, ended = ffi.new("pp_run *"), ffi.new("uint8_t *", 0)
        failures = ffi.new("pp_failures *", {"errors": env.error})
        values = {
            "states": ffi.cast("char *", env.state),
            "state_stride": self.state_size + ZONE,
            "actions": action,
            "reward": ffi.cast("double *", rewards.at),
            "terminated": ffi.cast("uint8_t *", flags[0].at),
            "truncated": ffi.cast("uint8_t *", flags[1].at),
            "fields": fields,
            "count": 1,
            "action_dtype": env.action_dtype[0],
            "rngs": env.rng,
            "elapsed": env.elapsed,
            "ended": ended,
            "failures": failures,
        }
        for name, value in values.items():
            setattr(run, name, value)
        status = int(self._original.step_many(env.shared, run))
        for i, each in rows.items():
            each.check(f"step_many: the row of {self._fields[i].name}")
        names = ("reward", "terminated", "truncated")
        for name, each in zip(names, (rewards, *flags), strict=True):
            each.check(f"step_many: run->{name} of one environment")
        self._check_states("step_many")
        ffi.memmove(result.reward, rewards.at, rewards.size)
        result.terminated, result.truncated = (each.content()[0] for each in flags)
        return int(env.error.code) if status >= 0 and failures.count else status

    def _row_bytes(self, i: int) -> int:
        field = self._fields[i]
        elements = self._num_players if field.per_player else 1
        for axis in field.shape:
            elements *= axis
        return elements * field.dtype.itemsize

    def _check_states(self, name: str) -> None:
        for env_id, tail in self._tails.items():
            require(
                ffi.buffer(tail, ZONE)[:] == PATTERN,
                f"{name} writes beyond the state of environment {env_id}, which has"
                f" {self.state_size} bytes: compare with .state_size",
            )


def writes(
    env: str | Definition,
    *,
    few: bool = False,
    told: Told = lambda callback, env_id: None,
    zone: int = ZONE,
    **settings: Any,
) -> None:
    """Callbacks write all of their rows and nothing else.

    Raises:
        ContractError: one does not.
        EnvError: one failed.
    """
    definition = registry.find(env) if isinstance(env, str) else env
    rounds = 30 if few else 100
    for count in (1, 2) if few else (1, 2, 5):
        _guarded_run(definition, count, rounds, settings, told, zone)
    if definition.raw.step_many:
        _guarded_run(definition, 2, rounds, settings, told, zone, by_run=True)


def observe(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """`observe` changes nothing: results are the same however often it is called."""
    rounds, alike = 30 if few else 100, {**settings, **GUARDED}
    guarded = _guarded_run(env, 2, rounds, settings)
    plain, again = (Run(env, 2, **alike).play(rounds) for _ in range(2))
    # otherwise the results depend on something else, which other checks report
    if plain.made == again.made:
        what = "observe changes the state, and is called once more or less than"
        same(guarded, guarded.made, plain.made, f"{what} in another run")


# settings of pools whose callbacks are watched
LIMIT = 23
GUARDED = {"num_threads": 1, "autoreset": "same_step", "max_episode_steps": LIMIT}


def _guarded_run(
    env: str | Definition,
    count: int,
    rounds: int,
    settings: Mapping[str, Any],
    told: Told = lambda callback, env_id: None,
    zone: int = ZONE,
    *,
    by_run: bool = False,
) -> Run:
    """Plays environments whose callbacks are watched; raises what went wrong in one."""
    definition = registry.find(env) if isinstance(env, str) else env
    guarded = Guarded(definition, told=told, zone=zone, by_run=by_run)
    guarded.configure(registry.fill_options(definition, settings.get("options", {})))
    run = Run(guarded.definition, count, **{**settings, **GUARDED})
    try:
        run.play(rounds)
    except EnvError:
        if guarded.failure is None:
            raise
    finally:
        run.pool.close()
    if guarded.failure is not None:
        raise guarded.failure
    return run


def without_step_many(definition: Definition) -> Definition:
    """Returns a copy of a definition whose environments are stepped one by one."""
    raw = ffi.new("pp_env_def *", definition.raw[0])
    _kept.append(raw)
    raw.step_many = ffi.NULL
    return definition.with_raw(raw)


def step_many(env: str | Definition, *, few: bool = False, **settings: Any) -> bool:
    """`step_many` returns what `step` and `observe` return.

    Returns:
        Whether there is one.
    """
    definition = registry.find(env) if isinstance(env, str) else env
    if not definition.raw.step_many:
        return False
    rounds = 60 if few else 300
    for count in (1, 2) if few else (1, 5, 70):
        many = Run(definition, count, **settings).play(rounds)
        single = Run(without_step_many(definition), count, **settings).play(rounds)
        same(many, many.made, single.made, f"step_many among {count} environments")
    return True
