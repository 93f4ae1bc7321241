"""Delivers payments to a consumer in any language, kills it again and again, and counts what it made.

It is the broker of an example: a message comes once or more often, in any order; what was not
acknowledged when a consumer died comes again.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import random
import selectors
import signal
import subprocess
import sys
import tempfile

import psycopg

import stops
from languages import LANGUAGES
from servers import HERE, PATIENCE, Database, pooler, postgres

MESSAGES = 120
ACCOUNTS = 5
COPIES = 4  # at most
CHANGED = 3  # messages that come once more with another amount
PREFETCH = 8  # unacknowledged at one consumer
RESERVE = 40  # messages that no kill waits for


class Consumer:
    """A process of the example; it is sent lines, and acknowledges or leaves each by a line with its outcome."""

    def __init__(self, words, url, name, errors):
        self.sent = collections.deque()
        environment = {**os.environ, "DATABASE_URL": url.format(name=name), "PGAPPNAME": name}
        self.process = subprocess.Popen(words, cwd=HERE, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        self._read = b""

    def send(self, line):
        self.sent.append(line)
        # Where it has died: what was sent comes again.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()

    def told(self):
        """(line, what it did with it, outcome) of each that was said since the last call; None: it has ended."""
        piece = os.read(self.process.stdout.fileno(), 65536)
        *said, self._read = (self._read + piece).split(b"\n")
        return [self._match(one.decode()) for one in said] if piece else None

    def _match(self, said):
        done, key, outcome = said.split()
        line = self.sent.popleft()
        if key_of(line) != key:
            raise SystemExit(f"{key} was answered out of turn: {line} was sent")
        return line, done, outcome

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.wait(PATIENCE) != -signal.SIGKILL:
            raise SystemExit("a consumer ended before it was killed")


def key_of(line):
    return line.split(" ", 1)[0]


class Broker:
    """The messages, those that run, and what was said of them."""

    def __init__(self, words, url, consumers, chance, errors):
        self._words, self._url, self._number, self._errors = words, url, consumers, errors
        self._chance = chance
        self._consumers = []
        self._started = 0
        self._selector = selectors.DefaultSelector()
        self.messages = [f"p-{i} {i % ACCOUNTS} {chance.randint(1, 1000)}" for i in range(MESSAGES)]
        self.waiting = [line for line in self.messages for _ in range(chance.randint(1, COPIES))]
        chance.shuffle(self.waiting)
        self.settled = set()
        self.answers = collections.Counter()
        self.acknowledged = 0  # since the last start
        self.deliveries = self.again = 0

    def start(self):
        self.acknowledged = 0
        for _ in range(self._number):
            self._started += 1
            consumer = Consumer(self._words, self._url, f"consumer-{self._started}", self._errors)
            self._consumers.append(consumer)
            self._selector.register(consumer.process.stdout, selectors.EVENT_READ, consumer)

    def deliver_until(self, reached):
        while not reached():
            if self.is_empty():
                raise SystemExit("all is delivered, and the consumer was not killed often enough")
            self.step()

    def deliver_all(self):
        while not self.is_empty():
            self.step()

    def is_empty(self):
        return not self.waiting and not any(one.sent for one in self._consumers)

    def step(self):
        for consumer in self._consumers:
            while self.waiting and len(consumer.sent) < PREFETCH:
                consumer.send(self.waiting.pop(0))
                self.deliveries += 1
        for ready, _ in self._selector.select(0.01):
            self._take(ready.data)

    def _take(self, consumer):
        told = consumer.told()
        if told is None:
            raise SystemExit(f"a consumer ended with {consumer.process.wait(PATIENCE)}")
        self._settle(told)

    def _settle(self, told):
        for line, done, outcome in told:
            self.answers[outcome] += 1
            self.acknowledged += 1
            ended = outcome in ("new", "duplicate", "dead")
            if done != ("acknowledge" if ended else "leave"):
                raise SystemExit(f"{line}: a consumer that is answered {outcome} must not {done} it")
            if ended:
                self.settled.add(key_of(line))
            elif outcome in ("busy", "retry", "parked"):
                self._put_back(line)
            elif outcome != "conflict":  # which is put aside
                raise SystemExit(f"{line}: an outcome that is not known: {outcome}")

    def _put_back(self, line):
        self.waiting.insert(self._chance.randint(0, len(self.waiting)), line)

    def kill(self):
        """Kills them all. How many deliveries come again."""
        come_again = 0
        for consumer in self._consumers:
            self._selector.unregister(consumer.process.stdout)
            consumer.kill()
            # Said before its death, and not yet read.
            while (told := consumer.told()) is not None:
                self._settle(told)
            for line in consumer.sent:
                self._put_back(line)
            come_again += len(consumer.sent)
            consumer.process.stdin.close()
            consumer.process.stdout.close()
        self._consumers = []
        self.again += come_again
        return come_again

    def close(self):
        """The list ends, and so do the consumers."""
        for consumer in self._consumers:
            self._selector.unregister(consumer.process.stdout)
            consumer.process.stdin.close()
            if code := consumer.process.wait(PATIENCE):
                raise SystemExit(f"a consumer ended with {code} at the end of its list")
            consumer.process.stdout.close()
        self._consumers = []

    def abandon(self):
        for consumer in self._consumers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(consumer.process.pid, signal.SIGKILL)
            consumer.process.wait(PATIENCE)


def show_rights(database):
    """The role may call semel.claim, and neither read nor change a table of Semel's."""
    sees = database.ask("""SELECT relname FROM pg_class WHERE relnamespace = 'semel'::regnamespace
                           AND relkind IN ('r', 'p', 'S', 'v') AND CASE WHEN relkind = 'S'
                             THEN has_sequence_privilege(%s, oid, 'USAGE, SELECT, UPDATE')
                             ELSE has_any_column_privilege(%s, oid, 'SELECT, INSERT, UPDATE, REFERENCES')
                               OR has_table_privilege(%s, oid, 'DELETE, TRUNCATE') END""",
                        *[database.worker] * 3)
    if sees:
        raise SystemExit(f"the worker has rights on {sees}")
    with psycopg.connect(database.worker_url(), autocommit=True) as worker:
        try:
            worker.execute("SELECT * FROM semel.semel_record")
        except psycopg.errors.InsufficientPrivilege as error:
            print(f"worker: SELECT * FROM semel.semel_record: {str(error).splitlines()[0]}")
            return
    raise SystemExit("the worker may read the records")


def kill_often(broker, database, kills, with_claims, chance):
    points = [one for one in stops.POINTS if with_claims or one is not stops.InTheClaim]
    order = [points[i % len(points)] for i in range(kills)]
    chance.shuffle(order)
    when = sorted(chance.randint(1, MESSAGES - RESERVE) for _ in range(kills))
    for number, (point, settled) in enumerate(zip(order, when), 1):
        broker.start()
        broker.deliver_until(lambda: len(broker.settled) >= settled)
        with point(database, broker, chance) as stop:
            broker.deliver_until(stop.reached)
            before = len(broker.settled)
            come_again = broker.kill()
            told = stop.after_death()
        print(f"kill {number:2} {point.NAME}, {before} of {MESSAGES} settled: {told}; "
              f"{come_again} deliveries come again", flush=True)


def changed(messages, chance):
    """Keys that were used, with another payload."""
    for line in chance.sample(messages, CHANGED):
        key, account, amount = line.split()
        yield f"{key} {account} {int(amount) + 1}"


def count(broker, database):
    """(lost, twice) of the payments."""
    made = dict(database.ask("SELECT id, count(*) FROM payment GROUP BY id"))
    lost = [line for line in broker.messages if key_of(line) not in made]
    twice = [key for key, times in made.items() if times > 1]
    answers = ", ".join(f"{number} {outcome}" for outcome, number in sorted(broker.answers.items()))
    print(f"{broker.deliveries} deliveries, {broker.again} of them lost with a consumer; answers: {answers}")
    print(f"effects of {len(broker.messages)} messages: {len(lost)} lost, {len(twice)} twice or more")
    return lost, twice


def check_balances(broker, database):
    due = collections.Counter()
    for line in broker.messages:
        _, account, amount = line.split()
        due[int(account)] += int(amount)
    if dict(database.ask("SELECT id, balance FROM account")) != due:
        raise SystemExit("the balances are not the sums of the payments")
    if broker.answers["conflict"] != CHANGED:
        raise SystemExit("a key with another payload was not found out")
    if not broker.answers["duplicate"] or not broker.again:
        raise SystemExit("nothing came twice, so that nothing was tried")
    database.semel("store", "verify", "--full")


def check_sessions(database):
    """Transactions of one process went to several sessions of the pooler's."""
    ((changed_sessions,),) = database.ask("""SELECT count(*) FROM (SELECT consumer FROM seen GROUP BY consumer
                                             HAVING count(DISTINCT session) > 1) AS changed""")
    print(f"{changed_sessions} consumers had more than one session of the pooler's")
    if not changed_sessions:
        raise SystemExit("the pooler changed no session")


def options():
    parser = argparse.ArgumentParser(prog="run", description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=sorted(LANGUAGES))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--consumers", type=int, default=1, help="processes at once, which are killed together")
    parser.add_argument("--pooler", action="store_true", help="through a PgBouncer in transaction mode")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    return parser.parse_args()


def run(asked, stack):
    language = LANGUAGES[asked.language]
    chance = random.Random(asked.seed)
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    words = language.build(folder)
    database = Database(stack, postgres(stack))
    stack.callback(database.admin.close)
    stops.prepare(database, ACCOUNTS)
    url = pooler(stack, database) + language.behind_pooler if asked.pooler else database.worker_url()
    print(f"{asked.language}: {MESSAGES} messages, {asked.kills} kills, seed {asked.seed}", flush=True)
    show_rights(database)
    errors = stack.enter_context(open(folder / "errors", "w+", encoding="utf-8"))
    broker = Broker(words, url, asked.consumers, chance, errors)
    stack.callback(broker.abandon)
    try:
        kill_often(broker, database, asked.kills, language.claims, chance)
        broker.start()
        broker.deliver_all()
        if language.claims:
            broker.waiting += changed(broker.messages, chance)
            broker.deliver_all()
        broker.close()
        lost, twice = count(broker, database)
        if not language.claims:
            # The messages and the kills have teeth.
            return not twice
        check_balances(broker, database)
        if asked.pooler:
            check_sessions(database)
        return bool(lost or twice)
    finally:
        errors.seek(0)
        sys.stderr.write(errors.read())


if __name__ == "__main__":
    with contextlib.ExitStack() as all_of_it:
        failed = run(options(), all_of_it)
    sys.exit(failed)
