"""Ends calls of a database that does not answer: its driver waits for ever by itself."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Any, Iterator, Optional

from ._fork import leave_to_parent, made_anew


def _cut(connection: Any) -> None:
    """Ends the connection under the call that waits on it, which then raises as where the server closes it."""
    try:
        # A descriptor of our own: the driver may close its one meanwhile.
        with socket.socket(fileno=os.dup(connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)
    except Exception:
        pass  # it is closed already


class Deadlines:
    """One thread that ends connections whose calls take too long. Thread-safe. It is never stopped: use DEADLINES."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[int, tuple[float, Any]] = {}
        self._thread: Optional[threading.Thread] = None
        self._wakes = float("inf")  # when the thread looks again by itself
        made_anew(self)

    def after_fork(self) -> None:
        for _, connection in self._due.values():
            leave_to_parent(connection)
        self._changed = threading.Condition()
        self._due = {}
        self._thread = None
        self._wakes = float("inf")

    @contextlib.contextmanager
    def of(self, connection: Any, seconds: float) -> Iterator[None]:
        """The block is a call on the connection, which is ended after so many seconds."""
        mark = id(connection)
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="semel deadlines", daemon=True)
                thread.start()
                self._thread = thread
            due = time.monotonic() + seconds
            self._due[mark] = (due, connection)
            if due < self._wakes:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._due.pop(mark, None)

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for mark, (due, connection) in list(self._due.items()):
                    if due <= now:
                        del self._due[mark]
                        _cut(connection)
                connection = None  # it may be closed and forgotten while this thread waits
                first = min((due for due, _ in self._due.values()), default=None)
                self._wakes = float("inf") if first is None else first
                self._changed.wait(None if first is None else first - now)


#: Of all claims of this process.
DEADLINES = Deadlines()


def connected(connect: Any, seconds: float) -> Any:
    """A connection, made within so many seconds; one that comes later is closed. Raises OSError."""
    done = threading.Event()
    lock = threading.Lock()
    made: list[Any] = []
    failed: list[BaseException] = []
    given_up = False

    def make() -> None:
        try:
            one = connect()
        except BaseException as error:  # it is the caller's
            failed.append(error)
        else:
            with lock:
                late = given_up
                made.append(one)
            if late:
                one.close()
        done.set()

    try:
        threading.Thread(target=make, name="semel connects", daemon=True).start()
        done.wait(seconds)
    except BaseException:  # an interrupt: nobody takes the connection
        with lock:
            given_up = True
        for one in made:
            one.close()
        raise
    with lock:
        given_up = not made and not failed
    if failed:
        raise failed[0]
    if given_up:
        raise TimeoutError(f"no connection was made in {seconds:.1f} seconds")
    return made[0]
