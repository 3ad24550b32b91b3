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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle

if TYPE_CHECKING:
    from typing import Self

Dumps = Callable[[Any], bytes]

# size of what follows, number of descriptors that come with it
HEADER = struct.Struct("<QI")
# in one message; Linux takes three more
MOST_FDS = 250
CHUNK = 1 << 20
FD_SIZE = array.array("i").itemsize
SPACE = socket.CMSG_SPACE(MOST_FDS * FD_SIZE)
# process, user and group
CREDENTIALS = struct.Struct("3i")
# names of the program that was started; the second is that of multiprocessing's children
MAINS = ("__main__", "__mp_main__")

# ----------------------------------------------------------------------------------- pickling --


def by_reference(value: Any) -> bytes:
    """Pickles for a process that has the same `__main__`: a forked one, or its creator."""
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return by_value(value)


def by_value(value: Any) -> bytes:
    """Pickles for a process that lacks this one's `__main__`: what that defines goes along."""
    raw: bytes
    main = sys.modules.get(MAINS[1])
    if main is not None and main.__name__ == MAINS[1]:
        cloudpickle.register_pickle_by_value(main)
    if cloudpickle.list_registry_pickle_by_value() <= set(MAINS):
        # many times as quick, and the same for what names nothing of `__main__`
        with contextlib.suppress(Exception):
            raw = pickle.dumps(value, 5)
            if b"_main__" not in raw:
                return raw
    raw = cloudpickle.dumps(value, 5)
    return raw


def to_creator(value: Any) -> bytes:
    """Pickles for the process whose `__main__` came here by value: it finds its own classes."""
    # what came by value is not found where its name says, and so refused
    with contextlib.suppress(Exception):
        return pickle.dumps(value, 5)
    file = io.BytesIO()
    _ToCreator(file, 5).dump(value)
    return file.getvalue()


class _ToCreator(cloudpickle.Pickler):  # type: ignore[misc]
    def reducer_override(self, obj: Any) -> Any:
        if (
            isinstance(obj, (type, types.FunctionType))
            and obj.__module__ in MAINS
            and "<" not in obj.__qualname__
        ):
            return _of_main, (obj.__qualname__, by_value(obj))
        return super().reducer_override(obj)


def _of_main(name: str, raw: bytes) -> Any:
    """What `__main__` calls so; a copy of the worker's where it knows no such name."""
    found: Any = sys.modules["__main__"]
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        return pickle.loads(raw)
    return found


class Fragile:
    """Something to send that need not arrive: None does if it can't be pickled or unpickled."""

    def __init__(self, value: Any, dumps: Dumps = to_creator) -> None:
        try:
            self._raw = dumps(value)
        except Exception:
            self._raw = pickle.dumps(None)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return _unwrapped, (self._raw,)


def _unwrapped(raw: bytes) -> Any:
    try:
        return pickle.loads(raw)
    except Exception:
        return None


# ----------------------------------------------------------------------------------- connection --


class Connection:
    """One end of a connection. One thread at a time may send, and one may receive."""

    def __init__(self, end: socket.socket, dumps: Dumps = by_reference) -> None:
        """Takes a connected AF_UNIX stream socket, which the connection then owns."""
        end.setblocking(False)
        self._socket = end
        self.dumps = dumps
        self._inbox = bytearray()
        self._fds: list[int] = []
        # between bytes that the system has taken or given and our books of them
        self._is_sending = False
        self._is_receiving = False

    @staticmethod
    def pair() -> tuple[socket.socket, socket.socket]:
        """Returns the two ends that connections are made of."""
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)

    def send(self, value: Any, fds: Sequence[int] = (), timeout: float | None = None) -> None:
        """Sends an object and copies of descriptors, at most 250.

        Args:
            value: whatever the connection can pickle.
            fds: stay open here.
            timeout: seconds to wait for the other side to make room, None for ever.

        Raises:
            EOFError: the other side is gone.
            TimeoutError: it has not read for so long. If part of the message was sent, the
            connection
                can't be used any more.
            ConnectionError: the connection is closed, or was interrupted in the middle of a
            message.
            Exception: what pickling raised; nothing was sent.
        """
        if len(fds) > MOST_FDS:
            raise ValueError(f"{len(fds)} descriptors: send at most {MOST_FDS} with one message")
        self._check()
        body = self.dumps(value)
        data = memoryview(HEADER.pack(len(body), len(fds)) + body)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        end = _end(timeout)
        sent = 0
        while sent < len(data):
            self._is_sending = True
            try:
                sent += self._socket.sendmsg([data[sent:]], rights, socket.MSG_NOSIGNAL)
                # the descriptors went with the first byte
                rights = []
            except BlockingIOError:
                self._is_sending = sent > 0
                self._wait(select.POLLOUT, end)
            except (BrokenPipeError, ConnectionResetError):
                self._is_sending = False
                raise EOFError(_GONE) from None
            except OSError:
                self._is_sending = sent > 0
                raise
        self._is_sending = False

    def recv(self, timeout: float | None = None) -> tuple[Any, list[int]]:
        """Returns the next object and the descriptors that came with it, which are close-on-exec.

        An exception while it waits, of Ctrl-C for one, loses nothing: the next call goes on.

        Args:
            timeout: seconds, None for ever.

        Raises:
            EOFError: the other side is gone.
            TimeoutError: the message has not come, or only in part.
            ConnectionError: the connection is closed, or was interrupted in the middle of a
            message.
            OSError: this process has no room for the descriptors.
            Exception: what unpickling raised; the message is lost, the next one is not.
        """
        self._check()
        end = _end(timeout)
        while (missing := self._missing()) > 0:
            self._take(missing, end)
        self._is_receiving = True
        message, self._inbox = self._inbox, bytearray()
        fds, self._fds = self._fds, []
        try:
            _, count = HEADER.unpack_from(message)
            if len(fds) != count:
                raise OSError(
                    errno.EMFILE,
                    f"{len(fds)} of {count} descriptors came: no more room; "
                    "a higher limit of files (ulimit -n) may help",
                )
            value = pickle.loads(memoryview(message)[HEADER.size :])
        except BaseException as error:
            _close(fds)
            self._is_receiving = not isinstance(error, Exception)
            raise
        self._is_receiving = False
        return value, fds

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Says whether there is something to receive, an end included, within seconds."""
        self._check()
        try:
            if self._missing() > 0:
                self._wait(select.POLLIN, _end(timeout))
        except TimeoutError:
            return False
        return True

    def fileno(self) -> int:
        """Returns the socket's descriptor, which becomes readable with the next message or the
        other side's end; -1 once closed."""
        return self._socket.fileno()

    def maker(self) -> int:
        """Returns the id of the process that made the two ends, 0 if it is of another namespace."""
        told = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        pid: int = CREDENTIALS.unpack(told)[0]
        return pid

    def close(self) -> None:
        """Lets go of this end; the other side meets EOFError after what was sent."""
        self._socket.close()
        fds, self._fds = self._fds, []
        _close(fds)

    def __del__(self) -> None:
        # quietly: at exit there is no order in which to end things
        if hasattr(self, "_socket"):
            self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._socket.fileno() < 0:
            raise ConnectionError("this connection is closed")
        if self._is_sending or self._is_receiving:
            raise ConnectionError(
                "this connection was interrupted in the middle of a message: close it and start"
                " anew"
            )

    def _missing(self) -> int:
        """How many bytes of the next message, or of its header, have not come."""
        have = len(self._inbox)
        if have < HEADER.size:
            return HEADER.size - have
        size: int = HEADER.unpack_from(self._inbox)[0]
        # an empty message ends with its header
        return HEADER.size + size - have

    def _take(self, size: int, end: float | None) -> None:
        """Adds at most size bytes to the inbox; waits for them."""
        self._is_receiving = True
        try:
            data, rights, _, _ = self._socket.recvmsg(
                min(size, CHUNK), SPACE, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            self._is_receiving = False
            self._wait(select.POLLIN, end)
            return
        except ConnectionResetError:
            self._is_receiving = False
            raise EOFError(_GONE) from None
        for level, kind, raw in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                came = array.array("i")
                came.frombytes(raw[: len(raw) - len(raw) % FD_SIZE])
                self._fds += came
        self._inbox += data
        self._is_receiving = False
        if not data:
            raise EOFError(_GONE)

    def _wait(self, event: int, end: float | None) -> None:
        if not wait(self._socket.fileno(), end, event):
            raise TimeoutError("the other process has not answered in time")


_GONE = "the process at the other end of this connection has ended, or has closed its end"


def _end(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def wait(fd: int, end: float | None, event: int = select.POLLIN) -> bool:
    """Waits for an event of a descriptor until `time.monotonic()` is end, None for ever."""
    poll = select.poll()
    poll.register(fd, event)
    if end is None:
        return bool(poll.poll())
    # rounded up: rounded down it would spin through the last millisecond
    left = min(max(0, math.ceil((end - time.monotonic()) * 1000)), 1 << 30)
    return bool(poll.poll(left))
