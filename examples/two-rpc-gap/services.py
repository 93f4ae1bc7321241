"""Two services. Stock locks pieces whenever it is asked; orders keeps each order once. Orders is not always well."""

import http.server
import json
import pathlib
import threading

LOCK = threading.Lock()
TRIES = {}     # order: how often it was to be inserted
ORDERS = set()


class Services(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["content-length"])))["id"]
        with LOCK:
            status = self.answer(order)
            with open("calls.txt", "a") as calls:
                calls.write(f"{self.path} {order} {status or 'no answer'}\n")
        if status is None:  # whoever called dies waiting
            threading.Event().wait()
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, order):
        if self.path in ("/stock/lock", "/stock/unlock"):
            return 200
        TRIES[order] = TRIES.get(order, 0) + 1
        if order == "o-2" and TRIES[order] == 1:
            return 503
        if order == "o-3" and TRIES[order] == 1:
            return None
        if order == "o-4":
            return 422
        ORDERS.add(order)
        return 200

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
server.daemon_threads = True
pathlib.Path("port.new").write_text(str(server.server_port))
pathlib.Path("port.new").rename("port")
server.serve_forever()
