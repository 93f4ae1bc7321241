"""The URL of a run and the token for it: checked before anything is sent, and opened by HTTP or on a Unix socket."""

from __future__ import annotations

import http.client
import ipaddress
import os
import re
import socket
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Optional, Tuple

from ._errors import Refused

_SOCKET = "unix:"
_SCHEMES = ("http://", "https://")
_LONGEST_SOCKET_PATH = 107
_LAST_PORT = 65_535
_NOT_PRINTABLE_ASCII = re.compile(r"[^!-~]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
#: The code of a URL, or of a token, that is none.
_WRONG = "R361"
#: The fix of an error that a proxy may have made.
PROXY_FIX = "name the host of the run in no_proxy, where the proxy does not lead to it"
_FORM = "such as http://127.0.0.1:8585, https://semel.example.com:8585 or unix:/run/semel/admin.sock"


def _wrong_url(why: str) -> Refused:
    return Refused(f"the URL of the run {why}", _WRONG, _FORM)


class _SocketConnection(http.client.HTTPConnection):
    """A connection to a Unix socket of this machine."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


class _SocketHandler(urllib.request.AbstractHTTPHandler):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def http_open(self, request: urllib.request.Request) -> Any:
        def connection(host: str, timeout: float, **options: Any) -> _SocketConnection:
            return _SocketConnection(self._path, timeout)

        return self.do_open(connection, request)  # type: ignore[arg-type]

    http_request = urllib.request.AbstractHTTPHandler.do_request_


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: to follow it would give the token to another server."""

    def redirect_request(self, *told: Any) -> None:
        return None


def _socket_opener(path: str) -> urllib.request.OpenerDirector:
    path = path[2:] if path.startswith("///") else path
    if not path.startswith("/") or path.startswith("//") or path.endswith("/") or "\0" in path:
        raise _wrong_url(f"has no absolute path of a socket: {_SOCKET + path!r}")
    length = len(os.fsencode(path))
    if length > _LONGEST_SOCKET_PATH:
        raise _wrong_url(f"has a path of {length} bytes: that of a socket has {_LONGEST_SOCKET_PATH} at most")
    opener = urllib.request.OpenerDirector()
    for handler in (_SocketHandler(path), urllib.request.HTTPErrorProcessor(),
                    urllib.request.HTTPDefaultErrorHandler()):
        opener.add_handler(handler)
    return opener


def _check_http(url: str) -> None:
    """No message repeats what may be a password."""
    if _NOT_PRINTABLE_ASCII.search(url):
        raise _wrong_url("has a blank or a character that is not of ASCII")
    scheme = next((one for one in _SCHEMES if url.lower().startswith(one)), None)
    if scheme is None:
        raise _wrong_url("begins with none of http://, https:// and unix:")
    rest = url[len(scheme):]
    if "@" in rest:
        raise _wrong_url("has a user before its host: the token is an argument of its own")
    if "?" in rest or "#" in rest:
        raise _wrong_url("has a query")
    server = rest.split("/", 1)[0]
    colon = server.rfind(":")
    host, port = (server, "") if colon <= server.rfind("]") else (server[:colon], server[colon + 1:])
    if not host:
        raise _wrong_url("names no host")
    if port and not (port.isdigit() and 0 < int(port) <= _LAST_PORT):
        raise _wrong_url("has no port such as 8585")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _proxy_to(url: urllib.parse.SplitResult) -> Optional[str]:
    """The one that the environment names. To this machine there is none: it would reach another one."""
    if _is_this_machine(url.hostname or "") or urllib.request.proxy_bypass(url.netloc):
        return None
    return urllib.request.getproxies().get(url.scheme)


def opener_of(url: str) -> Tuple[str, urllib.request.OpenerDirector, Optional[str]]:
    """The URL that paths are added to, its opener, and the proxy that it asks, without the password of that.

    For ``unix:/run/semel/admin.sock`` the opener is that of the socket.
    """
    if not isinstance(url, str):
        raise TypeError(f"the URL of the run is text, not {type(url).__name__}")
    if url.lower().startswith(_SOCKET):
        return "http://localhost", _socket_opener(url[len(_SOCKET):]), None
    _check_http(url)
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        raise _wrong_url("has no address between its brackets") from None
    proxy = _proxy_to(parts)
    handler = urllib.request.ProxyHandler({} if proxy is None else {parts.scheme: proxy})
    shown = None if proxy is None else proxy.rpartition("@")[2]
    return url.rstrip("/"), urllib.request.build_opener(handler, _NoRedirect), shown


def authorization_of(token: str) -> bytes:
    """The header of a token, which may have the line's end of its file. No message repeats the token."""
    if not isinstance(token, str):
        raise TypeError(f"a token is text, not {type(token).__name__}")
    secret = token.strip()
    wrong = None
    if not secret:
        wrong = "is empty"
    elif _CONTROL.search(secret):
        wrong = "has a control character in it, such as the end of a line"
    elif any("\ud800" <= character <= "\udfff" for character in secret):
        wrong = "cannot be written in UTF-8"
    if wrong is not None:
        raise Refused(f"the token {wrong}", _WRONG, "the secret of one of admin.auth.tokens, and nothing else")
    return b"Bearer " + secret.encode()


def is_misdirected(error: BaseException) -> bool:
    """Whether it is the URL of a proxy that cannot be used: the run's own was checked."""
    return isinstance(error, http.client.InvalidURL) or (
        isinstance(error, urllib.error.URLError) and isinstance(error.reason, str))


def misdirected() -> Refused:
    return Refused("the environment names a proxy whose URL cannot be used", _WRONG,
                   "mend http_proxy or https_proxy, or name the host of the run in no_proxy")
