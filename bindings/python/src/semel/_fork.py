"""A child of fork() shares no connection, lock or thread with its parent."""

from __future__ import annotations

import os
import socket
import weakref
from typing import Any, Protocol


class Forked(Protocol):
    def after_fork(self) -> None:
        """In the child: makes anew what it cannot share."""


_made: weakref.WeakSet[Any] = weakref.WeakSet()
# For ever: a destructor may say more than it should.
_inherited: list[Any] = []


def made_anew(one: Forked) -> None:
    """``one`` is told of each fork, in the child."""
    _made.add(one)


def leave_to_parent(connection: Any) -> None:
    """Nothing that the child does with the connection reaches the server: closing it would say goodbye to it."""
    _inherited.append(connection)
    try:
        dead, other = socket.socketpair()
        other.close()
        with dead:
            os.dup2(dead.fileno(), connection.fileno(), inheritable=False)
    except Exception:
        pass  # it is closed already


def _after_fork() -> None:
    for one in list(_made):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
