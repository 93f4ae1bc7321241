"""Idempotent message consumers: a message may be delivered many times, its effect happens once.

    import semel

    mails = semel.HttpClaims("http://127.0.0.1:8585", token=TOKEN, consumer="mails")

    @semel.once(mails, key=lambda order: order["id"], payload=lambda order: order["text"])
    def send(order):
        return post_mail(order)

``HttpClaims`` claims keys by HTTP requests to a ``semel run``, on any store. ``Transaction`` claims them
by SQL functions in a PostgreSQL transaction of the caller's. ``semel.aio`` has both for asyncio.
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
from ._once import claim, once
from ._sql import Transaction

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
    "Transaction",
    "Unavailable",
    "claim",
    "once",
]
