"""Connections to PostgreSQL that are cut, before a statement or before its answer."""

import asyncio
import threading
import uuid

import psycopg
import psycopg2
import pytest

import semel
import semel.aio
from cutting import BEFORE, HANGS, LOST_ANSWER, Cutting

TIMES = 5


@pytest.fixture
def key():
    return uuid.uuid4().hex[:20]


@pytest.fixture
def proxy(mails_database):
    server = psycopg.conninfo.conninfo_to_dict(mails_database)
    one = Cutting(server["host"], int(server["port"]))
    one.url = psycopg.conninfo.make_conninfo(mails_database, port=one.port)
    yield one
    one.stop()


@pytest.fixture(params=[psycopg, psycopg2], ids=["psycopg", "psycopg2"])
def driver(request):
    return request.param


@pytest.fixture
def claims(driver, proxy):
    with semel.SqlClaims(lambda: driver.connect(proxy.url), consumer="mails", patience=60) as one:
        yield one


def handle(connection, name):
    """A delivery, up to its COMMIT."""
    with semel.claim(semel.Transaction(connection, "mails"), name, "payload") as held:
        if held.first:
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO effect VALUES (%s)", (name,))
    return held.outcome


def effects(url, name):
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT count(*) FROM effect WHERE name = %s", (name,)).fetchone()[0]


@pytest.mark.parametrize("how", [BEFORE, LOST_ANSWER])
def test_a_commit_whose_answer_is_lost_makes_each_effect_once(driver, proxy, mails_database, key, how):
    for i in range(TIMES):
        name = f"{key} {i}"
        connection = driver.connect(proxy.url)
        assert handle(connection, name) is semel.Outcome.NEW
        proxy.cut(b"COMMIT", how)
        with pytest.raises((driver.OperationalError, driver.InterfaceError)):
            connection.commit()
        connection.close()
        assert proxy.cuts == i + 1
        assert effects(mails_database, name) == (0 if how == BEFORE else 1)
        # It comes again, as whoever does not know must have it.
        again = driver.connect(proxy.url)
        expected = semel.Outcome.NEW if how == BEFORE else semel.Outcome.DUPLICATE
        assert handle(again, name) is expected
        again.commit()
        again.close()
        assert effects(mails_database, name) == 1


@pytest.mark.parametrize("how", [BEFORE, LOST_ANSWER])
def test_a_claim_whose_answer_is_lost_is_the_same_claim(claims, proxy, key, how):
    proxy.cut(b"semel.begin", how)
    held = claims.claim(key, "payload")
    assert held.first and held.attempt == 1 and not held.taken_over and proxy.cuts == 1
    assert claims.claim(key, "payload").outcome is semel.Outcome.BUSY
    held.done()
    assert claims.claim(key, "another").outcome is semel.Outcome.CONFLICT


ENDS = {
    "release": (lambda held: held.release(), semel.Outcome.NEW),
    "complete": (lambda held: held.done("r"), semel.Outcome.DUPLICATE),
    "dead": (lambda held: held.dead("never"), semel.Outcome.DEAD),
    "retry": (lambda held: held.retry(after=3600), semel.Outcome.RETRY),
}


@pytest.mark.parametrize("function", ENDS)
@pytest.mark.parametrize("how", [BEFORE, LOST_ANSWER])
def test_an_end_whose_answer_is_lost_is_taken(claims, proxy, key, function, how):
    end, outcome = ENDS[function]
    held = claims.claim(key, "payload")
    proxy.cut(f"semel.{function}".encode(), how)
    end(held)
    assert held.ended and proxy.cuts == 1
    met = claims.claim(key, "payload")
    assert met.outcome is outcome and met.result == (b"r" if function == "complete" else None)


@pytest.mark.parametrize("how", [BEFORE, LOST_ANSWER])
def test_a_retry_that_is_due_at_once_is_taken(claims, proxy, key, how):
    held = claims.claim(key)
    proxy.cut(b"semel.retry", how)
    held.retry()
    assert proxy.cuts == 1 and claims.claim(key).first


def test_what_a_lost_answer_asks_for_is_asked_with_the_payload_of_the_claim(claims, proxy, mails_database, key):
    held = claims.claim(key, "payload")
    proxy.cut(b"semel.release", LOST_ANSWER)
    begin, others = claims._begin, []

    def seen(*asked):
        met = begin(*asked)
        with semel.SqlClaims(lambda: psycopg.connect(mails_database), consumer="mails") as other:
            others.append(other.claim(key, "payload").outcome)
        return met

    claims._begin = seen
    held.release()
    assert proxy.cuts == 1 and others == [semel.Outcome.BUSY]


def test_a_lost_answer_does_not_hide_a_lost_lease(claims, proxy, mails_database, key):
    with semel.SqlClaims(lambda: psycopg.connect(mails_database), consumer="mails", lease=0.05) as brief:
        late = brief.claim(key)
        with semel.claim(claims, key, wait=60) as held:
            assert held.first and held.taken_over and held.token > late.token
            late._ending = claims
            proxy.cut(b"semel.complete", LOST_ANSWER)
            with pytest.raises(semel.LeaseLost):
                late.done("late")
            assert proxy.cuts == 1
            held.result = "in time"
    assert claims.claim(key).result == b"in time"


@pytest.mark.parametrize("function", ["complete", "dead", "retry"])
def test_an_end_of_another_holder_is_not_taken_for_an_own_one(claims, proxy, mails_database, key, function):
    end, outcome = ENDS[function]
    with semel.SqlClaims(lambda: psycopg.connect(mails_database), consumer="mails", lease=0.05) as brief:
        late = brief.claim(key)
        with semel.claim(claims, key, wait=60) as held:
            assert held.taken_over
            end(held)
        late._ending = claims
        proxy.cut(f"semel.{function}".encode(), LOST_ANSWER)
        with pytest.raises(semel.LeaseLost):
            end(late)
        assert proxy.cuts == 1 and late.ended
    assert claims.claim(key).outcome is outcome


def test_a_call_that_hangs_is_asked_again(driver, proxy, key):
    with semel.SqlClaims(lambda: driver.connect(proxy.url), consumer="mails", timeout=0.3) as claims:
        proxy.cut(b"semel.begin", HANGS)
        held = claims.claim(key)
        assert held.first and held.attempt == 1 and proxy.cuts == 1
        proxy.cut(b"semel.complete", HANGS)
        held.done("r")
        assert proxy.cuts == 2 and claims.claim(key).result == b"r"


def test_a_connection_that_hangs_holds_up_no_renewal(driver, proxy, key):
    with semel.SqlClaims(lambda: driver.connect(proxy.url), consumer="mails", lease=6.0) as claims:
        renew, renewed = claims.renew_claim, threading.Event()

        def seen(held, lease):
            renew(held, lease)
            renewed.set()

        claims.renew_claim = seen
        proxy.cut(b"semel.renew", HANGS)
        with semel.claim(claims, key) as held:
            assert renewed.wait(60), "the renewal goes on by another connection"
            assert proxy.cuts == 1 and not held.lost
        assert claims.claim(key).outcome is semel.Outcome.DUPLICATE


def test_a_server_that_takes_no_connection_holds_up_nobody(mails_database, key):
    free = threading.Event()

    def never():
        free.wait(60)
        return psycopg.connect(mails_database)

    with semel.SqlClaims(never, consumer="mails", timeout=0.1, patience=0) as claims:
        with pytest.raises(semel.Unavailable, match="no connection was made"):
            claims.claim(key)
    free.set()


def test_a_batch_whose_database_goes_away_is_given_back(driver, proxy, key):
    items = [(f"{key} {name}", "payload") for name in ("a", "b", "c", "d")]
    with semel.SqlClaims(lambda: driver.connect(proxy.url), consumer="mails", patience=0) as claims:
        held = claims.claim(*items[1])
        proxy.cut(items[2][0].encode(), BEFORE)
        with pytest.raises(semel.Unavailable):
            claims.claim_many(items)
        assert proxy.cuts == 1
        again = claims.claim_many(items)
    assert [one.outcome.value for one in again] == ["new", "busy", "new", "new"]
    assert {one.attempt for one in again} == {1} and held.first, "those that had it were not begun"


def test_a_batch_with_what_is_no_key_is_given_back(claims, key):
    with pytest.raises(TypeError, match="a key is text"):
        claims.claim_many([(key, None), (7, None)])
    assert claims.claim(key).first


def test_a_renewal_whose_answer_is_lost_is_made_again(claims, proxy, key):
    held = claims.claim(key)
    proxy.cut(b"semel.renew", LOST_ANSWER)
    held.renew(120)
    assert proxy.cuts == 1
    held.done()
    with pytest.raises(RuntimeError):
        held.renew(120)


def test_slow_work_keeps_its_key(mails_database, key):
    made = []

    def connect():
        made.append(psycopg.connect(mails_database))
        return made[-1]

    with semel.SqlClaims(connect, consumer="mails", lease=3.0) as slow:
        renew, times, renewed = slow.renew_claim, [], threading.Event()

        def counted(held, lease):
            renew(held, lease)
            times.append(lease)
            if len(times) == 4:
                renewed.set()

        slow.renew_claim = counted
        with semel.claim(slow, key):
            assert renewed.wait(60), "it is renewed beyond its first lease"
            assert slow.claim(key).outcome is semel.Outcome.BUSY
        assert slow.claim(key).outcome is semel.Outcome.DUPLICATE
    assert all(one.closed for one in made) and len(made) <= 2


def test_eight_threads_do_each_key_once(mails_database, key):
    done = []
    with semel.SqlClaims(lambda: psycopg.connect(mails_database), consumer="mails") as claims:
        @semel.once(claims, key=lambda i: f"{key} {i}", wait=60)
        def work(i):
            done.append(i)

        threads = [threading.Thread(target=lambda: [work(i) for i in range(10)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(done) == list(range(10))


def test_errors_have_their_codes(mails_database, key):
    def claims(**options):
        return semel.SqlClaims(lambda: psycopg.connect(mails_database), **{"consumer": "mails", **options})

    with claims(consumer="nobody") as one, pytest.raises(semel.Refused) as refused:
        one.claim(key)
    assert refused.value.code == "R272"
    with claims(lease=0) as one, pytest.raises(semel.Refused) as refused:
        one.claim(key)
    assert refused.value.code == "R271"
    with claims() as one, pytest.raises(semel.Refused):
        one.claim(key).done(b"x" * (1 << 21))
    with claims() as one:
        assert one.claim(key).outcome is semel.Outcome.DUPLICATE, "it is done without its result"
        with pytest.raises(semel.Refused, match="'never'"):
            one.end_claim(one.claim(key + "b"), "never", None, None, "")
    with pytest.raises(semel.Unavailable):
        semel.SqlClaims(lambda: psycopg.connect("host=127.0.0.1 port=1"), consumer="mails", patience=0).claim(key)


def test_asyncio(proxy, key):
    async def scenario():
        claims = semel.aio.SqlClaims(lambda: psycopg.connect(proxy.url), consumer="mails", patience=60)

        @semel.aio.once(claims, key="name", payload="name")
        async def work(name):
            return {"sent": name}

        for function in (b"semel.begin", b"semel.complete"):
            proxy.cut(function, LOST_ANSWER)
            assert await work(key) == {"sent": key}
        assert proxy.cuts == 1, "a duplicate is completed by nobody"
        assert (await claims.claim(key, key)).outcome is semel.Outcome.DUPLICATE
        batch = await claims.claim_many([(f"{key} {i}", None) for i in range(3)])
        assert await claims.finish_many([semel.End(one) for one in batch]) == [True] * 3
        claims.close()

    asyncio.run(scenario())
