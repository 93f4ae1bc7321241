"""Claims over HTTP on the Unix socket of a run."""

import os
import stat

import pytest

import semel


def test_a_key_is_claimed_and_done_without_a_token(run):
    mails = semel.HttpClaims(run.socket_url, consumer="mails")
    held = mails.claim("a", "payload")
    assert held.first
    held.renew()
    held.done("sent")
    assert mails.claim("a", "payload").result == b"sent"
    assert run.claims().claim("a", "payload").outcome is semel.Outcome.DUPLICATE, "one store"


def test_a_run_that_was_killed_leaves_a_socket_that_the_next_one_replaces(run):
    mails = semel.HttpClaims(run.socket_url, consumer="mails", patience=60)
    held = mails.claim("a")
    path = run.folder / "admin.sock"
    run.kill()
    assert stat.S_ISSOCK(path.stat().st_mode), "it is left"
    with pytest.raises(semel.Unavailable):
        semel.HttpClaims(run.socket_url, consumer="mails", patience=0).claim("b")
    run.start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and path.stat().st_uid == os.geteuid()
    held.done()
    assert mails.claim("a").outcome is semel.Outcome.DUPLICATE
    run.stop()
    assert not path.exists() and not (run.folder / "admin.sock.lock").exists()


def test_what_the_socket_does_not_give_is_refused(run):
    with pytest.raises(semel.Refused) as refused:
        semel.HttpClaims(run.socket_url, consumer="payments").claim("a")
    assert refused.value.code == "R342"
    with pytest.raises(semel.Refused) as refused:
        semel.HttpClaims(run.socket_url, consumer="mails", token="of somebody else").claim("a")
    assert refused.value.code == "R341"


@pytest.mark.parametrize("path", ["", "admin.sock", "//host/admin.sock", "/run/semel/", "/run/a\0b", "/" + "s" * 107],
                         ids=["none", "relative", "with a host", "a folder", "with a zero", "too long"])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(semel.Refused, match="socket") as refused:
        semel.HttpClaims("unix:" + path, consumer="mails")
    assert refused.value.code == "R361" and "unix:/run/semel/admin.sock" in refused.value.fix
