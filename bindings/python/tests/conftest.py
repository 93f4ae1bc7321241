"""A `semel run` of the test's own, over SQLite, and a PostgreSQL database: each has a consumer "mails"."""

import os
import pathlib
import re
import signal
import subprocess
import time
import uuid

import django
import django.db
import psycopg
import pytest
from django.conf import settings

import scripted
import semel

TOKEN = "the secret of workers"
TOKEN_BEYOND_ASCII = "das Geheimnis der Grüße €"
CONFIG = """\
version: 1
store: {{ sqlite: {{ path: mails.db }} }}
admin:
  listen: 127.0.0.1:{port}
  socket: {{ path: admin.sock, claims: [mails] }}
  auth: {{ tokens: [{{ name: worker, secret: {token}, claims: [mails] }},
                    {{ name: other, secret: {other}, claims: [mails] }}] }}
consumers:
  - {{ name: mails, source: {{ claims: {{}} }}, limits: {{ result: 8KiB }} }}
"""
PATIENCE = 60


class Run:
    """The program, on a port that it keeps when it is started again."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.port = 0
        self.process = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        config = CONFIG.format(port=self.port, token=TOKEN, other=TOKEN_BEYOND_ASCII)
        (self.folder / "semel.yaml").write_text(config, encoding="utf-8")
        log = open(self.folder / "run.log", "w+")
        self.process = subprocess.Popen([os.environ["SEMEL"], "run", "semel.yaml"], cwd=self.folder,
                                        stdout=subprocess.DEVNULL, stderr=log)
        last = time.monotonic() + PATIENCE
        while True:
            log.seek(0)
            told = re.search(r"on port (\d+)", log.read())
            if told:
                break
            assert self.process.poll() is None and time.monotonic() < last, "the run did not start"
            time.sleep(0.01)
        log.close()
        self.port = int(told.group(1))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait(PATIENCE) == -signal.SIGKILL

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)

    @property
    def socket_url(self) -> str:
        return f"unix:{self.folder}/admin.sock"

    def claims(self, **options) -> semel.HttpClaims:
        options.setdefault("patience", PATIENCE)
        return semel.HttpClaims(self.url, token=TOKEN, consumer="mails", **options)

    def aio_claims(self, **options):
        import semel.aio

        options.setdefault("patience", PATIENCE)
        return semel.aio.HttpClaims(self.url, token=TOKEN, consumer="mails", **options)


@pytest.fixture
def run(tmp_path):
    one = Run(tmp_path)
    yield one
    one.stop()


@pytest.fixture(scope="module")
def mails_database(tmp_path_factory):
    """A database with the SQL functions, the consumer and a table for effects."""
    server_url = os.environ["DATABASE_URL"]
    name = "python_" + uuid.uuid4().hex[:12]
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        url = server_url.rsplit("/", 1)[0] + "/" + name
        config = tmp_path_factory.mktemp("sql") / "semel.yaml"
        config.write_text(f"store: {{ postgres: {{ url: '{url}' }} }}\n")
        subprocess.run([os.environ["SEMEL"], "store", "init", "--functions", "--consumer", "mails=7d",
                        "-c", str(config)], check=True, stdout=subprocess.DEVNULL)
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE effect (name text NOT NULL)")
        yield url
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def django_database(mails_database):
    """Django's default connection, to that database."""
    told = psycopg.conninfo.conninfo_to_dict(mails_database)
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": told["dbname"], "USER": told["user"],
                "HOST": told["host"], "PORT": told["port"]}
    if not settings.configured:
        settings.configure(DATABASES={"default": database})
        django.setup()
    connection = django.db.connections["default"]
    connection.settings_dict.update(database)
    yield connection
    connection.close()


@pytest.fixture
def server():
    one = scripted.Server()
    yield one
    one.stop()
