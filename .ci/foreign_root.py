"""Runs programs in another Debian's root folder, for another processor too, without being root.

Nothing of the system changes: packages are unpacked and not installed, and mounts and qemu's
registration exist only in namespaces that end with the program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
# what the kernel looks for in the head of an ELF file: 64 bits, little endian, aarch64
MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"

# Runs as root of a user namespace. F: the kernel opens qemu now, so that it is found in any root.
ENTER = """
set -eu
root=$1 qemu=$2; shift 2
if [ "$qemu" ]; then
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  printf '%s' ":qemu:M::$MAGIC:$MASK:$qemu:F" > /proc/sys/fs/binfmt_misc/register
fi
for folder in /proc /sys /dev "$SHARED"; do
  mkdir -p "$root$folder"
  mount --rbind "$folder" "$root$folder"
done
mount -t tmpfs tmpfs "$root/tmp"
exec chroot "$root" env -C "$FOLDER" "$@"
"""


class Unavailable(Exception):
    """Says in one sentence why this machine cannot run such programs."""


def tool(name: str, package: str, folder: Path) -> Path:
    """Returns the path of a program; takes it from Debian's package if it is not installed.

    Args:
        name: the program's.
        package: Debian's package that has it in /usr/bin.
        folder: where packages are unpacked.
    """
    installed = shutil.which(name)
    if installed:
        return Path(installed)
    path = folder / "usr" / "bin" / name
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    try:
        quietly("apt-get", "download", package, cwd=folder)
        (archive,) = folder.glob(f"{package}_*.deb")
        quietly("dpkg", "-x", archive, folder)
    except OSError as error:
        raise Unavailable(
            f"{name} is missing, and can't be had from Debian's package {package}: {error}"
        ) from None
    archive.unlink()
    return path


def make(
    root: Path, suite: str, architecture: str, packages: Sequence[str], variant: str, tools: Path
) -> None:
    """Makes a root folder with these packages of a Debian and what they depend on.

    Args:
        root: the folder, which does not exist yet.
        suite: name of the Debian.
        architecture: Debian's name of the processor.
        packages: names of packages.
        variant: "extract": no script of a package runs; "minbase": a small complete system, which
            needs this processor.
        tools: where packages are unpacked whose programs this needs.
    """
    mmdebstrap = tool("mmdebstrap", "mmdebstrap", tools)
    partial = root.with_name(f"{root.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    options = [
        f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
        f"--architectures={architecture}",
        f"--variant={variant}",
        f"--include={','.join(packages)}",
        # the root is for programs of another processor, which this test would run
        "--skip=check/qemu",
    ]
    try:
        quietly("perl", mmdebstrap, *options, suite, partial, MIRROR)
    except OSError as error:
        raise Unavailable(f"no root folder of {suite} for {architecture}: {error}") from None
    partial.rename(root)


def run(
    root: Path,
    command: Sequence[str],
    shared: Path,
    folder: Path,
    env: Mapping[str, str],
    qemu: Path | None,
) -> int:
    """Runs a command in a root folder; returns its exit status.

    Args:
        root: what `make` made; it has coreutils.
        command: a program of the root with its arguments.
        shared: a folder that has the same path inside.
        folder: the current folder of the command, in the shared one.
        env: the environment of the command, besides PATH and HOME.
        qemu: the emulator that runs the root's programs; None if the processor does.

    Raises:
        Unavailable: the kernel does not allow such namespaces.
    """
    enter = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    magic = {"MAGIC": MAGIC, "MASK": MASK, "SHARED": str(shared), "FOLDER": str(folder)}
    # a sandbox may forbid namespaces, and before Linux 6.7 they have no binfmt_misc of their own
    probe = [*enter, ENTER, "sh", str(root), str(qemu or ""), "true"]
    everything = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", **magic, **env}
    try:
        quietly(*probe, env=everything)
    except OSError as error:
        raise Unavailable(f"no program runs in {root}: {error}") from None
    whole = [*enter, ENTER, "sh", str(root), str(qemu or ""), *command]
    return subprocess.run(whole, env=everything, check=False).returncode


def quietly(
    *command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Runs a command; raises OSError with the last line that it printed if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no output"]
        raise OSError(f"{words[0]}: exit status {done.returncode}: {said[0]}")
