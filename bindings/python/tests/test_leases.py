"""SqlClaims without a server: connections that hang, threads, forks, and what is known of a lease."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
import time

import pytest

import semel
import semel.aio
from semel import _once
from semel._claim import lease_clock

# A new claim, of begin; the first column is the answer of all else.
NEW = ("new", 1, 1, False, None, None, None)
ANSWERS = {"begin": NEW, "renew": ("renewed",), "complete": ("done",), "retry": ("retry",)}


class OperationalError(Exception):
    """As of a driver."""


class InternalError(Exception):
    """As of a driver, for class XX."""


class Connection:
    """Of a driver, to a server that answers at once but for the functions in ``hangs``."""

    def __init__(self, hangs=()):
        self.hangs = hangs
        self.ours, self.servers = socket.socketpair()
        self.closed = False
        self.asked = []

    def fileno(self):
        return self.ours.fileno()

    def cursor(self):
        return Cursor(self)

    def close(self):
        """Says goodbye, as drivers do."""
        self.closed = True
        with contextlib.suppress(OSError):
            os.write(self.ours.fileno(), b"X")
        self.ours.close()


class Cursor:
    def __init__(self, connection):
        self.connection = connection

    def execute(self, sql, parameters):
        self.function = sql.split("semel.")[1].split("(")[0]
        self.connection.asked.append(self.function)
        if self.function in self.connection.hangs:
            self.connection.ours.recv(1)  # until the call is cut
            raise OperationalError("the connection was ended")

    def fetchone(self):
        return ANSWERS[self.function]

    def close(self):
        pass


class Driver:
    """``slow``: the seconds for each connection but the first."""

    def __init__(self, slow=0.0, hangs=()):
        self.slow, self.hangs, self.made = slow, hangs, []

    def connect(self):
        if self.made:
            time.sleep(self.slow)
        self.made.append(Connection(self.hangs))
        return self.made[-1]

    def asked(self):
        return [function for one in self.made for function in one.asked]


# Its third is a second. A test may be late by so much as no lease is.
LEASE, LATE = 3.0, 1.0


@pytest.mark.parametrize("slow", [0.0, 0.8, 60.0])
def test_a_lease_is_told_lost_at_its_end_though_its_renewal_hangs(slow):
    driver = Driver(slow, hangs=("renew",))
    with semel.SqlClaims(driver.connect, consumer="mails", lease=LEASE) as claims:
        with contextlib.suppress(semel.LeaseLost), semel.claim(claims, "a") as held:
            end = held.good_until
            while not held.lost:
                assert lease_clock() < end + LATE
                time.sleep(0.01)
            assert lease_clock() >= end
            driver.slow, driver.hangs = 0.0, ()
    if slow < 1:
        assert len(driver.made) >= 2, "it was asked again before"


@pytest.mark.parametrize("slow", [0.0, 0.8, 60.0])
def test_aio_a_block_is_cancelled_at_the_end_of_its_lease_though_its_renewal_hangs(slow):
    async def scenario():
        claims = semel.aio.SqlClaims(Driver(slow, hangs=("renew",)).connect, consumer="mails", lease=LEASE)
        with pytest.raises(semel.LeaseLost):
            async with semel.aio.claim(claims, "a") as held:
                end = held.good_until
                await asyncio.wait_for(asyncio.Event().wait(), 60)
        assert end <= lease_clock() < end + LATE
        claims.close()

    asyncio.run(scenario())


class LosingCursor:
    """A pooler's, which lost its server: it ends the connection with an error of its own."""

    def __init__(self, connection):
        self.connection = connection

    def execute(self, sql, parameters):
        self.connection.closed = self.connection.ends
        raise InternalError("the server was lost")


@pytest.mark.parametrize("ends", [True, False])
def test_a_call_whose_connection_was_ended_is_asked_again_whatever_the_error(ends):
    driver = Driver()
    first = driver.connect()
    first.ends, first.cursor = ends, lambda: LosingCursor(first)
    connections = [first]
    with semel.SqlClaims(lambda: connections.pop() if connections else driver.connect(), consumer="mails") as claims:
        if ends:
            assert claims.claim("a").first and len(driver.made) == 2
        else:
            with pytest.raises(InternalError):
                claims.claim("a")


def renew_without_threads(asked):
    asked.append(lease_clock())
    raise RuntimeError("can't start new thread")


def test_a_runtime_error_of_a_renewal_does_not_end_the_renewals(monkeypatch):
    asked = []
    with semel.SqlClaims(Driver().connect, consumer="mails", lease=LEASE) as claims:
        with contextlib.suppress(semel.LeaseLost), semel.claim(claims, "a") as held:
            monkeypatch.setattr(held, "renew", lambda lease: renew_without_threads(asked))
            end = held.good_until
            while not held.lost:
                assert lease_clock() < end + LATE
                time.sleep(0.01)
            assert lease_clock() >= end
    assert len(asked) >= 2, "it was asked again"


def test_aio_a_runtime_error_of_a_renewal_does_not_end_the_renewals(monkeypatch):
    asked = []

    async def renew(lease):
        renew_without_threads(asked)

    async def scenario():
        claims = semel.aio.SqlClaims(Driver().connect, consumer="mails", lease=LEASE)
        with pytest.raises(semel.LeaseLost):
            async with semel.aio.claim(claims, "a") as held:
                monkeypatch.setattr(held, "renew", renew)
                end = held.good_until
                await asyncio.wait_for(asyncio.Event().wait(), 5)
        assert end <= lease_clock() < end + LATE
        claims.close()

    asyncio.run(scenario())
    assert len(asked) >= 2, "it was asked again"


def test_a_block_that_said_done_by_a_batch_gives_nothing_back():
    driver = Driver(hangs=("complete",))
    with semel.SqlClaims(driver.connect, consumer="mails", patience=0, timeout=0.3) as claims:
        first, second = claims.claim("a"), claims.claim("b")
        with pytest.raises(semel.Unavailable):
            with semel.claim(claims, "c") as held:
                claims.finish_many([semel.End(one) for one in (first, second, held)])
    assert driver.asked() == ["begin"] * 3 + ["complete"], "none is given back"


def test_claims_that_are_closed_leave_no_threads():
    for _ in range(50):
        with semel.SqlClaims(Driver().connect, consumer="mails") as claims:
            with semel.claim(claims, "a") as held:
                assert held.first
    assert sum(one.name == "semel deadlines" for one in threading.enumerate()) == 1


def test_a_connection_that_comes_after_an_interrupt_is_closed():
    interrupted, made = threading.Event(), []

    def connect():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        assert interrupted.wait(60)
        made.append(Connection())
        return made[0]

    with semel.SqlClaims(connect, consumer="mails", timeout=60) as claims, pytest.raises(KeyboardInterrupt):
        claims.claim("a")
    interrupted.set()
    last = time.monotonic() + 60
    while not (made and made[0].closed):
        assert time.monotonic() < last, "nobody has closed it"
        time.sleep(0.01)


def exit_of_child(work):
    """That of a child which does the work."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            sys.stderr.flush()
            os._exit(code)
    last = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > last:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    return os.waitstatus_to_exitcode(ended[1])


def test_a_child_makes_connections_of_its_own():
    driver = Driver()
    claims = semel.SqlClaims(driver.connect, consumer="mails")
    claims.claim("a")
    inherited = driver.made[0]

    def child():
        claims.claim("b")
        claims.claim("c")
        claims.close()
        inherited.close()
        return len(driver.made) == 2

    assert exit_of_child(child) == 0 and exit_of_child(child) == 0
    claims.claim("d")
    assert len(driver.made) == 1
    inherited.servers.setblocking(False)
    with pytest.raises(BlockingIOError):
        inherited.servers.recv(1)  # no child has said a word on it
    claims.close()


def test_a_child_of_a_process_in_the_middle_of_a_call_goes_on():
    driver = Driver(hangs=("renew",))
    claims = semel.SqlClaims(driver.connect, consumer="mails", lease=6.0)
    held = claims.claim("a")
    renewal = threading.Thread(target=lambda: pytest.raises(semel.Unavailable, held.renew), daemon=True)
    last = time.monotonic() + 60
    renewal.start()
    while claims._free:
        assert time.monotonic() < last
        time.sleep(0.01)
    with claims._lock, semel._deadlines.DEADLINES._changed:  # as other threads may have them
        def child():
            driver.hangs = ()
            return claims.claim("b").first and len(driver.made) == 2 and claims.close() is None

        assert exit_of_child(child) == 0
    driver.made[0].servers.close()
    renewal.join(60)
    claims.close()


def test_a_child_has_threads_of_its_own_for_asyncio():
    claims = semel.aio.SqlClaims(Driver().connect, consumer="mails")

    async def scenario(key):
        return (await claims.claim(key)).first

    assert asyncio.run(scenario("a"))
    assert exit_of_child(lambda: asyncio.run(asyncio.wait_for(scenario("b"), 60))) == 0
    claims.close()


def test_a_shorter_lease_counts_though_its_answer_was_lost():
    with semel.SqlClaims(Driver(hangs=("renew",)).connect, consumer="mails", lease=60.0) as claims:
        held = claims.claim("a")
        with pytest.raises(semel.Unavailable):
            held.renew(0.3)
        assert held.good_until <= lease_clock() + 0.3


def test_a_lease_counts_from_the_question_and_while_the_machine_sleeps(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(_once, "lease_clock", lambda: now[0])
    held = semel.SqlClaims(Driver().connect, consumer="mails", lease=12.0).claim("a")
    held.good_until = 1003.0  # its answer came after nine seconds
    schedule = _once.Schedule(held, 12.0, None)
    assert schedule.pause() == 1.5
    now[0] += 3.0
    assert schedule.over() and schedule.pause() == 4.0
    schedule.renewed(now[0])
    assert not schedule.over() and schedule.pause() == 4.0
    now[0] += 3600.0
    assert schedule.over()
    assert _once.Schedule(held, 12.0, None).pause() == 0.0, "it is asked at once where it is over"


def test_a_claim_that_was_asked_again_has_the_whole_lease_again():
    driver = Driver()
    claims = semel.SqlClaims(driver.connect, consumer="mails", lease=60.0, timeout=0.3)
    driver.hangs = ("begin",)
    threading.Timer(0.2, setattr, (driver, "hangs", ())).start()
    begun = lease_clock()
    assert claims.claim("a").good_until >= begun + 60.0 + 0.3 and len(driver.made) == 2
    claims.close()
