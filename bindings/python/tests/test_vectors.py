"""The vectors of the wire contract (spec/): fingerprints, and what claims in memory answer and leave behind."""

import base64
import json
import os
import pathlib

import pytest

import semel
import semel.testing
from semel._claim import fingerprint_of

SPEC = pathlib.Path(os.environ["SEMEL_SPEC"])
KEY = "k"
# Claims in memory answer for a retry that is not due as those over HTTP do.
SAID = {"retry": "busy"}
ENDS = {"complete": "done", "retry": "retry", "dead": "dead", "release": "release"}


def vectors(name, part):
    return [pytest.param(one, id=one["name"]) for one in json.loads((SPEC / f"{name}.json").read_text())[part]
            # Parking is a person's, and claims in memory draw every nonce themselves.
            if "parked" not in json.dumps(one) and "and its lease" not in one["name"]]


def content(one, name):
    if f"{name}_base64" in one:
        return base64.b64decode(one[f"{name}_base64"])
    return one[name] * one.get("times", 1)


def record_of(told):
    if told is None:
        return None
    return semel.testing._Record(
        state=told["state"], fingerprint=bytes.fromhex(told["fingerprint"]), nonce=told.get("nonce", ""),
        until=told.get("lease_until", told.get("next_at", 0)) / 1000, attempt=told.get("attempt", 0),
        in_the_dark=told.get("outcome_unknown", False), result=(told.get("result") or "").encode() or None)


def seen(record):
    """What both sides know of a record in its state."""
    if record is None:
        return None
    if record.state == "completed":
        return record.state, record.fingerprint, record.result or None
    until = None if record.state == "dead" else record.until
    return record.state, record.fingerprint, record.attempt, record.in_the_dark, until


def holding(record):
    claims = semel.testing.MemoryClaims()
    if record is not None:
        claims._records[KEY] = record_of(record)
    return claims


@pytest.mark.parametrize("one", [one for one in json.loads((SPEC / "fingerprints.json").read_text())["fingerprints"]
                                 if one.get("payload") is not None or "payload_base64" in one])
def test_payloads_have_their_fingerprints(one):
    assert fingerprint_of(content(one, "payload")).hex() == one["fingerprint"]


@pytest.mark.parametrize("one", vectors("claims", "claims"))
def test_claims_are_answered(one, monkeypatch):
    asked, answer = one["claim"], one["answer"]
    if one["record"] and one["record"].get("nonce") == asked["nonce"]:
        pytest.skip("the nonce is drawn by the claims themselves")
    monkeypatch.setattr(semel.testing, "fingerprint_of", bytes.fromhex)
    claims = holding(one["record"])
    claims.lease = asked["lease"] / 1000
    held = claims.claim(KEY, asked["fingerprint"])
    assert held.outcome == SAID.get(answer["outcome"], answer["outcome"])
    if held.first:
        assert (held.attempt, held.taken_over) == (answer["attempt"], answer["taken_over"])
    if "result" in answer:
        assert (held.result or b"").decode() == answer["result"]
    assert seen(claims._records.get(KEY)) == seen(record_of(one["after"]))


@pytest.mark.parametrize("one", vectors("endings", "endings"))
def test_leases_end(one):
    claims, end = holding(one["record"]), one["end"]
    held = semel.Claim(claims, KEY, semel.Outcome.NEW, nonce=end["nonce"], lease=60.0)

    def ends():
        if end["call"] == "renew":
            return claims.renew_claim(held, end["lease"] / 1000)
        kept = end.get("result", "").encode() or None
        return claims.end_claim(held, ENDS[end["call"]], kept, max(end.get("after", 0), 0) / 1000, "")

    if one["answer"] == "lease_lost":
        with pytest.raises(semel.LeaseLost):
            ends()
    else:
        ends()
    after = one["after"]
    # Claims in memory keep no reasons: a first attempt that tells of nothing else goes.
    if end["call"] == "release" and after and after["state"] == "retrying" and after["attempt"] == 0:
        after = None
    assert seen(claims._records.get(KEY)) == seen(record_of(after))
