"""A Chromium that is driven by the DevTools protocol, on two pipes: no port, and nothing that Python does
not have."""

import base64
import fcntl
import json
import os
import select
import signal
import time

PATIENCE = 20  # seconds until what should come counts as never


class Never(Exception):
    """What should come did not."""


class Refused(Never):
    """The browser cannot do it now."""


class Chromium:
    """One browser with one tab."""

    def __init__(self, program, profile):
        os.makedirs(profile)
        to_browser, self._to = self._pipe()
        self._from, from_browser = self._pipe()
        arguments = [program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run",
                     "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-extensions", "--disable-background-networking", "--disable-sync",
                     # One tab that is looked at, and nothing for a next one: each costs as much as several pages.
                     "--in-process-gpu", "--renderer-process-limit=1", "--num-raster-threads=1",
                     "--disable-component-update", "--disable-breakpad", "--disable-default-apps",
                     "--disable-features=SpareRendererForSitePerProcess,Translate,MediaRouter,OptimizationHints,"
                     "BackForwardCache"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")  # which root cannot have
        arguments.append("about:blank")
        silence = os.open(os.devnull, os.O_RDWR)
        log = os.open(os.path.join(profile, "log"), os.O_WRONLY | os.O_CREAT, 0o600)
        self._pid = os.posix_spawn(
            arguments[0], arguments, dict(os.environ, HOME=profile, TMPDIR=profile),
            file_actions=[(os.POSIX_SPAWN_DUP2, silence, 0), (os.POSIX_SPAWN_DUP2, log, 1),
                          (os.POSIX_SPAWN_DUP2, log, 2), (os.POSIX_SPAWN_DUP2, to_browser, 3),
                          (os.POSIX_SPAWN_DUP2, from_browser, 4)],
            setpgroup=0)
        for end in (to_browser, from_browser, silence, log):
            os.close(end)
        self._number = 0
        self._read = b""
        self._answers = {}
        self._session = None
        self.listeners = []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]

    @staticmethod
    def _pipe():
        # The browser's own are 3 and 4: none of these may be.
        ends = os.pipe()
        high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
        for end in ends:
            os.close(end)
        return high

    def begin(self, method, **parameters):
        """Says it; the number of its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self._to, text):]
        return self._number

    def call(self, method, **parameters):
        """Says it, and returns what is answered."""
        number = self.begin(method, **parameters)
        self.until(method, lambda: number in self._answers)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Refused(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def until(self, what, is_true):
        """Reads what the browser says until it is true."""
        last = time.monotonic() + PATIENCE
        while not is_true():
            left = last - time.monotonic()
            if left <= 0:
                raise Never(f"never came true: {what}")
            self.read(min(left, 0.5))

    def read(self, patience):
        """What the browser says within so many seconds, to those who listen."""
        if not select.select([self._from], [], [], patience)[0]:
            return
        some = os.read(self._from, 1 << 20)
        if not some:
            raise Never("the browser ended")
        *messages, self._read = (self._read + some).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                for listener in self.listeners:
                    listener(message["method"], message["params"])

    def picture(self, path):
        """The whole page, as it is drawn. One that is being left has no size: then the next."""
        shots = []

        def drawn():
            try:
                shots.append(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                       optimizeForSpeed=True))
            except Refused:
                self.read(0.1)
            return shots
        self.until(f"{path} is drawn", drawn)
        shot = shots[0]
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def close(self):
        """Ends it with all of its processes."""
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
