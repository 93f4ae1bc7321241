"""A payment gateway that honours Idempotency-Key. It charges p-2, and forgets to say so."""

import http.server
import json
import pathlib
import threading

LOCK = threading.Lock()
CHARGED = {}  # Idempotency-Key: the answer it got
NEVER = threading.Event()


class Gateway(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        payment = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers["idempotency-key"]
        with LOCK:
            new = key not in CHARGED
            if new:
                CHARGED[key] = f'charged {payment["amount"]}'
                with open("charges.txt", "a") as charges:
                    charges.write(f'{payment["id"]}\n')
            with open("calls.txt", "a") as calls:
                calls.write(f'{payment["id"]}\n')
        if new and payment["id"] == "p-2":
            NEVER.wait()
        text = CHARGED[key].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
pathlib.Path("port.new").write_text(str(server.server_address[1]))
pathlib.Path("port.new").rename("port")
server.serve_forever()
