"""Idempotent message consumers: a message may be delivered many times, its effect happens once.

    import semel

    mails = semel.HttpClaims("http://127.0.0.1:8585", token=TOKEN, consumer="mails")

    @semel.once(mails, key=lambda order: order["id"], payload=lambda order: order["text"])
    def send(order):
        return post_mail(order)

``HttpClaims`` claims keys by HTTP requests to a ``semel run``, on any store, and ``SqlClaims`` by SQL
functions in a PostgreSQL store, without a run. ``Transaction`` claims them in a PostgreSQL transaction of the
caller's. ``semel.aio`` has all of them for asyncio.
"""

from ._claim import Claim, Outcome
from ._errors import (
    Busy,
    Conflict,
    Dead,
    Invalid,
    LeaseLost,
    NotDone,
    NotInTransaction,
    Parked,
    Refused,
    SemelError,
    Unavailable,
)
from ._http import End, HttpClaims
from ._leases import SqlClaims
from ._once import claim, once
from ._sql import Transaction
from ._version import __version__

__all__ = [
    "Busy",
    "Claim",
    "Conflict",
    "Dead",
    "End",
    "HttpClaims",
    "Invalid",
    "LeaseLost",
    "NotDone",
    "NotInTransaction",
    "Outcome",
    "Parked",
    "Refused",
    "SemelError",
    "SqlClaims",
    "Transaction",
    "Unavailable",
    "__version__",
    "claim",
    "once",
]
