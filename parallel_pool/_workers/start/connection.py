"""Connection: a socket between two processes that carries Python objects and file descriptors."""

from __future__ import annotations

import array
import contextlib
import errno
import io
import math
import os
import pickle
import select
import socket
import struct
import sys
import time
import types
from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import cloudpickle

from parallel_pool._workers.start import main_module
from parallel_pool._workers.start.main_module import MAINS

if TYPE_CHECKING:
    from typing import Self

Dumps = Callable[[Any], bytes]

# bytes of the body, number of descriptors that come with it
HEADER = struct.Struct("<QI")
# descriptors in one message; Linux takes three more
MAX_FDS = 250
CHUNK = 1 << 20
# seconds that poll waits at most: 12 days
MAX_WAIT = float(1 << 20)
FD_SIZE = array.array("i").itemsize
ANCILLARY_SIZE = socket.CMSG_SPACE(MAX_FDS * FD_SIZE)
# makes descriptors close-on-exec as they are received; 0 where the system can't (macOS)
CLOEXEC: int = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
# keeps SIGPIPE away; Python ignores that signal unless the program says otherwise
NOSIGNAL: int = getattr(socket, "MSG_NOSIGNAL", 0)
# Linux: ids of a process, its user and its group
CREDENTIALS = struct.Struct("3i")
# macOS: names of sys/un.h that Python lacks, for the id of the process that last used the other end
SOL_LOCAL, LOCAL_PEERPID = 0, 2
PID = struct.Struct("i")

# ----------------------------------------------------------------------------------- pickling --


def by_reference(value: Any) -> bytes:
    """Pickles for a process with the same `__main__`: a forked child, or its parent."""
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return by_value(value)


def by_value(value: Any) -> bytes:
    """Pickles for a process without this one's `__main__`, and includes what that defines."""
    add_main_to_pickled()
    if cloudpickle.list_registry_pickle_by_value() <= set(MAINS):
        # many times faster, with the same result for a value that names nothing of `__main__`
        with contextlib.suppress(Exception), main_module.not_imported():
            raw = pickle.dumps(value, 5)
            if b"_main__" not in raw:
                return raw
    file = io.BytesIO()
    ValuePickler(file, 5).dump(value)
    return file.getvalue()


def _reduce_code(code: types.CodeType) -> Any:
    """Keeps the file's name, for which cloudpickle may write another; tracebacks show its lines."""
    make, arguments, *rest = REDUCE_CODE(code)
    known = (code.co_filename if each == NO_FILE else each for each in arguments)
    return (make, tuple(known), *rest)


# how cloudpickle pickles code, and the file's name that it writes since 3.1.2
REDUCE_CODE = cloudpickle.Pickler.dispatch_table[types.CodeType]
NO_FILE = "<dynamic-code>"
OWN_REDUCERS: dict[type, Callable[[Any], Any]] = {types.CodeType: _reduce_code}


class ValuePickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles what `__main__` defines by value, with the names of its files."""

    dispatch_table: ClassVar[Any] = ChainMap(OWN_REDUCERS, cloudpickle.Pickler.dispatch_table)


def add_main_to_pickled() -> None:
    """Makes cloudpickle pickle by value what a main module with multiprocessing's name defines."""
    main = sys.modules.get(MAINS[1])
    if main is not None and main.__name__ == MAINS[1]:
        cloudpickle.register_pickle_by_value(main)


def to_parent(value: Any) -> bytes:
    """Pickles in a worker, whose `__main__` definitions came by value, for the parent process.

    The parent unpickles instances of its own classes, not of the copies that the worker has.
    """
    # fails for a copy, which is not found under its name
    with contextlib.suppress(Exception), main_module.not_imported():
        return pickle.dumps(value, 5)
    file = io.BytesIO()
    _ParentPickler(file, 5).dump(value)
    return file.getvalue()


class _ParentPickler(ValuePickler):
    def reducer_override(self, obj: Any) -> Any:
        if (
            isinstance(obj, (type, types.FunctionType))
            and obj.__module__ in MAINS
            and "<" not in obj.__qualname__
        ):
            return _find_in_main, (obj.__qualname__, by_value(obj))
        return super().reducer_override(obj)


def _find_in_main(name: str, raw: bytes) -> Any:
    """Returns what has this name in `__main__`; the worker's pickled copy if nothing has."""
    found: Any = sys.modules["__main__"]
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        return pickle.loads(raw)
    return found


class PickledOrNone:
    """A value to send, which arrives as None if it can't be pickled or unpickled."""

    def __init__(self, value: Any, dumps: Dumps = to_parent) -> None:
        try:
            self._raw = dumps(value)
        except Exception:
            self._raw = pickle.dumps(None)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return _loads_or_none, (self._raw,)


def _loads_or_none(raw: bytes) -> Any:
    try:
        return pickle.loads(raw)
    except Exception:
        return None


# --------------------------------------------------------------------------------- connection --


class Connection:
    """One end of a socket pair. One thread at a time may send, and one may receive."""

    def __init__(self, end: socket.socket, dumps: Dumps = by_reference) -> None:
        """Takes a connected AF_UNIX stream socket, which the connection then owns."""
        end.setblocking(False)
        self._socket = end
        self.dumps = dumps
        self._received = bytearray()
        self._fds: list[int] = []
        # set while the kernel may have taken or given bytes that are not yet counted here
        self._is_sending = False
        self._is_receiving = False

    @staticmethod
    def pair() -> tuple[socket.socket, socket.socket]:
        """Returns the sockets for two connections that belong together."""
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)

    def send(self, value: Any, fds: Sequence[int] = (), timeout: float | None = None) -> None:
        """Sends an object and copies of descriptors.

        Args:
            value: anything that `dumps` can pickle.
            fds: at most 250 descriptors, which stay open here.
            timeout: seconds to wait until the other process reads; None without a limit.

        Raises:
            EOFError: the other end is closed.
            TimeoutError: the other process did not read in time. If a part of the message was sent,
                the connection can't be used any more.
            ConnectionError: the connection is closed, or was interrupted in the middle of a
                message.
            Exception: what pickling raised; nothing was sent.
        """
        if len(fds) > MAX_FDS:
            raise ValueError(f"{len(fds)} descriptors: send at most {MAX_FDS} with one message")
        self._check_usable()
        body = self.dumps(value)
        data = memoryview(HEADER.pack(len(body), len(fds)) + body)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        until = _time_after(timeout)
        sent = 0
        while sent < len(data):
            self._is_sending = True
            try:
                sent += self._socket.sendmsg([data[sent:]], rights, NOSIGNAL)
                # the descriptors went with the first byte
                rights = []
            except BlockingIOError:
                self._is_sending = sent > 0
                self._wait(select.POLLOUT, until)
            except (BrokenPipeError, ConnectionResetError):
                self._is_sending = False
                raise EOFError(PEER_GONE) from None
            except OSError:
                self._is_sending = sent > 0
                # another thread may have closed it
                self._check_usable()
                raise
        self._is_sending = False

    def recv(self, timeout: float | None = None) -> tuple[Any, list[int]]:
        """Returns the next object and the descriptors that came with it, which are close-on-exec.

        An exception while it waits, such as that of Ctrl-C, loses no data: the next call resumes.

        Args:
            timeout: seconds; None without a limit.

        Raises:
            EOFError: the other end is closed.
            TimeoutError: the message has not arrived, or only a part of it.
            ConnectionError: the connection is closed, or was interrupted in the middle of a
                message.
            OSError: this process has too many files open to receive the descriptors.
            Exception: what unpickling raised; this message is lost, later ones are not.
        """
        self._check_usable()
        until = _time_after(timeout)
        while (missing := self._missing_bytes()) > 0:
            self._receive(missing, until)
        self._is_receiving = True
        message, self._received = self._received, bytearray()
        fds, self._fds = self._fds, []
        try:
            _, count = HEADER.unpack_from(message)
            if len(fds) != count:
                raise OSError(
                    errno.EMFILE,
                    f"only {len(fds)} of {count} descriptors could be received: too many open "
                    "files; a higher limit of files (ulimit -n) may help",
                )
            value = pickle.loads(memoryview(message)[HEADER.size :])
        except BaseException as error:
            _close(fds)
            self._is_receiving = not isinstance(error, Exception)
            raise
        self._is_receiving = False
        return value, fds

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Returns whether a message arrives or the other end is closed within these seconds."""
        self._check_usable()
        try:
            if self._missing_bytes() > 0:
                self._wait(select.POLLIN, _time_after(timeout))
        except TimeoutError:
            return False
        return True

    def fileno(self) -> int:
        """Returns the socket's descriptor, -1 once closed.

        It becomes readable when a message arrives or the other end is closed.
        """
        return self._socket.fileno()

    def maker_pid(self) -> int:
        """Returns the id of the process that made the pair; 0 if that has another pid namespace."""
        pid: int
        if hasattr(socket, "SO_PEERCRED"):
            raw = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
            pid = CREDENTIALS.unpack(raw)[0]
        else:
            # the other end stays with the process that made it
            (pid,) = PID.unpack(self._socket.getsockopt(SOL_LOCAL, LOCAL_PEERPID, PID.size))
        return pid

    def shut_down(self) -> None:
        """Ends the connection for every process that has one of its ends.

        Without it the other end raises EOFError only after all copies of this one are closed, which
        forked processes inherit.
        """
        # the other end may be closed
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes this end; the other end raises EOFError after it has received what was sent."""
        self._socket.close()
        fds, self._fds = self._fds, []
        _close(fds)

    def __del__(self) -> None:
        # avoids the socket's ResourceWarning: at exit objects are deleted in any order
        if hasattr(self, "_socket"):
            self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_torn(self) -> bool:
        """Whether an exception ended a message in its middle, so that no other can follow."""
        return self._is_sending or self._is_receiving

    def _check_usable(self) -> None:
        if self._socket.fileno() < 0:
            raise ConnectionError("this connection is closed")
        if self.is_torn:
            raise ConnectionError(
                "this connection was interrupted in the middle of a message: close it and make"
                " another"
            )

    def _missing_bytes(self) -> int:
        """Returns how many bytes of the next message, or of its header, have not arrived."""
        have = len(self._received)
        if have < HEADER.size:
            return HEADER.size - have
        size: int = HEADER.unpack_from(self._received)[0]
        # an empty message ends with its header
        return HEADER.size + size - have

    def _receive(self, size: int, until: float | None) -> None:
        """Receives at most size bytes, or waits for some."""
        self._is_receiving = True
        try:
            data, rights, _, _ = self._socket.recvmsg(min(size, CHUNK), ANCILLARY_SIZE, CLOEXEC)
        except BlockingIOError:
            self._is_receiving = False
            self._wait(select.POLLIN, until)
            return
        except ConnectionResetError:
            self._is_receiving = False
            raise EOFError(PEER_GONE) from None
        for level, kind, raw in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(raw[: len(raw) - len(raw) % FD_SIZE])
                self._fds += fds
                if not CLOEXEC:
                    _keep_from_programs(fds)
        self._received += data
        self._is_receiving = False
        if not data:
            raise EOFError(PEER_GONE)

    def _wait(self, event: int, until: float | None) -> None:
        if not wait(self._socket.fileno(), until, event):
            raise TimeoutError("the other process has not answered in time")


PEER_GONE = "the process at the other end of this connection has ended, or has closed its end"


def _time_after(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _keep_from_programs(fds: Sequence[int]) -> None:
    """Makes descriptors close-on-exec; a program that was started a moment ago has them."""
    for fd in fds:
        os.set_inheritable(fd, False)


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def wait(fd: int, until: float | None, event: int = select.POLLIN) -> bool:
    """Waits for an event of a descriptor; returns whether it came.

    Args:
        until: a time of `time.monotonic()`; None without a limit.
    """
    poll = select.poll()
    poll.register(fd, event)
    if until is None:
        return bool(poll.poll())
    # rounded up: rounded down, it would spin through the last millisecond
    remaining = math.ceil(min(max(0.0, until - time.monotonic()), MAX_WAIT) * 1000)
    return bool(poll.poll(remaining))
