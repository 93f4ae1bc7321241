"""The wire contract in Python, written from spec/README.md alone: the standard library is enough."""

import base64
import hashlib
import json
import re

NO_FINGERPRINT = bytes(16)
SHORTEST_BUSY, LONGEST_BUSY = 10, 5000

_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ULID_DIGITS = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = re.compile(rb"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_POSITION = re.compile(rb"(|.*[^0-9])(0|[1-9][0-9]{0,19})", re.DOTALL)
_DIGEST, _UUID_CLASS, _ULID_CLASS, _POSITION_CLASS = range(4)


def sha256_of_parts(domain, *parts):
    """The first 16 bytes of SHA-256 over the parts, each behind its length in 8 bytes."""
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in (domain, *parts))
    return hashlib.sha256(whole).digest()[:16]


def key_id(consumer, key, by_position=False):
    """The id of a record: 20 bytes."""
    def of_class(number, tail):
        return (consumer << 2 | number).to_bytes(4, "big") + tail

    if by_position and (found := _POSITION.fullmatch(key)) and int(found[2]) < 2 ** 64:
        partition = sha256_of_parts(b"semel.partition", found[1])[:8]
        return of_class(_POSITION_CLASS, partition + int(found[2]).to_bytes(8, "big"))
    if _UUID.fullmatch(key):
        return of_class(_UUID_CLASS, bytes.fromhex(key.replace(b"-", b"").decode()))
    if _ULID.fullmatch(key):
        number = 0
        for digit in key:
            number = number * 32 + _ULID_DIGITS.index(digit)
        return of_class(_ULID_CLASS, number.to_bytes(16, "big"))
    return of_class(_DIGEST, sha256_of_parts(b"semel.key", key))


def fingerprint(payload):
    """Of a payload; all zero where nothing is said of it (None)."""
    return NO_FINGERPRINT if payload is None else hashlib.sha256(payload).digest()[:16]


def same(recorded, arrived):
    """Whether two payloads count as the same."""
    return arrived in (NO_FINGERPRINT, recorded)


def header_text(headers):
    """Headers as a row of a queue has them."""
    return b"".join(b"%d:%s," % (len(part), part) for header in headers for part in header)


def _busy(milliseconds):
    return {"outcome": "busy", "retry_after": min(max(milliseconds, SHORTEST_BUSY), LONGEST_BUSY)}


def _acquired(record, request):
    record.update(state="consuming", nonce=request["nonce"], lease_until=request["lease"],
                  attempt=record["attempt"] + 1)
    record.pop("next_at", None)
    return {"outcome": "new", "attempt": record["attempt"], "taken_over": record["outcome_unknown"]}


def claim(record, request):
    """(answer, record behind it). Times are milliseconds from now; record: None where there is none."""
    if record is None:
        record = {"fingerprint": request["fingerprint"], "attempt": 0, "outcome_unknown": False,
                  "reason": "", "error": ""}
        return _acquired(record, request), record
    record = dict(record)
    if not same(bytes.fromhex(record["fingerprint"]), bytes.fromhex(request["fingerprint"])):
        return {"outcome": "conflict"}, record
    state = record["state"]
    if state == "completed":
        return {"outcome": "duplicate", "result": record["result"]}, record
    if state in ("parked", "dead"):
        return {"outcome": state, "reason": record["reason"]}, record
    if state == "consuming":
        if record["lease_until"] > 0 and record["nonce"] == request["nonce"]:
            record["lease_until"] = request["lease"]
            return {"outcome": "new", "attempt": record["attempt"],
                    "taken_over": record["outcome_unknown"]}, record
        if record["lease_until"] > 0:
            return _busy(record["lease_until"]), record
        record["outcome_unknown"] = True
    elif record["next_at"] > 0:
        return {"outcome": "retry", "retry_after": record["next_at"]}, record
    return _acquired(record, request), record


def end(record, ending):
    """(answer, record behind it) of renew, complete, retry, dead and release."""
    if record is None or record["state"] != "consuming" or record["nonce"] != ending["nonce"]:
        return "lease_lost", record
    record = dict(record)
    if ending["call"] == "renew":
        record["lease_until"] = ending["lease"]
        return "renewed", record
    if ending["call"] == "complete":
        return "done", {"state": "completed", "fingerprint": record["fingerprint"],
                        "result": ending["result"]}
    del record["nonce"], record["lease_until"]
    if ending["call"] == "release":
        record["attempt"] = max(record["attempt"] - 1, 0)
        if not (record["attempt"] or record["outcome_unknown"] or record["reason"] or record["error"]):
            return "released", None
        record.update(state="retrying", next_at=0)
        return "released", record
    record.update(reason=ending["reason"], error=ending["error"])
    if ending["call"] == "dead":
        record["state"] = "dead"
        return "dead", record
    record.update(state="retrying", next_at=max(ending["after"], 0))
    return "retry", record


def letter_of(line):
    """A line of an export of dead letters, its bytes as bytes. ValueError: it is none."""
    letter = json.loads(line)
    if letter.get("schema") != "semel.v1.dead_letter_export":
        raise ValueError("schema")

    def plain(members):
        made = {}
        for name, value in members.items():
            if name.endswith("_base64"):
                made[name.removesuffix("_base64")] = base64.b64decode(value, validate=True)
            else:
                made[name] = value.encode() if isinstance(value, str) else value
        return made

    letter = plain(letter)
    letter["headers"] = [plain(header) for header in letter["headers"]]
    if hashlib.sha256(letter["payload"]).hexdigest().encode() != letter["payload_sha256"]:
        raise ValueError("payload_sha256")
    return letter


def line_of(letter):
    """The line that an export has for it."""
    def written(name, value):
        if not isinstance(value, bytes):
            return f'"{name}":{json.dumps(value)}'
        try:
            return f'"{name}":{json.dumps(value.decode(), ensure_ascii=False)}'
        except UnicodeDecodeError:
            return f'"{name}_base64":"{base64.b64encode(value).decode()}"'

    def object_of(members):
        return "{" + ",".join(written(*member) for member in members.items()) + "}"

    members = [written(name, value) if name != "headers" else
               '"headers":[' + ",".join(object_of(header) for header in value) + "]"
               for name, value in letter.items()]
    return "{" + ",".join(members) + "}"
