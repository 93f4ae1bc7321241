"""An endpoint that sends emails, into a file: each key's once. It is not always well."""

import base64
import hashlib
import hmac
import http.server
import json
import pathlib
import threading
import time

SECRET = base64.b64decode(pathlib.Path("whsec.secret").read_text().strip().removeprefix("whsec_"))
TOLERANCE = 300  # seconds
LOCK = threading.Lock()
SENT = {}   # Idempotency-Key: the answer it got
CALLS = {}  # Idempotency-Key: how often it came


def signed(headers, body):
    """As standardwebhooks.com says."""
    identity, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    content = f"{identity}.{timestamp}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(SECRET, content, hashlib.sha256).digest()).decode()
    fresh = abs(time.time() - int(timestamp)) < TOLERANCE
    return fresh and any(hmac.compare_digest(wanted, each)
                         for each in headers["webhook-signature"].split())


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        with LOCK:
            answer = self.handle_email(body)
            with open("calls.txt", "a") as calls:
                calls.write(f"{answer or 'no answer'}\n")
        if answer is None:  # what is done is done, and nobody is told
            self.close_connection = True
            return
        text = json.dumps({"answer": answer}).encode()
        self.send_response(int(answer[:3]))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def handle_email(self, body):
        """What to answer; None: nothing at all."""
        if not signed(self.headers, body):
            return "401 bad signature"
        key, email = self.headers["idempotency-key"], json.loads(body)
        CALLS[key] = CALLS.get(key, 0) + 1
        if key in SENT:
            return SENT[key]
        if "@" not in email["to"]:
            return "422 no address"
        number = int(email["id"].removeprefix("e-"))
        if number % 3 == 0 and CALLS[key] == 1:
            return "503 busy"
        with open("emails.txt", "a") as emails:
            emails.write(email["to"] + "\n")
        SENT[key] = "200 sent"
        return None if number == 5 else SENT[key]

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
pathlib.Path("port.new").write_text(str(server.server_port))
pathlib.Path("port.new").rename("port")
server.serve_forever()
