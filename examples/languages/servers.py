"""A PostgreSQL server, a PgBouncer before it, and a database with Semel's functions and a role that may claim."""

import contextlib
import glob
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

import psycopg

HERE = pathlib.Path(__file__).resolve().parent
SEMEL = os.environ.get("SEMEL", str(HERE / "../../build/release/semel"))
PATIENCE = 60
CONSUMER = "payments"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Program:
    """A server that runs until the test ends. PostgreSQL and PgBouncer refuse to run as root."""

    USER = "postgres" if os.geteuid() == 0 else None

    def __init__(self, folder, words):
        self.log = folder / "log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(words, user=self.USER, cwd=folder, stdout=log, stderr=log)

    def wait_for(self, url):
        """True as soon as it answers; False where it ended, as where somebody else has its port."""
        last = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < last:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url):
                return self.process.poll() is None
            time.sleep(0.02)
        return False

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE)


def folder_of_servers(stack):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-languages-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    if Program.USER:
        shutil.chown(folder, Program.USER)
    return folder


def started(stack, folder, words_of, url_of):
    """Starts a server on a free port; another program may be quicker to take it."""
    for _ in range(5):
        port = free_port()
        program = Program(folder, words_of(port))
        if program.wait_for(url_of(port)):
            stack.callback(program.stop)
            return port
        program.process.kill()
        program.process.wait(PATIENCE)
    raise SystemExit(f"{words_of(0)[0]} does not start:\n{program.log.read_text()}")


def postgres(stack):
    """The URL of a server's administrator: DATABASE_URL, or else a server of this run's own."""
    if "DATABASE_URL" in os.environ:
        return os.environ["DATABASE_URL"]
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not programs:
        raise SystemExit("there is no PostgreSQL below /usr/lib/postgresql, and no DATABASE_URL")
    folder = folder_of_servers(stack)
    subprocess.run([f"{programs[-1]}/initdb", "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync",
                    "-E", "UTF8", "--locale=C"], user=Program.USER, cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)

    def url_of(port):
        return f"postgresql://postgres@127.0.0.1:{port}/postgres"

    return url_of(started(stack, folder, lambda port: [
        f"{programs[-1]}/postgres", "-D", "data", "-c", f"port={port}", "-c", "listen_addresses=127.0.0.1",
        "-c", f"unix_socket_directories={folder}", "-c", "fsync=off",
        "-c", "dynamic_shared_memory_type=mmap"], url_of))


def pooler(stack, database):
    """The worker's URL by way of a PgBouncer that gives a transaction either of two sessions."""
    folder = folder_of_servers(stack)

    def url_of(port):
        return database.worker_url("127.0.0.1", port)

    def words_of(port):
        (folder / "users.txt").write_text(f'"{database.worker}" ""\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={database.host} port={database.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            "auth_type = trust\nauth_file = users.txt\npool_mode = transaction\n"
            "default_pool_size = 2\n"
            # JDBC sends it.
            "ignore_startup_parameters = extra_float_digits\n")
        return ["/usr/sbin/pgbouncer", "pgbouncer.ini"]

    return url_of(started(stack, folder, words_of, url_of))


class Database:
    """A database of its own on the server, with a role of its own."""

    def __init__(self, stack, server_url):
        name = uuid.uuid4().hex[:12]
        self.name, self.worker = f"languages_{name}", f"worker_{name}"
        server = stack.enter_context(psycopg.connect(server_url, autocommit=True))
        server.execute(f"CREATE DATABASE {self.name}")
        stack.callback(server.execute, f"DROP ROLE IF EXISTS {self.worker}")
        stack.callback(server.execute, f"DROP DATABASE {self.name} WITH (FORCE)")
        self.admin_url = re.sub(r"/[^/]*$", f"/{self.name}", server_url)
        told = psycopg.conninfo.conninfo_to_dict(server_url)
        self.host, self.port = told["host"], told["port"]
        self.admin = self.connect()
        self.make_store(stack)
        self.run_file("tables.sql")
        self.run_file("worker.sql")

    def make_store(self, stack):
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        config = pathlib.Path(folder) / "semel.yaml"
        config.write_text(f"version: 1\nstore: {{ postgres: {{ url: '{self.admin_url}' }} }}\n"
                          "consumers: [{ name: other, source: { queue: {} }, key: json:/id,"
                          " handler: { exec: [cat] } }]\n")
        self.config = str(config)
        self.semel("store", "init", "--functions", "--consumer", f"{CONSUMER}=7d")

    def semel(self, *words):
        ran = subprocess.run([SEMEL, *words, "-c", self.config], check=False, capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"semel {' '.join(words)} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")

    def run_file(self, name):
        self.admin.execute(re.sub(r"\bworker\b", self.worker, (HERE / name).read_text()))

    def connect(self, **options):
        return psycopg.connect(self.admin_url, autocommit=True, **options)

    def worker_url(self, host=None, port=None):
        """A URL that each of the clients understands: JDBC wants the user among the parameters."""
        return f"postgresql://{host or self.host}:{port or self.port}/{self.name}?user={self.worker}"

    def ask(self, sql, *parameters):
        return self.admin.execute(sql, parameters).fetchall()
