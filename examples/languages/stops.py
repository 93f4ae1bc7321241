"""Points at which a consumer is killed. It is held there by a lock of the database, and the lock is waited for."""

import time

from servers import CONSUMER, PATIENCE

_BEFORE_EFFECT, _IN_COMMIT = 1, 2


def prepare(database, accounts):
    """Triggers that wait where a consumer is to be held, and note the session that they ran in."""
    database.admin.execute(f"""
      INSERT INTO account SELECT id, 0 FROM generate_series(0, {accounts - 1}) AS id;
      CREATE TABLE seen (consumer text NOT NULL, session integer NOT NULL);
      CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::bigint);
        INSERT INTO seen VALUES (current_setting('application_name'), pg_backend_pid());
        RETURN NEW;
      END $$;
      CREATE TRIGGER before_effect BEFORE INSERT ON payment
        FOR EACH ROW EXECUTE FUNCTION wait_here({_BEFORE_EFFECT});
      CREATE CONSTRAINT TRIGGER in_commit AFTER INSERT ON payment DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_here({_IN_COMMIT})""")


class Point:
    """Holds the consumer, for as long as the context lasts."""

    def __init__(self, database, broker, chance):
        self._database, self._broker, self._chance = database, broker, chance
        self._made = 0

    def __enter__(self):
        self._hold()
        return self

    def __exit__(self, *error):
        self._let_go()

    def reached(self):
        """True once a session of the worker's waits for the one that holds it. Notes what was made by then."""
        waits = self._database.ask("SELECT 1 FROM pg_stat_activity WHERE usename = %s"
                                   " AND %s = ANY(pg_blocking_pids(pid))",
                                   self._database.worker, self._holder.info.backend_pid)
        self._made = self._payments()
        return bool(waits)

    def after_death(self):
        """Says what became of the transaction that was cut short; raises where it is not what must be."""
        self._let_go()
        last = time.monotonic() + PATIENCE
        while self._database.ask("SELECT 1 FROM pg_stat_activity WHERE usename = %s AND state <> 'idle'",
                                 self._database.worker):
            if time.monotonic() > last:
                raise SystemExit("a dead consumer's session does not end")
            time.sleep(0.005)
        return self._judge(self._payments() - self._made)

    def _payments(self):
        return self._database.ask("SELECT count(*) FROM payment")[0][0]

    def _hold(self):
        raise NotImplementedError

    def _let_go(self):
        raise NotImplementedError

    def _judge(self, committed):
        raise NotImplementedError


class _Locked(Point):
    LOCK = 0

    def _hold(self):
        self._holder = self._database.connect()
        self._holder.execute("SELECT pg_advisory_lock(%s)", (self.LOCK,))

    def _let_go(self):
        self._holder.close()


class BeforeTheEffect(_Locked):
    """After the claim: both are rolled back."""

    NAME = "before the effect"
    LOCK = _BEFORE_EFFECT

    def _judge(self, committed):
        if committed:
            raise SystemExit(f"{committed} effects committed though their consumer died before them")
        return "rolled back"


class InTheCommit(_Locked):
    """The server commits, and nobody is there to hear it."""

    NAME = "in the commit"
    LOCK = _IN_COMMIT

    def _judge(self, committed):
        if not committed:
            raise SystemExit("the commit that was begun did not happen")
        return "committed, and not acknowledged"


class InTheClaim(Point):
    """Another consumer has the key; it makes the payment, or dies as well."""

    NAME = "in the claim"

    def _hold(self):
        self._holder = self._database.connect()
        self._holder.autocommit = False
        unsettled = [line for line in self._broker.messages
                     if line.split()[0] not in self._broker.settled]
        self._chance.shuffle(unsettled)
        for line in unsettled:
            if self._claims(line):
                self._broker.waiting.insert(0, line)
                return
            self._holder.rollback()
        raise SystemExit("no message is left")

    def _claims(self, line):
        self._line = line
        return self._holder.execute("SELECT outcome FROM semel.claim(%s, %s::text, %s::text)",
                                    (CONSUMER, line.split()[0], line)).fetchone() == ("new",)

    def _let_go(self):
        self._holder.close()

    def _payments(self):
        payment = self._line.split()[0]
        return self._database.ask("SELECT count(*) FROM payment WHERE id = %s", payment)[0][0]

    def after_death(self):
        self._others = self._chance.random() < 0.5
        if self._others:
            payment, account, amount = self._line.split()
            self._holder.execute("INSERT INTO payment (id, account, amount) VALUES (%s, %s, %s)",
                                 (payment, account, amount))
            self._holder.execute("UPDATE account SET balance = balance + %s WHERE id = %s", (amount, account))
            self._holder.commit()
        return super().after_death()

    def _judge(self, committed):
        # A claim that got its key once it was free went with its session.
        if committed != int(self._others):
            raise SystemExit(f"{committed} effects committed, {int(self._others)} by the other consumer")
        return "the other consumer paid" if self._others else "the other consumer died as well"


class Anywhere(Point):
    """Wherever it is, some acknowledgements after its start."""

    NAME = "anywhere"

    def _hold(self):
        self._enough = self._broker.acknowledged + self._chance.randint(1, 6)

    def _let_go(self):
        """Nothing holds it."""

    def reached(self):
        self._made = self._payments()
        return self._broker.acknowledged >= self._enough

    def _judge(self, committed):
        return "on its way"


POINTS = (InTheClaim, BeforeTheEffect, InTheCommit, Anywhere)
