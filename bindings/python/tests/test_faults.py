"""What a network, a proxy and a run that is killed may answer."""

import asyncio
import threading

import pytest

import semel
import semel.aio
from scripted import DONE, RENEWED, new, told
from semel import _http
from semel._claim import lease_clock

FAULTS = {
    "cut in the middle": told(DONE, length=5000),
    "no status": b"never\r\n\r\n",
    "nothing": b"",
    "an error cut in the middle": told({"code": "R349"}, 503, 5000),
    "a proxy's page": told(b"<html>"),
    "a list": told([]),
    "no claims": told({}),
    "too few": told({"claims": []}),
    "a request that came too slowly": told(b"the request is too slow", 408),
    "another error": told(["away"], 502),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_asked_again(server, fault):
    for script in server.scripts.values():
        script.insert(0, fault)
    held = server.claims().claim("a")
    held.renew(1)
    held.done()
    assert held.ended and [len(asked) for asked in server.asked.values()] == [2, 2, 2]


def test_a_lease_counts_from_the_first_question(server, monkeypatch):
    asked_again = []
    monkeypatch.setattr(_http.time, "sleep", lambda seconds: asked_again.append(lease_clock()))
    for kind in ("claims", "renew"):
        server.scripts[kind].insert(0, FAULTS["nothing"])
    held = server.claims().claim("a")
    assert held.good_until <= asked_again[0] + held.lease, "the run may have given it then"
    held.renew(5)
    assert asked_again[0] + 5 <= held.good_until <= asked_again[1] + 5
    held.done()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_that_stays_is_said(server, fault):
    server.scripts["claims"] = [fault]
    with pytest.raises(semel.Unavailable):
        server.claims(patience=0).claim("a")


def test_a_refusal_whose_body_is_lost_is_one(server):
    server.scripts["claims"] = [told({"code": "R341"}, 401, 5000)]
    with pytest.raises(semel.Refused, match="401"):
        server.claims().claim("a")


# The last one is refused: it may be a token that is renewed soon. Each is followed by an answer, in time for the lease.
RENEWAL_FAULTS = [FAULTS["cut in the middle"], FAULTS["no status"], FAULTS["no claims"], told({}, 401)]
RENEWAL = [answer for fault in RENEWAL_FAULTS for answer in (fault, told(RENEWED))]


def test_no_fault_ends_the_renewal(server):
    server.scripts.update(claims=[told(new(lease_ms=4500))], renew=list(RENEWAL))
    with semel.claim(server.claims(patience=0), "a") as held:
        assert server.wait_for("renew", len(RENEWAL))
    assert held.ended


def test_aio_no_fault_ends_the_renewal(server):
    server.scripts.update(claims=[told(new(lease_ms=4500))], renew=list(RENEWAL))

    async def scenario():
        async with semel.aio.claim(server.claims(semel.aio.HttpClaims, patience=0), "a") as held:
            assert await asyncio.to_thread(server.wait_for, "renew", len(RENEWAL))
        assert held.ended

    asyncio.run(scenario())


def test_the_error_of_a_block_passes_though_its_end_is_refused(server):
    server.scripts["finish"] = [told({"code": "R344"}, 400)]

    async def scenario():
        async with semel.aio.claim(server.claims(semel.aio.HttpClaims), "a"):
            1 / 0

    with pytest.raises(ZeroDivisionError):
        with semel.claim(server.claims(), "a"):
            1 / 0
    with pytest.raises(ZeroDivisionError):
        asyncio.run(scenario())
    assert len(server.asked["finish"]) == 2


# The effect exists, and its record may: that it failed would be untrue, and would have it made again at once.
def test_a_block_that_said_done_gives_nothing_back(server):
    server.scripts["finish"] = [told({}, 503)]
    with pytest.raises(semel.Unavailable):
        with semel.claim(server.claims(patience=0), "a") as held:
            held.done("r")

    @semel.once(server.claims(patience=0), key="key")
    def work(key):
        return object()  # no JSON: it is done without a result

    with pytest.raises(semel.Unavailable):
        work("a")

    async def scenario():
        async with semel.aio.claim(server.claims(semel.aio.HttpClaims, patience=0), "a") as held:
            await held.done("r")

    with pytest.raises(semel.Unavailable):
        asyncio.run(scenario())
    assert [asked["claims"][0]["as"] for asked in server.asked["finish"]] == ["done"] * 3


def test_a_block_that_said_done_by_a_batch_gives_nothing_back(server):
    server.scripts["finish"] = [told({}, 503)]
    claims = server.claims(patience=0)
    with pytest.raises(semel.Unavailable):
        with semel.claim(claims, "a") as held:
            claims.finish_many([semel.End(held, result="r")])

    async def scenario():
        claims = server.claims(semel.aio.HttpClaims, patience=0)
        async with semel.aio.claim(claims, "a") as held:
            await claims.finish_many([semel.End(held, result="r")])

    with pytest.raises(semel.Unavailable):
        asyncio.run(scenario())
    assert [asked["claims"][0]["as"] for asked in server.asked["finish"]] == ["done"] * 2


def test_a_renewal_that_meets_a_batch_loses_no_lease(server):
    claims, met = server.claims(), []
    with semel.claim(claims, "a") as held:
        server.before["finish"] = lambda: met.append(held._being_ended)
        assert claims.finish_many([semel.End(held)]) == [True]
    assert held.ended and met == [True]


# A run leaves a result out where those before it in the batch have filled the answer.
LEFT_OUT = {"key": "b", "outcome": "duplicate", "result_bytes": 5}
HALF_ANSWERED = {"claims": [*new()["claims"], LEFT_OUT]}


def test_a_result_that_an_answer_leaves_out_is_asked_for_alone(server):
    server.scripts["claims"] = [told(HALF_ANSWERED), told({"claims": [
        {"key": "b", "outcome": "duplicate", "result": "whole"}]})]
    first, second = server.claims(lease=7.0).claim_many([("a", "p"), ("b", "p")])
    assert first.first and (second.outcome, second.result) == (semel.Outcome.DUPLICATE, b"whole")
    together, alone = server.asked["claims"]
    assert alone["claims"] == together["claims"][1:] and alone["lease"] == together["lease"]
    assert alone["request"] != together["request"]


@pytest.mark.parametrize("alone, error", [(told({"claims": [LEFT_OUT]}), semel.Refused), (told({}, 503), semel.Unavailable)],
                         ids=["too large", "no answer"])
def test_a_batch_whose_result_cannot_be_had_is_given_back(server, alone, error):
    server.scripts["claims"] = [told(HALF_ANSWERED), alone]
    with pytest.raises(error):
        server.claims(patience=0).claim_many([("a", None), ("b", None)])
    assert [(one["key"], one["as"]) for asked in server.asked["finish"] for one in asked["claims"]] == [("a", "release")]


def test_a_batch_that_is_refused_may_be_given_back(server):
    server.scripts["finish"] = [told({"code": "R344"}, 400), told(DONE)]
    claims = server.claims()
    with pytest.raises(semel.Refused):
        with semel.claim(claims, "a") as held:
            claims.finish_many([semel.End(held, "dead")])
    assert [asked["claims"][0]["as"] for asked in server.asked["finish"]] == ["dead", "retry"]


def test_aio_a_block_whose_done_takes_too_long_gives_nothing_back(server):
    answers = threading.Event()
    server.before["finish"] = lambda: answers.wait(60)

    async def scenario():
        with pytest.raises(asyncio.TimeoutError):
            async with semel.aio.claim(server.claims(semel.aio.HttpClaims), "a") as held:
                done = asyncio.ensure_future(held.done("r"))
                assert await asyncio.to_thread(server.wait_for, "finish", 1)
                await asyncio.wait_for(done, 0.01)
        answers.set()

    asyncio.run(scenario())
    assert [asked["claims"][0]["as"] for asked in server.asked["finish"]] == ["done"]


def test_a_block_whose_end_was_refused_is_given_back(server):
    server.scripts["finish"] = [told({"code": "R344"}, 400), told(DONE)]
    with pytest.raises(semel.Refused):
        with semel.claim(server.claims(), "a") as held:
            held.dead("never")
    assert [asked["claims"][0]["as"] for asked in server.asked["finish"]] == ["dead", "retry"]


def test_any_error_of_a_block_is_kept(run):
    claims = run.claims()
    with pytest.raises(ValueError):
        with semel.claim(claims, "a"):
            raise ValueError(b"caf\xe9".decode(errors="surrogateescape"))
    assert claims.claim("a").attempt == 2, "it was given back"
