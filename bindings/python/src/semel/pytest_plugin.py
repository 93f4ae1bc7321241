"""Fixtures for pytest: ``semel_claims``, ``deliver_twice`` and ``deliver_after_death``."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from . import testing


@pytest.fixture
def semel_claims() -> testing.MemoryClaims:
    """Claims in memory, of a consumer that nobody has used."""
    return testing.MemoryClaims()


@pytest.fixture
def deliver_twice() -> Callable[..., Any]:
    """``deliver_twice(handler, message)``: what the handler returned, both times."""
    return testing.deliver_twice


@pytest.fixture
def deliver_after_death(semel_claims: testing.MemoryClaims) -> Callable[..., Any]:
    """``deliver_after_death(handler, message)``: to a process that dies before its record, then again."""

    def deliver(handler: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return testing.deliver_after_death(semel_claims, handler, *args, **kwargs)

    return deliver
