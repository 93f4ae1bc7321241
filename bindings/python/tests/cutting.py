"""A proxy before a server, that cuts one connection: before a message of the client's, or behind its answer; or
that lets it hang, with nothing said."""

import contextlib
import socket
import threading

BEFORE, LOST_ANSWER, HANGS = "before it", "its answer", "it hangs"


class Cutting:
    """Passes bytes on. ``cut(mark, how)`` waits for the next message that has the mark."""

    def __init__(self, host, port):
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._mark = self._how = None
        self.cuts = 0
        threading.Thread(target=self._accepts, daemon=True).start()

    def cut(self, mark, how):
        with self._lock:
            self._mark, self._how = mark, how

    def stop(self):
        self._listener.close()

    def _accepts(self):
        with contextlib.suppress(OSError):  # it is stopped
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                answers = threading.Event()
                answers.set()
                threading.Thread(target=self._asks, args=(client, server, answers), daemon=True).start()
                threading.Thread(target=self._answers, args=(server, client, answers), daemon=True).start()

    def _found(self, piece):
        with self._lock:
            if self._mark is None or self._mark not in piece:
                return None
            self._mark = None
            self.cuts += 1
            return self._how

    def _asks(self, client, server, answers):
        with contextlib.suppress(OSError):
            while piece := client.recv(1 << 16):
                how = self._found(piece)
                if how == BEFORE:
                    break
                if how == HANGS:
                    while client.recv(1 << 16):  # until the client gives it up
                        pass
                    break
                if how == LOST_ANSWER:
                    answers.clear()
                server.sendall(piece)
        _close(client, server)

    @staticmethod
    def _answers(server, client, answers):
        with contextlib.suppress(OSError):
            while piece := server.recv(1 << 16):
                if not answers.is_set():
                    break
                client.sendall(piece)
        _close(server, client)


def _close(*sockets):
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
