"""Claims with a lease by the SQL functions, for effects outside of a transaction. Each call commits by itself."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta
from typing import Any, Callable, Iterable, Optional, Sequence

from ._claim import (
    Claim,
    Item,
    Outcome,
    Payload,
    as_bytes,
    check_timeout,
    fingerprint_of,
    lease_clock,
)
from ._deadlines import DEADLINES, connected
from ._errors import Refused, Unavailable, lease_lost
from ._fork import leave_to_parent, made_anew
from ._http import End, check_how, ended_by, give_back, plain_text
from ._sql import check_schema, key_fault, refusal_of, values_of

_FIRST_WAIT = 0.02
_LONGEST_WAIT = 1.0
# As every driver of PEP 249 calls a connection that broke, and a server that asks for the same once more.
_FAULTS = {"OperationalError", "InterfaceError", "TimeoutError"}
# How the function of an end answers where it was taken.
_TAKEN = {"done": "done", "retry": "retry", "release": "released", "dead": "dead"}
# How a later claim of the key is answered where that end was taken.
_MET_AFTER = {"done": Outcome.DUPLICATE, "retry": Outcome.RETRY, "release": Outcome.RETRY, "dead": Outcome.DEAD}


def _is_fault(error: BaseException) -> bool:
    return any(kind.__name__ in _FAULTS for kind in type(error).__mro__)


def _interval(seconds: Optional[float]) -> Optional[timedelta]:
    return None if seconds is None else timedelta(seconds=max(0.0, seconds))


def _text(said: str) -> str:
    """An error as the database can keep it."""
    return plain_text(said).replace("\0", "�")


class SqlClaims:
    """Claims keys by ``semel.begin`` and what ends it: HttpClaims without a run. Thread-safe.

    ``connect``: makes a connection of psycopg 3 or psycopg2; each call takes one that is free, and makes
    another where none is. They are in autocommit, keep no state in the session, and close by ``close()``.
    ``lease``: seconds that a claim is good without renewal.
    ``patience``: for how many seconds a call is asked again while the database does not answer.
    ``timeout``: of one call, in seconds; its connection is ended then. A renewal has a third of the lease, and
    no more than what is left of it, its connection and all its calls together.
    A child of fork() makes connections of its own.
    """

    def __init__(self, connect: Callable[[], Any], *, consumer: str, lease: float = 60.0,
                 patience: float = 30.0, timeout: float = 15.0, schema: str = "semel") -> None:
        self.consumer = consumer
        self.lease = lease
        self._connect = connect
        self._patience = patience
        check_timeout(timeout)
        self._timeout = timeout
        self._schema = check_schema(schema)
        self._free: list[Any] = []
        self._lock = threading.Lock()
        made_anew(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()
        inherited, self._free = self._free, []
        for connection in inherited:
            leave_to_parent(connection)

    def close(self) -> None:
        """Closes the connections that no call uses."""
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def __enter__(self) -> "SqlClaims":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def claim(self, key: str, payload: Optional[Payload] = None) -> Claim:
        """Asks for one key. Give a payload always, or never."""
        fault = key_fault(key)
        if fault is not None:
            return Claim.invalid(self, key, fault)
        # Drawn here, so that a call whose answer was lost is answered with the claim that it made.
        return self._begin(key, os.urandom(16), None if payload is None else fingerprint_of(payload))

    def claim_many(self, items: Sequence[Item]) -> list[Claim]:
        """Asks for several keys, one after another, each with its payload or None; answers in their order.

        Where one raises, those that were claimed before it are released.
        """
        answered: list[Claim] = []
        try:
            for key, payload in items:
                answered.append(self.claim(key, payload))
        except BaseException:
            give_back(self, answered)
            raise
        return answered

    def finish_many(self, ends: Iterable[End]) -> list[bool]:
        """Ends several claims, one after another; False where a lease was lost, and nothing was changed.

        Where a result cannot be kept its claim is done without it, and after all others Refused is raised.
        """
        with ended_by(ends) as said:
            return self._finish_all(said)

    def _finish_all(self, said: list[End]) -> list[bool]:
        taken: list[bool] = []
        refused: Optional[Refused] = None
        for end in said:
            try:
                taken.append(self._finish(end))
            except Refused as error:
                if end.how != "done" or end.result is None:
                    raise
                taken.append(self._finish(End(end.claim)))
                refused = refused or error
        if refused is not None:
            raise refused
        return taken

    def end_claim(self, claim: Claim, how: str, result: Optional[bytes], after: Optional[float],
                  error: str) -> None:
        if not self._end(claim, how, result, after, error):
            raise lease_lost(claim.key)

    def renew_claim(self, claim: Claim, lease: Optional[float]) -> None:
        seconds = lease if lease is not None else self.lease
        asked = lease_clock()
        # It may be taken though its answer is lost, and may shorten the lease.
        claim.good_until = min(claim.good_until, asked + seconds)
        # A caller that waits longer for one answer misses the end of the lease.
        at_most, left = seconds / 3, claim.good_until - asked
        answered = self._ask(self._call("renew", "%s::interval"), [*self._shown(claim), _interval(seconds)],
                             min(at_most, left) if left > 0 else at_most)
        if answered[0] != "renewed":
            raise lease_lost(claim.key)
        claim.good_until = asked + seconds

    def _begin(self, key: str, nonce: bytes, fingerprint: Optional[bytes]) -> Claim:
        asked: list[float] = []
        (outcome, token, attempt, taken_over, result, retry_after, reason) = self._ask(
            f"SELECT outcome, token, attempt, taken_over, result, retry_after, reason FROM {self._schema}.begin("
            "consumer => %s::text, key => %s::text, lease => %s::interval, fingerprint => %s::bytea,"
            " own_nonce => %s::bytea)", [self.consumer, key, _interval(self.lease), fingerprint, nonce], asked=asked)
        new = outcome == Outcome.NEW.value
        made = Claim(self, key, Outcome(outcome), result=None if result is None else bytes(result),
                     retry_after=None if retry_after is None else retry_after.total_seconds(), reason=reason,
                     nonce=nonce.hex() if new else None, token=token, attempt=attempt if new else 1,
                     taken_over=bool(taken_over), lease=self.lease if new else None)
        # The same claim that is asked for again has the whole lease again.
        made.good_until = asked[-1] + self.lease
        made._fingerprint = fingerprint
        return made

    def _finish(self, end: End) -> bool:
        kept = None if end.result is None else as_bytes(end.result)
        taken = self._end(end.claim, end.how, kept, end.after, end.error)
        end.claim.ended = True
        return taken

    def _end(self, claim: Claim, how: str, result: Optional[bytes], after: Optional[float], error: str) -> bool:
        """False where the lease was lost."""
        check_how(how)
        calls: dict[str, tuple[str, list[Any]]] = {
            "done": (self._call("complete", "%s::bytea"), [result]),
            "dead": (self._call("dead", "error => %s::text"), [_text(error)]),
            "release": (self._call("release"), []),
        }
        sql, more = calls.get(how, (self._call("retry", "after => %s::interval, error => %s::text"),
                                    [_interval(after), _text(error)]))
        parameters = [*self._shown(claim), *more]
        lost_answers = [0]
        answered = self._ask(sql, parameters, lost=lost_answers)[0]
        if answered == _TAKEN[how]:
            return True
        return lost_answers[0] > 0 and self._was_taken(claim, how, sql, parameters)

    def _was_taken(self, claim: Claim, how: str, sql: str, parameters: list[Any]) -> bool:
        """The answer to an end was lost, and now the lease is: perhaps by that very end. The record tells.

        A record does not say who ended it. While the lease lasted nobody else could; where it is over now another
        holder may have, and its end is never taken for this one.
        """
        nonce = bytes.fromhex(claim.nonce or "")
        met = self._begin(claim.key, nonce, claim._fingerprint)
        if met.outcome is Outcome.NEW:
            # Nobody has it, as after a retry that is due: it is ended anew.
            return bool(self._ask(sql, parameters)[0] == _TAKEN[how])
        return met.outcome is _MET_AFTER[how] and lease_clock() < claim.good_until

    def _shown(self, claim: Claim) -> list[Any]:
        return [self.consumer, claim.key, bytes.fromhex(claim.nonce or "")]

    def _call(self, function: str, more: str = "") -> str:
        return f"SELECT {self._schema}.{function}(%s::text, %s::text, %s::bytea{', ' if more else ''}{more})"

    def _ask(self, sql: str, parameters: list[Any], at_most: Optional[float] = None,
             lost: Optional[list[int]] = None, asked: Optional[list[float]] = None) -> Sequence[Any]:
        """The row that is answered. ``at_most``: seconds for all of it. ``lost`` counts the calls whose answer may
        have been lost, ``asked`` is told when each was made."""
        begun = time.monotonic()
        last = begun + (self._patience if at_most is None else min(self._patience, at_most))

        def timeout() -> float:
            left = self._timeout if at_most is None else begun + at_most - time.monotonic()
            return max(0.0, min(self._timeout, left))

        wait = _FIRST_WAIT
        while True:
            connection = None
            try:
                connection = self._taken(timeout())
                if asked is not None:
                    asked.append(lease_clock())
                with DEADLINES.of(connection, timeout()):
                    row = self._row(connection, sql, parameters)
                with self._lock:
                    self._free.append(connection)
                return row
            except Exception as error:
                # A pooler that lost the server may end the connection with an error of any kind.
                ended = bool(getattr(connection, "closed", False))
                if connection is not None:
                    _close(connection)
                refused = refusal_of(error, self._schema)
                if refused is not None:
                    raise refused from error
                if not ended and not _is_fault(error):
                    raise
                if lost is not None and connection is not None:
                    lost[0] += 1
                if time.monotonic() + wait > last:
                    raise Unavailable(f"{self.consumer}: {error}") from error
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _taken(self, timeout: float) -> Any:
        """A connection for one call."""
        with self._lock:
            if self._free:
                return self._free.pop()
        connection = connected(self._connect, timeout)
        connection.autocommit = True
        # Behind a pooler that gives each transaction another session a prepared statement is not found again.
        if hasattr(connection, "prepare_threshold"):
            connection.prepare_threshold = None
        return connection

    @staticmethod
    def _row(connection: Any, sql: str, parameters: list[Any]) -> Sequence[Any]:
        cursor = connection.cursor()
        cursor.execute(sql, parameters)
        row = values_of(cursor.fetchone())
        cursor.close()
        return row


def _close(connection: Any) -> None:
    try:
        connection.close()
    except Exception:
        pass  # it is broken
