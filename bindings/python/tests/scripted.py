"""A server whose answers are scripted, in place of a run."""

import http.server
import json
import threading

import semel

DONE = {"claims": [{"key": "a", "outcome": "done"}]}
RENEWED = {"claims": [{"key": "a", "outcome": "renewed"}]}
LOST = {"claims": [{"key": "a", "outcome": "lease_lost"}]}


def new(lease_ms=150):
    return {"claims": [{"key": "a", "outcome": "new", "nonce": "n", "token": 1, "attempt": 1, "lease_ms": lease_ms}]}


def told(body, status=200, length=None):
    """An answer whose Content-Length may say more than comes."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (b"HTTP/1.1 %d So\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (status, len(text) if length is None else length)) + text


class Server:
    """Answers the calls of each kind by their script, whose last answer stays."""

    def __init__(self):
        self.scripts = {"claims": [told(new())], "renew": [told(RENEWED)], "finish": [told(DONE)]}
        self.asked = {"claims": [], "renew": [], "finish": []}
        self.before = {}  # called before an answer of the kind
        self.changed = threading.Condition()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                kind = self.path.rsplit("/", 1)[1]
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                script = server.scripts[kind]
                answer = script.pop(0) if len(script) > 1 else script[0]
                with server.changed:
                    server.asked[kind].append(body)
                    server.changed.notify_all()
                server.before.get(kind, bool)()
                self.wfile.write(answer)
                self.close_connection = True

            def log_message(self, *words):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def wait_for(self, kind, times):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.asked[kind]) >= times, 60)

    def claims(self, kind=semel.HttpClaims, **options):
        options.setdefault("patience", 60)
        return kind(self.url, token="the secret of workers", consumer="mails", **options)

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
