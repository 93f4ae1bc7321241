"""Claims by HTTP requests to a ``semel run``: the lease protocol, on any store. Standard library alone."""

from __future__ import annotations

import http
import http.client
import json
import time
import urllib.error
import urllib.request
import uuid
from base64 import b64decode, b64encode
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Optional, Sequence
from urllib.parse import quote

from ._claim import (
    Claim,
    Item,
    Outcome,
    Payload,
    as_bytes,
    check_timeout,
    fingerprint_of,
    key_fault,
    lease_clock,
)
from ._errors import Refused, Unavailable, lease_lost, shown_key
from ._transport import PROXY_FIX, authorization_of, is_misdirected, misdirected, opener_of

_FIRST_WAIT = 0.02
_LONGEST_WAIT = 1.0
_SHORTEST_TIMEOUT = 1.0
# What one call to a run may have, its items alone, and what stands between them.
_MOST_ITEMS = 250
_LONGEST_CALL = 64 * 1024
_MOST_BYTES = 63 * 1024
_BETWEEN = 2
# The codes of a call that is wrong in itself, and of a URL where no run answers.
_WRONG = "R344"
_NO_RUN = "R362"
# Nothing is known of such a call, or it was not begun: it is asked again.
_PASSING = (408, 429, 500, 502, 503, 504)


@dataclass
class End:
    """How a claim of a batch ends: ``how`` is done, retry, dead or release."""

    claim: Claim
    how: str = "done"
    result: Optional[Payload] = None
    after: Optional[float] = None
    error: str = ""


# What belongs to each end.
_PARTS: dict[str, tuple[str, ...]] = {
    "done": ("result",), "retry": ("after", "error"), "dead": ("error",), "release": ()}


def check_how(how: str) -> None:
    if how not in _PARTS:
        raise Refused(f"a claim does not end as {how!r}", _WRONG, "as done, retry, dead or release")


def checked_ends(ends: Iterable[End]) -> list[End]:
    """All of them. Raises where one is wrong: nothing is done then of any."""
    checked = list(ends)
    for end in checked:
        end.claim._held()
        check_how(end.how)
        given = {"result": end.result is not None, "after": end.after is not None, "error": bool(end.error)}
        strange = [part for part, is_given in given.items() if is_given and part not in _PARTS[end.how]]
        if strange:
            raise Refused(f"{end.how!r} has no {strange[0]!r}: nothing would become of it", _WRONG,
                          "result belongs to done, after to retry, error to retry and dead")
        if end.result is not None:
            as_bytes(end.result)
    return checked


@contextmanager
def ended_by(ends: Iterable[End]) -> Iterator[list[End]]:
    """Around the call that ends them all: what a block has said of its claim is believed, answered or not."""
    checked = checked_ends(ends)
    with ExitStack() as stack:
        for end in checked:
            stack.enter_context(end.claim._ended_by(end.how))
        yield checked


def give_back(claims: Any, answered: Iterable[Claim]) -> None:
    """Releases claims that nobody is told of. Where that fails their leases end by themselves."""
    taken = [End(one, "release") for one in answered if one.first]
    if taken:
        with suppress(Exception):
            claims.finish_many(taken)


def _milliseconds(seconds: float) -> str:
    return f"{max(0, round(seconds * 1000))}ms"


class _TooLarge(Exception):
    """The body of the call is larger than a run takes."""


class _NoAnswer(Exception):
    """It is no answer of a run to so many items: a proxy's, perhaps."""


# A run that is killed in the middle of its answer, a proxy, a connection that breaks.
_FAULTS = (OSError, http.client.HTTPException, _NoAnswer)


def _too_large() -> Refused:
    return Refused(f"the call is larger than a run takes: {_LONGEST_CALL} bytes", _WRONG, "fewer keys at a time")


def _unread(answer: dict[str, Any]) -> Refused:
    return Refused(f"{shown_key(answer['key'])}: its effect has happened, and its result of {answer['result_bytes']} "
                   "bytes is larger than an answer of a run", None, "claim it by SQL, which answers with any result")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _size_of(item: dict[str, Any]) -> int:
    return len(_json(item)) + _BETWEEN


def _item_of(end: End) -> dict[str, Any]:
    item = {"key": end.claim.key, "nonce": end.claim.nonce, "as": end.how}
    if end.result is not None:
        item["result_base64"] = b64encode(as_bytes(end.result)).decode()
    if end.after is not None:
        item["after"] = _milliseconds(end.after)
    if end.error:
        item["error"] = plain_text(end.error)
    return item


def _in_calls(items: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The items in their order, as many at a time as one call takes."""
    call: list[dict[str, Any]] = []
    size = 0
    for item in items:
        length = _size_of(item)
        if call and (len(call) == _MOST_ITEMS or size + length > _MOST_BYTES):
            yield call
            call, size = [], 0
        call.append(item)
        size += length
    yield call


def _error_of(error: urllib.error.HTTPError) -> Refused:
    if http.HTTPStatus.MULTIPLE_CHOICES <= error.code < http.HTTPStatus.BAD_REQUEST:
        return Refused(f"HTTP {error.code}: the URL of the run leads to another one", _NO_RUN,
                       "the URL of admin.listen, with the prefix of a proxy where there is one")
    try:
        body = error.read()
    except _FAULTS:
        body = b""
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if isinstance(told, dict):
        return Refused(told.get("detail", f"HTTP {error.code}"), told.get("code"), told.get("fix"))
    return Refused(f"HTTP {error.code}: {body[:200].decode(errors='replace').strip()}")


def _answers_of(body: bytes, asked: int) -> list[dict[str, Any]]:
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    answers = told.get("claims") if isinstance(told, dict) else None
    if not isinstance(answers, list) or len(answers) != asked or not all(
            isinstance(one, dict) and "outcome" in one for one in answers):
        raise _NoAnswer(f"no answer of a run: {body[:200].decode(errors='replace').strip()}")
    return answers


def _call_fault(asked: dict[str, Any]) -> Optional[str]:
    """Why no call to a run can have the key."""
    size = _size_of(asked)
    return f"the key takes {size} bytes of a call, which has {_MOST_BYTES} for it" if size > _MOST_BYTES else None


def plain_text(said: str) -> str:
    """Without the halves of characters that a wrongly decoded error has: the run refuses them."""
    return said[:1000].encode(errors="replace").decode()


class HttpClaims:
    """Claims keys of a consumer whose source is ``claims``. Thread-safe.

    ``url``: of the run, as ``http://127.0.0.1:8585``, or ``unix:`` and the path of its socket.
    ``token``: None where the socket gives the claims to whoever may connect.
    ``lease``: seconds that a claim is good without renewal; None: as the consumer's config says.
    ``patience``: for how many seconds a call is asked again while the run or its store does not answer.
    ``timeout``: of one request, in seconds.
    """

    def __init__(self, url: str, *, token: Optional[str] = None, consumer: str,
                 lease: Optional[float] = None, patience: float = 30.0, timeout: float = 15.0) -> None:
        self.consumer = consumer
        self.lease = lease
        base, self._opener, proxy = opener_of(url)
        self._url = url
        self._through = f" through the proxy {proxy}" if proxy else ""
        self._proxy_fix = PROXY_FIX if proxy else None
        self._claims = f"{base}/api/v1/consumers/{quote(consumer, safe='')}/claims"
        self._headers: dict[str, Any] = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = authorization_of(token)
        check_timeout(timeout)
        self._patience = patience
        self._timeout = timeout

    def claim(self, key: str, payload: Optional[Payload] = None) -> Claim:
        """Asks for one key. Give a payload always, or never."""
        return self.claim_many([(key, payload)])[0]

    def claim_many(self, items: Sequence[Item]) -> list[Claim]:
        """Asks for several keys in one request, each with its payload or None; answers in their order."""
        claims: list[dict[str, Any]] = []
        invalid: list[Optional[Claim]] = []  # in the places of the items; None: it is asked for
        for key, payload in items:
            asked = {"key": key}
            if payload is not None:
                asked["fingerprint"] = fingerprint_of(payload).hex()
            fault = key_fault(key) or _call_fault(asked)
            invalid.append(None if fault is None else Claim.invalid(self, key, fault))
            if fault is None:
                claims.append(asked)
        answered = iter(self._asked_for(claims) if claims else ())
        return [one or next(answered) for one in invalid]

    def _asked_for(self, claims: list[dict[str, Any]]) -> list[Claim]:
        """The answers. One whose result found no room beside those of the others is asked for alone."""
        # The same claims are given where this very request is asked again.
        body: dict[str, Any] = {"request": uuid.uuid4().hex, "claims": claims}
        if self.lease is not None:
            body["lease"] = _milliseconds(self.lease)
        # Of the first try, whose answer may be the one that is lost.
        begun = lease_clock()
        answers = self._post("", body)
        answered = [self._claim_of(answer, begun) for answer in answers]
        try:
            for place, answer in enumerate(answers):
                if "result_bytes" in answer:
                    if len(claims) == 1:
                        raise _unread(answer)
                    answered[place] = self._asked_for([claims[place]])[0]
        except BaseException:
            give_back(self, answered)
            raise
        return answered

    def finish_many(self, ends: Iterable[End]) -> list[bool]:
        """Ends several claims in few requests; False where a lease was lost, and nothing was changed.

        Where a result cannot be kept its claim is done without it, and after all others Refused is raised.
        After Unavailable ``ended`` of each claim says whether it is: give the others once more.
        """
        with ended_by(ends) as said:
            return self._finish_all(said)

    def _finish_all(self, said: list[End]) -> list[bool]:
        answers = self._finish(said)
        unkept = [end for end, answer in zip(said, answers)
                  if answer["outcome"] == "invalid" and end.how == "done" and end.result is not None]
        if unkept:
            self.finish_many([End(end.claim) for end in unkept])
        for end, answer in zip(said, answers):
            if answer["outcome"] == "invalid":
                raise Refused(f"{shown_key(end.claim.key)}: {answer['reason']}", answer.get("code"),
                              answer.get("fix"))
        return [answer["outcome"] != "lease_lost" for answer in answers]

    def _finish(self, said: list[End]) -> list[dict[str, Any]]:
        items = [_item_of(end) for end in said]
        answers: list[dict[str, Any]] = []
        for asked in _in_calls(items):
            try:
                answered = self._send("/finish", {"claims": asked})
            except _TooLarge:
                refused = _too_large()
                # It is alone, and its result is what makes it so.
                if len(asked) > 1 or "result_base64" not in asked[0]:
                    raise refused from None
                answered = [{"outcome": "invalid", "reason": refused.message, "code": refused.code,
                             "fix": "a shorter result"}]
            for end, answer in zip(said[len(answers):], answered):
                end.claim.ended = answer["outcome"] != "invalid"
            answers += answered
        return answers

    def end_claim(self, claim: Claim, how: str, result: Optional[bytes], after: Optional[float],
                  error: str) -> None:
        if not self.finish_many([End(claim, how, result, after, error)])[0]:
            raise lease_lost(claim.key)

    def renew_claim(self, claim: Claim, lease: Optional[float]) -> None:
        body: dict[str, Any] = {"claims": [{"key": claim.key, "nonce": claim.nonce}]}
        seconds = lease if lease is not None else self.lease
        if seconds is not None:
            body["lease"] = _milliseconds(seconds)
        # A caller that waits longer for one answer misses the end of the lease.
        third = (seconds or claim.lease or self._patience) / 3
        begun = lease_clock()
        if self._post("/renew", body, third)[0]["outcome"] != "renewed":
            raise lease_lost(claim.key)
        good_for = seconds if seconds is not None else claim.lease
        if good_for is not None:
            claim.good_until = begun + good_for

    def _claim_of(self, answer: dict[str, Any], asked: float) -> Claim:
        result = answer.get("result")
        kept = b64decode(answer["result_base64"]) if "result_base64" in answer else (
            None if result is None else result.encode())
        after = answer.get("retry_after_ms")
        lease = answer.get("lease_ms")
        made = Claim(self, answer["key"], Outcome(answer["outcome"]), result=kept,
                     retry_after=None if after is None else after / 1000,
                     reason=answer.get("reason"), nonce=answer.get("nonce"),
                     token=answer.get("token"), attempt=answer.get("attempt", 1),
                     taken_over=answer.get("taken_over", False),
                     lease=None if lease is None else lease / 1000)
        if made.lease is not None:
            made.good_until = asked + made.lease
        return made

    def _post(self, path: str, body: dict[str, Any],
              at_most: Optional[float] = None) -> list[dict[str, Any]]:
        try:
            return self._send(path, body, at_most)
        except _TooLarge:
            raise _too_large() from None

    def _send(self, path: str, body: dict[str, Any],
              at_most: Optional[float] = None) -> list[dict[str, Any]]:
        """Raises a _TooLarge where the run would not take it: it may close the connection while that is sent."""
        content = _json(body)
        if len(content) > _LONGEST_CALL:
            raise _TooLarge
        patience, timeout = self._patience, self._timeout
        if at_most is not None:
            patience, timeout = min(patience, at_most), min(timeout, max(at_most, _SHORTEST_TIMEOUT))
        last = time.monotonic() + patience
        wait = _FIRST_WAIT
        while True:
            code = fix = None
            # A request that was sent through a proxy is changed by that.
            request = urllib.request.Request(self._claims + path, data=content, method="POST",
                                             headers=self._headers)
            try:
                with self._opener.open(request, timeout=timeout) as answer:
                    return _answers_of(answer.read(), len(body["claims"]))
            except urllib.error.HTTPError as error:
                if error.code == http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                    raise _TooLarge from None
                said = _error_of(error)
                if error.code not in _PASSING:
                    raise self._perhaps_of_proxy(said) from None
                why, code, fix = said.message, said.code, said.fix
            except _FAULTS as error:
                if is_misdirected(error):
                    raise misdirected() from None
                why = str(error) or type(error).__name__
            if time.monotonic() + wait > last:
                raise Unavailable(f"{self._url}{self._through}: {self.consumer}{path}: {why}", code,
                                  fix or self._proxy_fix)
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _perhaps_of_proxy(self, said: Refused) -> Refused:
        """With the proxy that it came through, where it is no error of a run's."""
        if said.code is not None or not self._through:
            return said
        return Refused(f"{said.message} (to {self._url}{self._through})", _NO_RUN, self._proxy_fix)
