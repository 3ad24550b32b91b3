"""Plants defects in the code, one at a time, and says which tests find each of them.

    python -m tests.planted_defects                      # on HEAD
    python -m tests.planted_defects --commit 6366fb0     # on another commit
    python -m tests.planted_defects --only row_count     # some of them
    python -m tests.planted_defects --check              # only looks for the anchors

Each defect is a small edit to an anchor text that stands exactly once in the tree, so that the list
holds for trees of another layout, too (tests/tools/test_planted_defects.py looks whether it does
for this tree). A defect is built in a worktree of its own and meets the quick tests, which stop at
the first failure: first those files that are likely to find it, then all. Those that survive meet
the slow tests. The result is a table in Markdown: the defect, what found it, after how many
seconds.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {"C": (".c", ".h", ".inl", ".def"), "Python": (".py",)}
FOLDERS = {"C": "csrc", "Python": "parallel_pool"}
ENGINE = ("**/test_c.py", "contract")
QUICK = "not package and not cluster and not slow and not sanitizers"
# seconds after which a test counts as one that hangs
HANGS = 150
SLOW = "not package and (cluster or slow or sanitizers)"


@dataclass(frozen=True)
class Defect:
    """An edit that a test should find.

    Attributes:
        name: what is wrong then.
        language: "C" or "Python".
        edits: pairs of anchor and replacement, of which the first whose anchor is found counts:
            names differ between trees.
        near: files of tests that are likely to find it, as patterns below tests/; they run first,
            and save time only.
    """

    name: str
    language: str
    edits: tuple[tuple[str, str], ...]
    near: tuple[str, ...]


def c(name: str, *edits: tuple[str, str], near: Sequence[str] = ENGINE) -> Defect:
    return Defect(name, "C", edits, tuple(near))


def python(name: str, *edits: tuple[str, str], near: Sequence[str]) -> Defect:
    return Defect(name, "Python", edits, tuple(near))


DEFECTS = (
    # ---- what threads and processes share
    c("an id named twice is sent twice", ("if (env_ids[j] != id) continue;", "continue;")),
    c(
        "a run claims rows beyond its block",
        ("if (*count > left) *count = left;", "if (*count > left + 1) *count = left + 1;"),
    ),
    c(
        "a snapshot leaves out the pending seed",
        ("memcpy(head.seed, natives->seeds[env_id], sizeof(head.seed));", ""),
    ),
    c(
        "an id set loses the last id of a word",
        ("bits = at + length < BITS ?", "bits = at + length < BITS - 1 ?"),
    ),
    c(
        "the caller may receive while another thread does",
        (
            "if (atomic_exchange_explicit(&pool->receiving, 1, memory_order_acquire)) {",
            "if (atomic_exchange_explicit(&pool->receiving, 0, memory_order_acquire)) {",
        ),
        (
            "if (atomic_exchange_explicit(&pool->receiving, true, memory_order_acquire)) {",
            "if (atomic_exchange_explicit(&pool->receiving, false, memory_order_acquire)) {",
        ),
        (
            "if (state == PP_RECEIVING) {",
            "if (state == PP_RECEIVING) return PP_OK;\n    if (state == PP_RECEIVING) {",
        ),
    ),
    c(
        "a fraction of a core in a cgroup counts as none",
        ("return quota / period + (quota % period != 0);", "return quota / period;"),
    ),
    # ---- mixtures
    c(
        "a padded row keeps what the memory held",
        ("memset(to + used, 0, padding->wide_line - used);", "(void)used;"),
        near=("c/test_c.py", "core/test_mixture.py"),
    ),
    c(
        "an action that only other tasks have is stepped",
        (
            "if ((uint64_t)actions[i] - of.low >= of.n) return i;",
            "if ((uint64_t)actions[i] - of.low > of.n) return i;",
        ),
        near=("core/test_mixture.py",),
    ),
    c(
        "a task of a mixture has the drawn options of another environment",
        ("  if (self->varying) {\n    pick_options", "  if (!self) {\n    pick_options"),
        near=("core/test_mixture.py", "parity/test_mixture_parity.py"),
    ),
    c(
        "a row of a mixture keeps infos of other tasks",
        ("memset(fields[i], 0, row_bytes(&spaces->fields[i]) * (size_t)count);", ""),
        near=("core/test_mixture.py", "parity/test_mixture_parity.py"),
    ),
    python(
        "tasks of a mixture go round robin",
        (
            "for task in self.tasks for _ in range(block)",
            "for _ in range(block) for task in self.tasks",
        ),
        near=("core/test_mixture.py",),
    ),
    python(
        "a row of a mixture has the infos of a reset in a step",
        (
            "np.where(is_reset, field.rows.on_reset, field.rows.on_step)",
            "np.where(is_reset, field.rows.on_step, field.rows.on_reset)",
        ),
        near=("parity/test_mixture_parity.py",),
    ),
    # ---- threads
    c(
        "a time limit ends an episode one step late",
        (
            "(uint32_t)natives->elapsed[env_id] >= pp_autoreset_limit(natives, env_id);",
            "(uint32_t)natives->elapsed[env_id] > pp_autoreset_limit(natives, env_id);",
        ),
    ),
    c(
        "a time limit ends an episode of a run one step late",
        ("(uint32_t)steps[i] >= limit", "(uint32_t)steps[i] > limit"),
        ("(uint32_t)elapsed[i] >= limit", "(uint32_t)elapsed[i] > limit"),
    ),
    c(
        "an ended environment draws in the run that resets it",
        ("natives->rngs[rows->env_id + ended[i]] = kept[i];", "(void)kept;"),
    ),
    c(
        "a failure keeps the text of the one before",
        ("if (outcome->is_reset) fleet->errors[env_id].text[0] = '\\0';", ""),
    ),
    c(
        "a thread takes all that is left in a shard",
        ("chunk = is_shared ? available / 2 : most;", "chunk = is_shared ? available : most;"),
        ("chunk = is_shared ? available / 2 : max;", "chunk = is_shared ? available : max;"),
    ),
    c(
        "one slow chunk sets the estimate of all steps",
        ("if (old && sample > 4 * (int64_t)old) sample = 4 * (int64_t)old;", ""),
    ),
    # ---- worker processes
    c(
        "a reply may end beyond its file",
        ("return message->offset + message->size <= known;", "return message->offset <= known;"),
    ),
    c(
        "a dead worker's rows are not counted again",
        ("if (place >= 0) remote->counts[place / pool->ring.batch_size]++;", ""),
        ("if (place >= 0) processes->slot_counts[place / pool->ring.batch_size]++;", ""),
    ),
    c(
        "a worker's answer to an old question counts for the new one",
        ("own->probe++;", "own->probe += own->probe == 0;"),
        ("worker->probe++;", "worker->probe += worker->probe == 0;"),
    ),
    c(
        "a block of a counted heap is found below its start",
        (
            "if (offset < 0 || offset >= it->heap.reserve) continue;",
            "if (offset >= it->heap.reserve) continue;",
        ),
    ),
    # ---- environments
    c(
        "NumPy's 32-bit draws come high half first",
        (
            "rng->uinteger = (uint32_t)(bits >> 32);\n  return (uint32_t)bits;",
            "rng->uinteger = (uint32_t)bits;\n  return (uint32_t)(bits >> 32);",
        ),
    ),
    c(
        "CartPole's pole is a little heavier",
        ("(4.0 / 3.0 - p->masspole *", "(4.0 / 3.0 - 1.0000000000000002 * p->masspole *"),
        near=["parity/test_vector_env.py", "parity/test_classic_control.py"],
    ),
    c(
        "CartPole ends an episode at the limit itself",
        ("(fabs(cart.theta) > MAX_THETA)", "(fabs(cart.theta) >= 0.99 * MAX_THETA)"),
    ),
    c(
        "a cost of contacts takes forces that are not clipped",
        ("double value = mujoco_clip(values[i], low, high);", "double value = values[i];"),
        near=["parity/test_mujoco.py"],
    ),
    c(
        "HalfCheetah's reward forgets the control cost",
        ("moment->reward = forward - control;", "moment->reward = forward - 0 * control;"),
        ("transition->reward = forward - control;", "transition->reward = forward - 0 * control;"),
        near=["parity/test_mujoco.py"],
    ),
    c(
        "EnvPool's no-ops after a reset are one too many",
        (
            "&self->noop_random, shared->noop_max) + 1 - shared->fires;",
            "&self->noop_random, shared->noop_max) + 1;",
        ),
        near=["parity/test_atari_envpool.py"],
    ),
    c(
        "a lost life ends no episode",
        (
            "int lost_life = 0 < self->lives && self->lives < lives_before;",
            "int lost_life = 0 < self->lives && self->lives < lives_before - 1;",
        ),
        (
            "bool lost_life = 0 < self->lives && self->lives < lives_before;",
            "bool lost_life = 0 < self->lives && self->lives < lives_before - 1;",
        ),
        near=["parity/test_atari_envpool.py"],
    ),
    c(
        "the timer of an Atari console counts in steps of 2 for 8",
        ("{0, 3, 6, 10};", "{0, 1, 6, 10};"),
        near=["parity/test_atari_microroms.py", "parity/test_atari_proofs.py"],
    ),
    c(
        "a paddle's capacitor is charged a cycle early",
        (
            "return cycle > m->ready[paddle] ? 0x80 : 0;",
            "return cycle >= m->ready[paddle] ? 0x80 : 0;",
        ),
        near=["parity/test_atari_microroms.py", "parity/test_atari_rules.py"],
    ),
    c(
        "the console's build for AVX2 leaves out a pixel of each eight",
        (
            "_mm256_set1_epi64x((long long)0x8040201008040201)",
            "_mm256_set1_epi64x((long long)0x0040201008040201)",
        ),
        near=["parity/test_atari_proofs.py"],
    ),
    c(
        "the console does not know a reset of the ball while HMOVE moves it",
        ("{PP_BALL, 10, 7, 6},", ""),
        near=["parity/test_atari_microroms.py"],
    ),
    c(
        "a resized row keeps the sum of the row before",
        (
            "memset(sum, 0, sizeof(sum));\n    for (int t = 0; t < job->output[o].terms; t++,",
            "for (int t = 0; t < job->output[o].terms; t++,",
        ),
        near=["parity/test_atari_screen.py"],
    ),
    # ---- Python
    python(
        "a block is used again while its arrays are held",
        (
            "and getrefcount(lent[0].owner) == lent[0].own_count",
            "and getrefcount(lent[0].owner) <= lent[0].own_count + 1",
        ),
        (
            "if getrefcount(block.owner) != block.unheld:",
            "if getrefcount(block.owner) > block.unheld + 1:",
        ),
        (
            "if getrefcount(block.owner) != block.free_count:",
            "if getrefcount(block.owner) > block.free_count + 1:",
        ),
        near=["**/test_pool.py", "**/test_base_pool.py"],
    ),
    python(
        "a batch that an exception kept back is forgotten",
        ("int(lib.pp_pool_last_result(self._handle, self._ring.fresh))", "0"),
        ("int(lib.pp_pool_last_result(self._handle, self._ring.next_memory))", "0"),
        near=["faults/test_interrupt.py", "**/test_async.py"],
    ),
    python(
        "environment i gets the seed of all",
        ("return [first + i for i in (", "return [first for i in ("),
        near=["**/test_pool.py", "**/test_gymnasium_api.py"],
    ),
    python(
        "a long seed loses its last bits",
        ("-(-seed.bit_length() // 32))", "seed.bit_length() // 32)"),
        near=["**/test_random.py", "**/test_pool.py"],
    ),
    python(
        "infos of resets and of steps share one mask",
        (
            "mask = ~is_reset if on_step else is_reset.copy()",
            "mask = ~is_reset if on_reset else is_reset.copy()",
        ),
        near=["parity/test_vector_env.py"],
    ),
    python(
        "final infos are those of the next episode",
        ("self._finals = of(True)", "self._finals = of(False)"),
        near=["parity/test_vector_env.py"],
    ),
    python(
        "no info says that an episode was cut off",
        ("infos[TRUNCATED] = is_truncated", "infos[TRUNCATED] = False"),
        near=["**/test_sb3*.py"],
    ),
    python(
        "one restart more than allowed",
        (
            "if not self._restarts or self._tries[lane] > TRIES:",
            "if not self._restarts or self._tries[lane] > TRIES + 1:",
        ),
        (
            "if not self._restarts or self._attempts[lane] > MAX_RESTARTS:",
            "if not self._restarts or self._attempts[lane] > MAX_RESTARTS + 1:",
        ),
        near=["faults/test_worker_restarts.py"],
    ),
    python(
        "an environment that raises may try once more",
        ("return tries > TRIES", "return tries > TRIES + 1"),
        ("return failures > MAX_RESTARTS", "return failures > MAX_RESTARTS + 1"),
        near=["faults/test_worker*restarts.py"],
    ),
    python(
        "a part of a deadline outlasts the whole",
        ("return self if left is not None and left < seconds else", "return"),
        ("return self if remaining is not None and remaining < seconds else", "return"),
        near=["**/test_workers_launch.py", "faults/test_worker_timeouts.py"],
    ),
    python(
        "a reset mask may name no environment",
        ("if not mask.any():", "if mask is None:"),
        near=["**/test_gymnasium_*.py", "faults/test_misuse.py"],
    ),
    python(
        "an action column may be transposed",
        ("array = np.ascontiguousarray(array, dtype)", "array = np.asarray(array, dtype)"),
        near=["parity/test_actions.py", "**/test_action_dtypes.py"],
    ),
    python(
        "values of any number are written into a column",
        ('np.can_cast(number, dtype, "same_kind")', 'np.can_cast(number, dtype, "unsafe")'),
        near=["**/test_worker_spaces.py", "faults/test_worker_rows.py"],
    ),
    python(
        "a fused ClipReward does not clip from below",
        ("a_min=min_reward, a_max=max_reward", "a_min=None, a_max=max_reward"),
        near=["**/test_fus*.py"],
    ),
    python(
        "an empty list of live agents is the list of all",
        (
            'self._live = self._check.agents("reset", self.env.agents)',
            'self._live = self._check.agents("reset", self.env.agents) or self.possible_agents',
        ),
        (
            "        self._live = live\n        self._mark_live(marks)",
            "        self._live = live or self.possible_agents\n        self._mark_live(marks)",
        ),
        near=["**/test_pettingzoo.py"],
    ),
)


# ---------------------------------------------------------------------------------- planting --


def sources(tree: Path, language: str) -> Iterator[Path]:
    for path in sorted((tree / FOLDERS[language]).rglob("*")):
        if path.suffix in SUFFIXES[language] and path.is_file() and not path.is_symlink():
            yield path


def find(tree: Path, defect: Defect) -> tuple[Path, str, str]:
    """Returns the file, the anchor and its replacement.

    Raises LookupError if none of the defect's anchors is there exactly once.
    """
    texts = {path: path.read_text() for path in sources(tree, defect.language)}
    counts = []
    for anchor, replacement in defect.edits:
        counts.append(sum(text.count(anchor) for text in texts.values()))
        if counts[-1] == 1:
            path = next(path for path, text in texts.items() if anchor in text)
            return path, anchor, replacement
    raise LookupError(f"{defect.name}: its anchors are there {counts} times, not once")


def plant(tree: Path, defect: Defect) -> Path:
    """Makes the edit; returns the file."""
    path, anchor, replacement = find(tree, defect)
    path.write_text(path.read_text().replace(anchor, replacement))
    return path


# ----------------------------------------------------------------------------------- running --


@dataclass
class Finding:
    """What became of a defect.

    Attributes:
        by: what found it: "quick tests", "slow tests", "the build", or "nothing".
        test: the first test that failed.
        seconds: from the end of the build to that failure, or to the end of all tests.
    """

    by: str
    test: str
    seconds: float


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    # also for processes that tests start elsewhere
    env = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(
        command, cwd=tree, env=env, capture_output=True, text=True, check=False, timeout=3600
    )


def build(tree: Path) -> bool:
    """Compiles the tree; returns whether that worked."""
    return run(tree, sys.executable, "build_ffi.py").returncode == 0


def first_failure(tree: Path, marks: str, paths: Sequence[str] = ("tests",)) -> str | None:
    """Runs tests until one fails; returns its name, or None if all pass."""
    done = run(
        tree,
        *(
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "3",
            "--dist",
            "worksteal",
            "-p",
            "no:cacheprovider",
        ),
        # a test that hangs has found the defect
        *("-o", f"faulthandler_timeout={HANGS}"),
        # which finds every one, because its anchor is gone
        "--ignore=tests/tools/test_planted_defects.py",
        *("-m", marks, *paths),
    )
    if done.returncode == 0:
        return None
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return named[1] if named else f"exit code {done.returncode}"


def check_sound(tree: Path) -> None:
    """Ends the program unless the quick tests pass without a defect: else all would be found."""
    test = first_failure(tree, QUICK) if build(tree) else "the build"
    if test is not None:
        sys.exit(f"without a defect {test} fails: mend that first")


def examine(tree: Path, defect: Defect) -> Finding:
    """Plants one defect in a clean tree, runs tests on it, and takes it out again."""
    path = plant(tree, defect)
    start = 0.0
    try:
        if not build(tree):
            return Finding("the build", "", 0)
        start = time.monotonic()
        near = sorted(str(path) for each in defect.near for path in (tree / "tests").glob(each))
        test = first_failure(tree, QUICK, near) if near else None
        test = test or first_failure(tree, QUICK)
        if test is not None:
            return Finding("quick tests", test, time.monotonic() - start)
        test = first_failure(tree, SLOW)
        if test is not None:
            return Finding("slow tests", test, time.monotonic() - start)
        return Finding("nothing", "", time.monotonic() - start)
    finally:
        run(tree, "git", "checkout", "--", str(path))


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Checks a commit out into a temporary folder, with this checkout's virtual environment."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree = Path(folder) / "tree"
        git = ("git", "worktree")
        subprocess.run([*git, "add", "--detach", "--quiet", tree, commit], cwd=ROOT, check=True)
        (tree / ".venv").symlink_to(ROOT / ".venv")
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", tree], cwd=ROOT, check=False)


def table(findings: Sequence[tuple[Defect, Finding]]) -> str:
    rows = ["| defect | in | found by | first failure | s |", "| --- | --- | --- | --- | --: |"]
    rows += [
        f"| {defect.name} | {defect.language} | {it.by} | {it.test} | {it.seconds:.0f} |"
        for defect, it in findings
    ]
    found = sum(it.by != "nothing" for _, it in findings)
    return "\n".join([*rows, "", f"{found} of {len(findings)} found."])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.planted_defects", description=__doc__)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--skip", nargs="*", default=[], help="parts of names")
    parser.add_argument("--sound", action="store_true", help="the quick tests are known to pass")
    parser.add_argument("--check", action="store_true", help="only look for the anchors")
    parser.add_argument("--out", type=Path, help="write the table there")
    options = parser.parse_args(arguments)
    chosen = [
        defect
        for defect in DEFECTS
        if (not options.only or any(part in defect.name for part in options.only))
        and not any(part in defect.name for part in options.skip)
    ]
    findings = []
    with worktree(options.commit) as tree:
        for defect in chosen:
            find(tree, defect)
        if options.check:
            return 0
        if not options.sound:
            check_sound(tree)
        for defect in chosen:
            finding = examine(tree, defect)
            findings.append((defect, finding))
            print(f"{defect.name}: {finding.by} {finding.test} {finding.seconds:.0f}", flush=True)
    print(table(findings))
    if options.out:
        options.out.write_text(table(findings) + "\n")
    return int(any(it.by == "nothing" for _, it in findings))


if __name__ == "__main__":
    sys.exit(main())
