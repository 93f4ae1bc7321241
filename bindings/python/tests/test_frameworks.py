"""Claims in transactions of SQLAlchemy and of Django, over a real PostgreSQL."""

import uuid

import psycopg
import pytest
import sqlalchemy
from django.db import transaction
from sqlalchemy.orm import Session

import semel


@pytest.fixture
def key():
    return uuid.uuid4().hex


@pytest.fixture
def engine(mails_database):
    made = sqlalchemy.create_engine(mails_database.replace("postgresql://", "postgresql+psycopg2://", 1))
    yield made
    made.dispose()


def effects(url, key):
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT count(*) FROM effect WHERE name = %s", (key,)).fetchone()[0]


def pay(session, name):
    """A delivery, in the session's transaction."""
    with semel.claim(semel.Transaction(session, "mails"), name, "payload") as held:
        if held.first:
            session.execute(sqlalchemy.text("INSERT INTO effect VALUES (:name)"), {"name": name})
            held.result = "paid"
    return held


@pytest.mark.parametrize("of", [lambda session: session, lambda session: session.connection()],
                         ids=["session", "connection"])
def test_an_effect_of_a_session_happens_once(engine, mails_database, key, of):
    outcomes = []
    for _ in range(2):
        with Session(engine) as session, session.begin():
            held = pay(of(session), key)
            outcomes.append((held.outcome, held.result))
    assert outcomes == [(semel.Outcome.NEW, "paid"), (semel.Outcome.DUPLICATE, b"paid")]
    assert effects(mails_database, key) == 1


def test_a_rollback_of_a_session_undoes_both(engine, mails_database, key):
    with pytest.raises(ZeroDivisionError):
        with Session(engine) as session, session.begin():
            pay(session, key)
            raise ZeroDivisionError
    assert effects(mails_database, key) == 0
    with engine.begin() as connection:
        batch = semel.Transaction(connection, "mails").claim_many([(key, "payload"), (key, "payload")])
        assert [one.outcome for one in batch] == [semel.Outcome.NEW, semel.Outcome.DUPLICATE]


def test_a_savepoint_of_a_session_undoes_its_claim(engine, key):
    with Session(engine) as session, session.begin():
        savepoint = session.begin_nested()
        assert pay(session, key).first
        savepoint.rollback()
        assert pay(session, key).first


def test_sqlalchemy_without_a_transaction_is_refused(engine, key):
    with engine.connect() as connection, pytest.raises(semel.NotInTransaction):
        semel.Transaction(connection, "mails").claim(key)
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        with connection.begin(), pytest.raises(semel.NotInTransaction):
            semel.Transaction(connection, "mails").claim(key)
    with engine.begin() as connection, pytest.raises(semel.Refused) as refused:
        semel.Transaction(connection, "nobody").claim(key)
    assert refused.value.code == "R272"


def test_an_effect_of_django_happens_once(django_database, mails_database, key):
    @semel.once(lambda name: semel.Transaction(django_database, "mails"), key="name", payload="name")
    def work(name):
        with django_database.cursor() as cursor:
            cursor.execute("INSERT INTO effect VALUES (%s)", [name])
        return {"paid": name}

    for _ in range(2):
        with transaction.atomic():
            assert work(key) == {"paid": key}
    assert effects(mails_database, key) == 1
    with transaction.atomic():
        batch = semel.Transaction(django_database, "mails").claim_many([(key, key), (key + "b", key)])
        assert [one.outcome for one in batch] == [semel.Outcome.DUPLICATE, semel.Outcome.NEW]


def test_a_rollback_of_django_undoes_both(django_database, mails_database, key):
    mails = semel.Transaction(django_database, "mails")
    with pytest.raises(ZeroDivisionError):
        with transaction.atomic():
            assert mails.claim(key).first
            raise ZeroDivisionError
    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            assert mails.claim(key).first
            raise ZeroDivisionError
        assert mails.claim(key).first, "a savepoint was undone"


def test_django_without_a_transaction_is_refused(django_database, key):
    with pytest.raises(semel.NotInTransaction):
        semel.Transaction(django_database, "mails").claim(key)
    with pytest.raises(semel.Refused) as refused:
        with transaction.atomic():
            semel.Transaction(django_database, "nobody").claim(key)
    assert refused.value.code == "R272"
