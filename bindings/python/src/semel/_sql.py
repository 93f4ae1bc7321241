"""Claims in a PostgreSQL transaction of the caller's: the record commits with the effect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Optional, Sequence

from ._claim import Claim, Item, Outcome, Payload, fingerprint_of
from ._claim import key_fault as fault_in_any_store
from ._errors import NotInTransaction, Refused

_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*\Z")
#: Fails, and with it the transaction: the record of a claim must not be committed with half of its effect.
FAILS = "SELECT CAST('semel: the block of a claim has raised: roll this transaction back' AS integer)"
# The limit of the functions, whatever a config says. An error of theirs would end the caller's transaction.
_LONGEST_RESULT = 1024 * 1024
_IDLE = 0  # a state of a transaction, as libpq has it


def check_schema(schema: str) -> str:
    if not _IDENTIFIER.match(schema):
        raise ValueError(f"{schema!r} is no schema of Semel's")
    return schema


def key_fault(key: str) -> Optional[str]:
    """Why the functions would refuse the key; an error of theirs would end the caller's transaction."""
    fault = fault_in_any_store(key)
    return "a key in PostgreSQL has no zero character" if fault is None and "\0" in key else fault


def refuse_without_transaction(connection: Any) -> None:
    """In autocommit the record would be committed before the effect."""
    if _is_django(connection):
        if connection.get_autocommit() and not connection.in_atomic_block:
            raise NotInTransaction("the connection is in no transaction: transaction.atomic() for claim and effect")
        return
    if _is_sqlalchemy(connection):
        if not connection.in_transaction():
            raise NotInTransaction("the connection is in no transaction: engine.begin() or Session.begin()")
        connection = getattr(connection.connection, "dbapi_connection", connection.connection)
    info = getattr(connection, "info", None)
    status = getattr(info, "transaction_status", None)
    if getattr(connection, "autocommit", False) is True and (status is None or int(status) == _IDLE):
        raise NotInTransaction("the connection is in no transaction: begin one for claim and effect")


def _is_sqlalchemy(connection: Any) -> bool:
    """A Connection of SQLAlchemy, without that package."""
    return hasattr(connection, "exec_driver_sql") and hasattr(connection, "in_transaction")


def _is_django(connection: Any) -> bool:
    """A connection of Django, without that package."""
    return hasattr(connection, "in_atomic_block") and hasattr(connection, "get_autocommit")


def values_of(row: Any) -> Sequence[Any]:
    """The columns in their order, also where a factory of the connection makes mappings of its rows."""
    values: Sequence[Any] = tuple(row.values()) if isinstance(row, Mapping) else row
    return values


def rows_of(connection: Any, sql: str, parameters: list[Any]) -> list[Sequence[Any]]:
    """By the connection's own cursor, or as SQLAlchemy runs a statement of its driver."""
    if _is_sqlalchemy(connection):
        return [tuple(row) for row in connection.exec_driver_sql(sql, tuple(parameters))]
    cursor = connection.cursor()
    try:
        cursor.execute(sql, parameters)
        return [values_of(row) for row in cursor.fetchall()]
    finally:
        cursor.close()


#: SQLSTATEs of a function and of a schema that are not there.
_NO_FUNCTION = "42883"
_NO_SCHEMA = "3F000"


def _hint_of(error: BaseException) -> Optional[str]:
    return getattr(getattr(error, "diag", None), "message_hint", None)


def _plain(told: str, code: str) -> str:
    """What a function says, without the marks of its text: "semel: no consumer … (R272)"."""
    told = told.split("\n", 1)[0]
    told = told[len("semel: "):] if told.startswith("semel: ") else told
    mark = f" ({code})"
    return told[:-len(mark)] if told.endswith(mark) else told


def _missing_functions(state: str, told: str, schema: str) -> Optional[Refused]:
    """Of a database whose store has no functions, or has those of an older version."""
    is_function = state == _NO_FUNCTION and f"function {schema}." in told
    is_schema = state == _NO_SCHEMA and f'"{schema}"' in told
    if not is_function and not is_schema:
        return None
    return Refused(f"the SQL functions are not in schema {schema} ({told.split(chr(10), 1)[0]})", None,
                   "semel store init --functions; older ones: semel store migrate --functions")


def refusal_of(error: BaseException, schema: str) -> Optional[Refused]:
    """An error of the functions, or of their absence, by its SQLSTATE; None: another one."""
    # SQLAlchemy and Django raise errors of their own around that of the driver.
    error = getattr(error, "orig", None) or error
    if not hasattr(error, "pgcode") and not hasattr(error, "sqlstate") and error.__cause__ is not None:
        error = error.__cause__
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""
    if not state.startswith("SM"):
        return _missing_functions(state, str(error), schema)
    code = "R" + state[2:]
    return Refused(_plain(str(error), code), code, _hint_of(error))


def claim_call(schema: str, consumer: str, key: str, payload: Optional[Payload]) -> tuple[str, list[Any]]:
    columns = f"SELECT outcome, result, retry_after, reason FROM {schema}.claim"
    if payload is None:
        return f"{columns}(consumer => %s::text, key => %s::text)", [consumer, key]
    return (f"{columns}(consumer => %s::text, key => %s::text, fingerprint => %s::bytea)",
            [consumer, key, fingerprint_of(payload)])


def _claim_many_call(schema: str, consumer: str, keys: list[str],
                     prints: list[Optional[str]]) -> tuple[str, list[Any]]:
    columns = f"SELECT outcome, result, retry_after, reason, key FROM {schema}.claim_many"
    if all(one is None for one in prints):
        return (f"{columns}(consumer => %s::text, keys => %s::text[]) ORDER BY ordinality",
                [consumer, keys])
    # In hexadecimal: psycopg doubles the backslashes of an array of bytes where standard_conforming_strings is off.
    return (f"{columns}(consumer => %s::text, keys => %s::text[], fingerprints => ("
            "SELECT array_agg(decode(print, 'hex') ORDER BY place)"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS given (print, place))) ORDER BY ordinality",
            [consumer, keys, prints])


def done_call(schema: str, consumer: str, key: str, result: bytes) -> tuple[str, list[Any]]:
    if len(result) > _LONGEST_RESULT:
        raise Refused(f"the result has {len(result)} bytes, the limit is {_LONGEST_RESULT}", "R271",
                      "keep it elsewhere, and where it is in the result")
    return f"SELECT {schema}.done(%s::text, %s::text, %s::bytea)", [consumer, key, result]


def claim_of(ending: Any, key: str, row: Sequence[Any]) -> Claim:
    outcome, result, retry_after, reason = row[:4]
    seconds = retry_after.total_seconds() if isinstance(retry_after, timedelta) else None
    return Claim(ending, key, Outcome(outcome), result=None if result is None else bytes(result),
                 retry_after=seconds, reason=reason)


class Batch:
    """Keys that one statement asks for. What cannot be a key is answered without it, and costs no neighbour."""

    def __init__(self, ending: Any, schema: str, consumer: str, items: Sequence[Item]) -> None:
        self._ending = ending
        faults = [key_fault(key) for key, _ in items]
        prints = [None if payload is None else fingerprint_of(payload).hex() for _, payload in items]
        if len({one is None for one in prints}) > 1:
            raise ValueError("give each key of a batch its payload, or none of them")
        # In the places of the items; None: it is asked for.
        self._invalid = [None if fault is None else Claim.invalid(ending, key, fault)
                         for (key, _), fault in zip(items, faults)]
        asked = [place for place, fault in enumerate(faults) if fault is None]
        #: None: there is nothing to ask for.
        self.call = _claim_many_call(schema, consumer, [items[place][0] for place in asked],
                                     [prints[place] for place in asked]) if asked else None

    def claims(self, rows: Sequence[Sequence[Any]]) -> list[Claim]:
        answered = (claim_of(self._ending, row[4], row) for row in rows)
        return [one or next(answered) for one in self._invalid]


def refuse_other_end(how: str) -> None:
    if how != "done":
        raise RuntimeError(f"a claim of a transaction does not end as {how}: roll it back")


class Transaction:
    """Claims keys by the SQL functions of ``semel store init --functions``, in the transaction that the
    connection is in. ``connection``: any of psycopg 3 or psycopg2, or what has its ``cursor()``; a
    Connection or Session of SQLAlchemy, over one of these drivers; a connection of Django.
    """

    def __init__(self, connection: Any, consumer: str, *, schema: str = "semel") -> None:
        self.consumer = consumer
        # A session of SQLAlchemy has a connection for its transaction.
        self._session = connection if callable(getattr(connection, "connection", None)) else None
        self._connection = connection
        self._schema = check_schema(schema)

    def claim(self, key: str, payload: Optional[Payload] = None) -> Claim:
        """Asks for one key; waits for another transaction that has it. Give a payload always, or never."""
        fault = key_fault(key)
        if fault is not None:
            return Claim.invalid(self, key, fault)
        rows = self._ask(*claim_call(self._schema, self.consumer, key, payload))
        return claim_of(self, key, rows[0])

    def claim_many(self, items: Sequence[Item]) -> list[Claim]:
        """Asks for several keys in one statement, each with its payload or None; answers in their order."""
        batch = Batch(self, self._schema, self.consumer, items)
        return batch.claims(self._ask(*batch.call) if batch.call else ())

    def end_claim(self, claim: Claim, how: str, result: Optional[bytes], after: Optional[float],
                  error: str) -> None:
        refuse_other_end(how)
        if result is not None:
            self._ask(*done_call(self._schema, self.consumer, claim.key, result))

    def renew_claim(self, claim: Claim, lease: Optional[float]) -> None:
        """The transaction holds it, and nothing has to be renewed."""

    def forbid_commit(self) -> None:
        self._ask(FAILS, [])

    def _ask(self, sql: str, parameters: list[Any]) -> list[Sequence[Any]]:
        connection = self._connection if self._session is None else self._session.connection()
        refuse_without_transaction(connection)
        try:
            return rows_of(connection, sql, parameters)
        except Exception as error:
            refused = refusal_of(error, self._schema)
            if refused is None:
                raise
            raise refused from error
