"""The URL of a run and its token: what is wrong is refused at once, and no text has a secret in it."""

import asyncio
import contextlib
import http.server
import socket
import threading
import traceback

import psycopg
import pytest

import semel
import semel.aio
from conftest import TOKEN, TOKEN_BEYOND_ASCII
from scripted import told
from semel import _http
from semel._transport import opener_of

SECRET = "s3cret-of-workers"
BOTH = pytest.mark.parametrize("kind", [semel.HttpClaims, semel.aio.HttpClaims], ids=["", "aio"])


def all_of(error):
    """Whatever a log may show of it."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__)) + repr(error) + repr(vars(error))


@BOTH
@pytest.mark.parametrize("url, why", [
    ("", "none of http://"), ("127.0.0.1:1", "none of http://"), ("ftp://127.0.0.1:1", "none of http://"),
    (f"worker:{SECRET}@127.0.0.1:1", "none of http://"),
    (f"http://worker:{SECRET}@127.0.0.1:1", "user"), (f"http://127.0.0.1:1/?token={SECRET}", "query"),
    ("http://127.0.0.1:1/#top", "query"), ("http://", "no host"), ("https://:8585", "no host"),
    ("http://127.0.0.1:port", "no port"), ("http://127.0.0.1:0", "no port"), ("http://127.0.0.1:65536", "no port"),
    ("http://127.0.0.1:1\n", "blank"), ("http://127.0.0.1:1/a b", "blank"), ("http://127.0.0.1:1/ü", "ASCII"),
    ("http://[::1", "no address")])
def test_a_url_that_is_none_is_refused(kind, url, why):
    with pytest.raises(semel.Refused, match=why) as refused:
        kind(url, token=SECRET, consumer="mails")
    assert refused.value.code == "R361" and "http://127.0.0.1:8585" in refused.value.fix
    assert SECRET not in all_of(refused.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "HTTP://127.0.0.1:1/", "https://[::1]:1/prefix/", "http://localhost",
                                 "http://127.0.0.1:1//"])
def test_a_url_of_a_run_is_taken(url):
    assert semel.HttpClaims(url, consumer="mails")._claims == url.rstrip("/") + "/api/v1/consumers/mails/claims"


@pytest.mark.parametrize("url", [None, b"http://127.0.0.1:1"])
def test_a_url_is_text(url):
    with pytest.raises(TypeError, match="the URL of the run is text"):
        semel.HttpClaims(url, consumer="mails")


@BOTH
@pytest.mark.parametrize("token", ["", " \n", SECRET + "\n" + SECRET, SECRET + "\0" + SECRET, SECRET + "\x7fx",
                                   SECRET + "\ud800"])
def test_a_token_that_is_none_is_refused_and_not_shown(kind, token):
    with pytest.raises(semel.Refused, match="the token") as refused:
        kind("http://127.0.0.1:1", token=token, consumer="mails")
    assert refused.value.code == "R361" and "admin.auth.tokens" in refused.value.fix
    assert SECRET not in all_of(refused.value)


def test_a_token_is_text():
    with pytest.raises(TypeError, match="a token is text") as refused:
        semel.HttpClaims("http://127.0.0.1:1", token=SECRET.encode(), consumer="mails")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("token", [TOKEN + "\n", f" {TOKEN}\r\n", TOKEN_BEYOND_ASCII])
def test_a_token_may_have_the_end_of_its_file_and_any_character(run, token):
    assert semel.HttpClaims(run.url, token=token, consumer="mails").claim("a").first


def test_no_error_shows_the_token(run):
    claims = semel.HttpClaims(run.url, token=SECRET, consumer="mails", patience=0)
    with pytest.raises(semel.Refused) as refused:
        claims.claim("a")
    away = semel.HttpClaims("http://127.0.0.1:1", token=SECRET, consumer="mails", patience=0)
    with pytest.raises(semel.Unavailable) as unavailable:
        away.claim("a")
    assert refused.value.code == "R341"
    assert SECRET not in all_of(refused.value) + all_of(unavailable.value) + repr(claims) + repr(away)


class Elsewhere:
    """A server that a redirect leads to; it keeps the tokens that it is shown."""

    def __init__(self):
        self.tokens = tokens = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                tokens.append(self.headers["Authorization"])
                self.send_error(404)

            def log_message(self, *words):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.http.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_shown_no_token(server, status):
    with Elsewhere() as elsewhere:
        server.scripts["claims"] = [b"HTTP/1.1 %d So\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n"
                                    % (status, elsewhere.http.server_port)]
        with pytest.raises(semel.Refused, match=f"HTTP {status}") as refused:
            server.claims(patience=0).claim("a")
        assert refused.value.code == "R362" and elsewhere.tokens == []


RUN = "http://run.example:8585"  # somewhere else


@pytest.fixture
def proxied(monkeypatch):
    """Sets the proxy that the environment names."""
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def by(proxy):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("https_proxy", proxy)

    return by


@pytest.mark.parametrize("proxy", [f"http://user:{SECRET}@proxy:port", f"socks5://user:{SECRET}@127.0.0.1:1"])
def test_a_proxy_whose_url_is_none_is_refused(proxied, proxy):
    proxied(proxy)
    with pytest.raises(semel.Refused, match="proxy") as refused:
        semel.HttpClaims(RUN, consumer="mails", patience=0).claim("a")
    assert refused.value.code == "R361" and SECRET not in all_of(refused.value)


@BOTH
def test_a_run_on_this_machine_is_asked_without_a_proxy(server, proxied, kind):
    proxied("http://127.0.0.1:1")
    for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
        claims = kind(url, token=TOKEN, consumer="mails", patience=0)
        held = claims.claim("a") if kind is semel.HttpClaims else asyncio.run(claims.claim("a"))
        assert held.first


@pytest.mark.parametrize("url, goes_by_proxy", [
    ("http://127.8.9.1:1", False), ("https://[::1]:1", False), ("http://LOCALHOST", False), ("http://a.localhost:1", False),
    ("unix:/run/semel/admin.sock", False), (RUN, True), ("https://run.example", True), ("http://10.0.0.1:1", True),
    ("https://[::2]:1/prefix", True), ("http://localhost.example", True), ("http://inside.example:8585", False)])
def test_only_a_run_elsewhere_has_a_proxy(proxied, monkeypatch, url, goes_by_proxy):
    proxied(f"http://user:{SECRET}@proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert opener_of(url)[2] == ("proxy.example:3128" if goes_by_proxy else None)


def test_a_run_elsewhere_is_asked_through_the_proxy(server, proxied):
    proxied(server.url)
    assert semel.HttpClaims(RUN, token=TOKEN, consumer="mails", patience=0).claim("a").first
    assert len(server.asked["claims"]) == 1


def test_an_error_names_the_proxy_that_may_have_made_it(server, proxied):
    server.scripts["claims"] = [told(b"<html>denied", 403), told(b"<html>away", 502)]
    proxied(f"http://user:{SECRET}@" + server.url[len("http://"):])
    proxy = f"through the proxy 127.0.0.1:{server.http.server_port}"
    claims = semel.HttpClaims(RUN, token=TOKEN, consumer="mails", patience=0)
    with pytest.raises(semel.Refused, match=f"HTTP 403.*{proxy}.*no_proxy") as refused:
        claims.claim("a")
    with pytest.raises(semel.Unavailable, match=f"{proxy}.*HTTP 502.*no_proxy") as unavailable:
        claims.claim("a")
    proxied(f"http://user:{SECRET}@127.0.0.1:1")
    with pytest.raises(semel.Unavailable, match="through the proxy 127.0.0.1:1: .*no_proxy") as dead:
        semel.HttpClaims(RUN, token=TOKEN, consumer="mails", patience=0).claim("a")
    assert refused.value.code == "R362"
    assert SECRET not in all_of(refused.value) + all_of(unavailable.value) + all_of(dead.value)


def test_an_error_of_the_run_is_told_as_it_is_through_a_proxy(server, proxied):
    server.scripts["claims"] = [told({"detail": "no such token", "code": "R341", "fix": "another"}, 401)]
    proxied(server.url)
    with pytest.raises(semel.Refused) as refused:
        semel.HttpClaims(RUN, token=TOKEN, consumer="mails", patience=0).claim("a")
    assert str(refused.value) == "[R341] no such token; fix: another"


class Tunnels:
    """A proxy that makes a tunnel, takes what comes through it, and closes it."""

    def __init__(self):
        self.began = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accepts, daemon=True).start()

    def _accepts(self):
        with contextlib.suppress(OSError):  # it is stopped
            while True:
                with self.listener.accept()[0] as client:
                    asked = client.recv(1 << 16)
                    client.sendall(b"HTTP/1.1 200 So\r\n\r\n")
                    self.began.append((asked.split(b"\r\n")[0], client.recv(1 << 16)))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.listener.close()


# A request that was sent once through a proxy goes another way the next time, and no more over TLS.
def test_what_is_asked_again_through_a_tunnel_is_encrypted_too(proxied, monkeypatch):
    class Enough(Exception):
        pass

    def pause(seconds):
        if len(tunnels.began) == 4:
            raise Enough

    monkeypatch.setattr(_http.time, "sleep", pause)
    with Tunnels() as tunnels:
        proxied(tunnels.url)
        with pytest.raises(Enough):
            semel.HttpClaims("https://run.example:8585", token=SECRET, consumer="mails", patience=60).claim("a")
    assert all(line.startswith(b"CONNECT run.example:8585 ") for line, _ in tunnels.began)
    assert all(first.startswith(b"\x16") and SECRET.encode() not in first for _, first in tunnels.began)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_no_call_can_keep_is_refused(timeout):
    for kind in (semel.HttpClaims, semel.aio.HttpClaims):
        with pytest.raises(semel.Refused, match="timeout"):
            kind("http://127.0.0.1:1", consumer="mails", timeout=timeout)
    for kind in (semel.SqlClaims, semel.aio.SqlClaims):
        with pytest.raises(semel.Refused, match="timeout"):
            kind(lambda: psycopg.connect(""), consumer="mails", timeout=timeout)
