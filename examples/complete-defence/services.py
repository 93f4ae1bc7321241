"""Stock and bank. Both honour the Idempotency-Key; both have bad days. calls.txt: what was asked; effects.txt: what was done."""

import http.server
import json
import pathlib
import threading

LOCK = threading.Lock()
EFFECTS = set()  # what was done under a key
TRIES = {}


class Services(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["content-length"])))["id"]
        with LOCK:
            status = self.answer(order)
            with open("calls.txt", "a") as calls:
                calls.write(f"{self.path} {order} {status or 'no answer'}\n")
        if status is None:  # done, and whoever called dies waiting
            threading.Event().wait()
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, order):
        tries = TRIES[self.path, order] = TRIES.get((self.path, order), 0) + 1
        if self.path == "/charge" and order == "o-4":
            return 422  # the card is refused
        if self.path == "/charge" and order == "o-2" and tries == 1:
            return 503  # the bank is away for a moment
        effect = (self.path, self.headers["idempotency-key"])
        if effect not in EFFECTS:
            EFFECTS.add(effect)
            with open("effects.txt", "a") as effects:
                effects.write(f"{self.path} {order}\n")
        return None if self.path == "/charge" and order == "o-3" and tries == 1 else 200

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
server.daemon_threads = True
server.handle_error = lambda *_: None  # a caller that was killed
pathlib.Path("port.new").write_text(str(server.server_port))
pathlib.Path("port.new").rename("port")
server.serve_forever()
