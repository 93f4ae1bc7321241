"""The pieces of docs/python.md."""

import json

import psycopg
import pytest
from django.db import connections, models, transaction
from sqlalchemy import Column, MetaData, String, Table, create_engine, insert
from sqlalchemy.orm import Session

import semel

URL, TOKEN = "unused", "unused"


@pytest.fixture(autouse=True)
def a_run_and_a_database(run, mails_database, monkeypatch):
    claims = run.claims()
    monkeypatch.setattr(semel, "HttpClaims", lambda url, token, consumer: claims)
    monkeypatch.setitem(globals(), "URL", mails_database)


def test_once():
    posted = []

    def post_mail(order):
        posted.append(order["id"])
        return {"sent": order["id"]}

    mails = semel.HttpClaims("http://127.0.0.1:8585", token=TOKEN, consumer="mails")

    @semel.once(mails, key=lambda order: order["id"], payload=lambda order: order["text"])
    def send(order):
        return post_mail(order)

    for _ in range(2):
        assert send({"id": "o-1", "text": "Dear Ann"}) == {"sent": "o-1"}
    assert posted == ["o-1"]


def test_a_block():
    posted = []

    def post_mail(order):
        posted.append(order["id"])
        return {"sent": order["id"]}

    mails = semel.HttpClaims("http://127.0.0.1:8585", token=TOKEN, consumer="mails")
    order = {"id": "o-1", "text": "Dear Ann"}
    for _ in range(2):
        with semel.claim(mails, order["id"], order["text"]) as held:
            if held.first:
                held.result = json.dumps(post_mail(order))
        assert json.loads(held.result) == {"sent": "o-1"}
    assert posted == ["o-1"]


def test_a_transaction():
    order = {"id": "o-1", "text": "Dear Ann"}
    for _ in range(2):
        with psycopg.connect(URL) as connection:
            mails = semel.Transaction(connection, "mails")
            with semel.claim(mails, order["id"], order["text"]) as held:
                if held.first:
                    connection.execute("INSERT INTO effect VALUES (%s)", (order["id"],))
            connection.commit()
    with psycopg.connect(URL) as connection:
        assert connection.execute("SELECT count(*) FROM effect").fetchone() == (1,)


def test_a_session_of_sqlalchemy():
    order = {"id": "o-3", "text": "Dear Eve"}
    effect = Table("effect", MetaData(), Column("name", String))
    engine = create_engine(URL.replace("postgresql://", "postgresql+psycopg2://", 1))
    for _ in range(2):
        session_once(engine, effect, order)
    engine.dispose()
    with psycopg.connect(URL) as connection:
        assert connection.execute("SELECT count(*) FROM effect WHERE name = 'o-3'").fetchone() == (1,)


def session_once(engine, effect, order):
    with Session(engine) as session, session.begin():
        mails = semel.Transaction(session, "mails")
        with semel.claim(mails, order["id"], order["text"]) as held:
            if held.first:
                session.execute(insert(effect).values(name=order["id"]))


def test_a_transaction_of_django(django_database):
    class Effect(models.Model):
        name = models.TextField(primary_key=True)

        class Meta:
            app_label, db_table, managed = "semel_page", "effect", False

    order = {"id": "o-4", "text": "Dear Bob"}
    for _ in range(2):
        atomic_once(connections["default"], Effect, order)
    assert Effect.objects.filter(name="o-4").count() == 1


def atomic_once(django_connection, Effect, order):
    with transaction.atomic():
        mails = semel.Transaction(django_connection, "mails")
        with semel.claim(mails, order["id"], order["text"]) as held:
            if held.first:
                Effect.objects.create(name=order["id"])


def test_a_lease_by_sql():
    posted = []

    def post_mail(order):
        posted.append(order["id"])
        return {"sent": order["id"]}

    mails = semel.SqlClaims(lambda: psycopg.connect(URL), consumer="mails")

    @semel.once(mails, key=lambda order: order["id"], payload=lambda order: order["text"])
    def send(order):
        return post_mail(order)

    for _ in range(2):
        assert send({"id": "o-2", "text": "Dear Bob"}) == {"sent": "o-2"}
    assert posted == ["o-2"]
    mails.close()


outbox = []


def test_an_order_is_sent_once(semel_claims, deliver_twice):
    handle = semel.once(semel_claims, key="order_id")(send_order)
    deliver_twice(handle, "o-1")
    assert outbox == ["o-1"]


def send_order(order_id):
    outbox.append(order_id)
