"""Claims by HTTP of a real run, by SQL with a lease, and in memory: the same rules."""

import threading
import uuid

import psycopg
import psycopg2
import pytest

import semel
from semel.testing import MemoryClaims


@pytest.fixture(params=["http", "memory", "psycopg", "psycopg2"])
def claims(request):
    if request.param == "http":
        yield request.getfixturevalue("run").claims()
    elif request.param == "memory":
        yield MemoryClaims()
    else:
        url = request.getfixturevalue("mails_database")
        driver = {"psycopg": psycopg, "psycopg2": psycopg2}[request.param]
        with semel.SqlClaims(lambda: driver.connect(url), consumer="mails") as one:
            yield KeysOfOneTest(one)


class KeysOfOneTest:
    """Claims whose keys are no other test's: all of them share a database."""

    def __init__(self, claims):
        self._claims, self._prefix = claims, uuid.uuid4().hex[:12]

    def __getattr__(self, name):
        return getattr(self._claims, name)

    def _own(self, key):
        return f"{self._prefix} {key}" if key else key

    def claim(self, key, payload=None):
        return self._claims.claim(self._own(key), payload)

    def claim_many(self, items):
        return self._claims.claim_many([(self._own(key), payload) for key, payload in items])


def test_a_key_is_claimed_and_done_once(claims):
    first = claims.claim("a", "payload")
    assert first.outcome is semel.Outcome.NEW and first.first and first.attempt == 1
    assert first.lease == 60.0 and not first.taken_over
    assert claims.claim("a", "payload").outcome is semel.Outcome.BUSY
    first.done("sent as 77")
    again = claims.claim("a", "payload")
    assert again.outcome is semel.Outcome.DUPLICATE and again.result == b"sent as 77"
    assert again.settled and not again.first
    assert claims.claim("a", "another").outcome is semel.Outcome.CONFLICT
    with pytest.raises(semel.Conflict):
        claims.claim("a", "another").raise_for_outcome()
    with pytest.raises(RuntimeError):
        first.done()


def test_a_result_is_bytes(claims):
    claims.claim("a").done(b"\xff\x00")
    assert claims.claim("a").result == b"\xff\x00"


def test_each_end_is_as_it_says(claims):
    claims.claim("a").release()
    assert claims.claim("a").attempt == 1, "it was not begun"
    claims.claim("b").retry(after=3600, error="the bank is away")
    waits = claims.claim("b")
    assert waits.outcome in (semel.Outcome.BUSY, semel.Outcome.RETRY) and 0 < waits.retry_after <= 3600
    claims.claim("c").retry()
    assert claims.claim("c").attempt == 2
    claims.claim("d").dead("never")
    assert claims.claim("d").outcome is semel.Outcome.DEAD
    assert claims.claim("").outcome is semel.Outcome.INVALID


def test_a_late_holder_changes_nothing(claims):
    late = claims.claim("a")
    claims.finish_many([semel.End(late, "release")])
    late.ended = False
    held = claims.claim("a")
    with pytest.raises(semel.LeaseLost):
        late.renew(60)
    with pytest.raises(semel.LeaseLost):
        late.retry()
    assert late.ended
    held.renew(120)
    held.done()


def test_a_batch(claims):
    items = [(f"k{i}", b"payload") for i in range(100)]
    batch = claims.claim_many(items)
    assert all(one.first for one in batch)
    assert claims.finish_many(semel.End(one, result=b"r") for one in batch) == [True] * 100
    assert all(one.result == b"r" for one in claims.claim_many(items))


def test_with_ends_a_claim(claims):
    with semel.claim(claims, "a", "p") as held:
        assert held.first
        held.result = "r"
    with semel.claim(claims, "a", "p") as held:
        assert held.outcome is semel.Outcome.DUPLICATE and held.result == b"r"
    with pytest.raises(ZeroDivisionError):
        with semel.claim(claims, "b", "p"):
            1 / 0
    with semel.claim(claims, "b", "p") as held:
        assert held.first and held.attempt == 2
        held.dead("never")
    assert claims.claim("b", "p").outcome is semel.Outcome.DEAD


def test_once_answers_a_duplicate_with_what_the_work_returned(claims):
    made = []

    @semel.once(claims, key="order", payload=lambda order, amount=0: str(amount))
    def charge(order, amount=0):
        made.append(order)
        return {"receipt": amount}

    assert charge("o-1", amount=5) == {"receipt": 5}
    assert charge("o-1", amount=5) == {"receipt": 5}
    assert made == ["o-1"]
    with pytest.raises(semel.Conflict):
        charge("o-1", amount=6)
    assert charge.__name__ == "charge"


def test_what_cannot_be_kept_is_done_all_the_same(claims):
    made = []

    @semel.once(claims, key=lambda: "a")
    def work():
        made.append(1)
        return object()

    with pytest.raises(TypeError):
        work()
    assert work() is None
    assert made == [1]


def test_a_lost_answer_asked_again_is_the_same(run, monkeypatch):
    claims = run.claims()
    real = claims._opener.open
    lost = []

    def loses_first(request, timeout):
        answer = real(request, timeout=timeout)
        if lost.count(request.full_url) == 0:
            lost.append(request.full_url)
            answer.read()
            raise ConnectionResetError("the answer was lost")
        return answer

    monkeypatch.setattr(claims._opener, "open", loses_first)
    held = claims.claim("a")
    assert held.first, "the first answer was lost, and the second is the same"
    held.done("r")
    assert len(lost) == 2
    assert claims.claim("a").result == b"r"


def test_a_client_that_died_is_taken_over(run):
    dead = run.claims(lease=0.3).claim("a")
    assert dead.first
    with semel.claim(run.claims(), "a", wait=60) as held:
        assert held.first and held.taken_over and held.attempt == 2
        assert held.token > dead.token
    with pytest.raises(semel.LeaseLost):
        dead.done()


def test_slow_work_keeps_its_key(run):
    slow = run.claims(lease=3.0)
    renew, times, renewed = slow.renew_claim, [], threading.Event()

    def counted(held, lease):
        renew(held, lease)
        times.append(lease)
        if len(times) == 4:
            renewed.set()

    slow.renew_claim = counted
    with semel.claim(slow, "a"):
        assert renewed.wait(60), "it is renewed beyond its first lease"
        assert run.claims().claim("a").outcome is semel.Outcome.BUSY
    assert run.claims().claim("a").outcome is semel.Outcome.DUPLICATE


def test_a_run_that_is_killed_loses_no_key(run):
    claims = run.claims()
    held = claims.claim("a")
    run.kill()
    run.start()
    held.done("r")
    assert claims.claim("a").result == b"r"


def test_calls_wait_for_a_run_that_is_away(run):
    claims = run.claims()
    run.kill()
    again = threading.Timer(0.2, run.start)
    again.start()
    assert claims.claim("a").first
    again.join()
    with pytest.raises(semel.Unavailable):
        semel.HttpClaims("http://127.0.0.1:1", token="x" * 20, consumer="mails", patience=0).claim("a")


def test_what_is_wrong_is_said_with_its_code(run):
    nobody = semel.HttpClaims(run.url, token="nobody's secret here", consumer="mails")
    with pytest.raises(semel.Refused) as refused:
        nobody.claim("a")
    assert refused.value.code == "R341" and "admin.auth.tokens" in refused.value.fix
    other = semel.HttpClaims(run.url, token="the secret of workers", consumer="payments")
    with pytest.raises(semel.Refused) as refused:
        other.claim("a")
    assert refused.value.code == "R342"
    with pytest.raises(semel.Refused) as refused:
        run.claims().claim_many([(f"k{i}", None) for i in range(251)])
    assert refused.value.code == "R344"


def test_eight_threads_at_the_same_keys_do_each_once(run):
    claims = run.claims()
    made = []

    @semel.once(claims, key="key", wait=60)
    def work(key):
        made.append(key)

    def all_of_them():
        for i in range(10):
            work(f"k{i}")

    threads = [threading.Thread(target=all_of_them) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted(f"k{i}" for i in range(10))


def test_a_lease_in_memory_ends_with_the_tests_time():
    claims = MemoryClaims(lease=10)
    late = claims.claim("a")
    claims.advance(10)
    assert claims.claim("a").taken_over
    with pytest.raises(semel.LeaseLost):
        late.done()
