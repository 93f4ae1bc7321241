"""The plugin's fixtures find a consumer that doubles."""

import pytest

import semel
from semel.testing import MemoryClaims, deliver_after_death


def test_a_guarded_handler_does_its_work_once(semel_claims, deliver_twice):
    sent = []

    @semel.once(semel_claims, key=lambda order: order["id"])
    def handle(order):
        sent.append(order["id"])
        return len(sent)

    assert deliver_twice(handle, {"id": "o-1"}) == (1, 1)
    assert sent == ["o-1"]
    assert semel_claims.state_of("o-1") == "completed"


def test_a_handler_without_a_guard_is_found_out(deliver_twice):
    sent = []
    deliver_twice(sent.append, "o-1")
    assert sent == ["o-1", "o-1"]


def test_an_effect_outside_may_happen_twice(semel_claims, deliver_after_death):
    sent, seen = [], set()

    @semel.once(semel_claims, key="order")
    def handle(order):
        sent.append(order)
        seen.add(order)

    deliver_after_death(handle, "o-1")
    assert sent == ["o-1", "o-1"], "it died between its effect and its record"
    assert seen == {"o-1"}, "a receiver that honours the key has it once"
    deliver_after_death(handle, "o-2")
    assert semel_claims.state_of("o-2") == "completed"


def test_a_handler_that_ends_no_claim_is_said_so():
    with pytest.raises(AssertionError, match="ended no claim"):
        deliver_after_death(MemoryClaims(), lambda: None)
