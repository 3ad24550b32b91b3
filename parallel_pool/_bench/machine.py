"""The facts that results depend on: the machine, its load, and the versions of packages."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "parallel_pool",
    "numpy",
    "gymnasium",
    "envpool",
    "ale-py",
    "mujoco",
    "opencv-python-headless",
    "stable-baselines3",
)


def facts() -> dict[str, Any]:
    """Returns the facts that stay the same while a benchmark runs."""
    return {
        "cpu": cpu_name(),
        "cores": usable_cores(),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "hypervisor": "hypervisor" in Path("/proc/cpuinfo").read_text(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": first_line(os.environ.get("CC") or "cc", "--version"),
        "versions": {name: version(name) for name in PACKAGES},
    }


def moment() -> dict[str, Any]:
    """Returns the facts that change: time, commit, and load."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "time": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def commit() -> str | None:
    """Returns the commit that is measured, with "-dirty" if a file differs from it.

    Result files don't count, as the run itself writes them. Returns None outside a checkout, even
    if the package is installed inside a checkout of something else.
    """
    git = ("git", "-C", str(ROOT))
    if first_line(*git, "rev-parse", "--show-toplevel") != os.path.realpath(ROOT):
        return None
    found = first_line(*git, "rev-parse", "--short", "HEAD")
    changed = first_line(*git, "status", "--porcelain", "-uno", "--", ".", ":!*/results/*")
    return f"{found}-dirty" if found and changed else found


def name() -> str:
    """Returns the name of this machine's result folder: processor and number of cores."""
    words = f"{cpu_name()} {usable_cores()} cores".lower()
    words = re.sub(r"\((r|tm)\)|processor|cpu", " ", words)
    return re.sub(r"[^a-z0-9.]+", "-", words).strip("-")


def usable_cores() -> int:
    """Returns how many cores this process may use; all of the machine's if that is unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_name() -> str:
    """Returns the processor's name, from /proc/cpuinfo."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def summary() -> str:
    """Returns the processor, its cores and the commit, for the head of a report."""
    return f"{cpu_name()}, {os.cpu_count()} cores, commit {commit()}"


def version(package: str) -> str | None:
    """Returns an installed package's version; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def first_line(*command: str) -> str | None:
    """Returns the first line of a command's output; None if the command fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.partition("\n")[0]
