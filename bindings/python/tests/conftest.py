"""A `semel run` of the test's own, over SQLite, whose consumer "mails" is claimed."""

import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import semel

TOKEN = "the secret of workers"
CONFIG = """\
version: 1
store: {{ sqlite: {{ path: mails.db }} }}
admin:
  listen: 127.0.0.1:{port}
  auth: {{ tokens: [{{ name: worker, secret: {token}, claims: [mails] }}] }}
consumers:
  - {{ name: mails, source: {{ claims: {{}} }} }}
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
        (self.folder / "semel.yaml").write_text(CONFIG.format(port=self.port, token=TOKEN))
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
