"""The pages of the dashboard that are looked at, and the acts that are clicked. A page that is new has a
line in PAGES; an act that is new has a function in ACTS."""

# Name of its pictures, path, and a text that shows that it is the page, or a selector and its text. In
# braces what an act left behind: the ids of jobs.
PAGES = [
    ("dead-letters", "/dead-letters", "Dead letters by reason"),
    ("dead-letters-none", "/dead-letters?consumer=quiet", "nothing was given up"),
    ("letters", "/letters?reason=handler.exec.65&where=key~bad-12", "What a replay would do"),
    ("letters-none", "/letters?reason=none", "None matches"),
    ("letters-wrong", "/letters?where=nonsense", "column"),
    ("letter", "/letter?id={letter}", "Payload"),
    ("letter-edited", "/letter?id={edited}", "by browser"),
    ("record", "/record?consumer=payments&key=bad-30", "Timeline"),
    ("record-search", "/record", "Look up a key"),
    ("record-none", "/record?consumer=payments&key=nobody", "No record of"),
    ("consumer", "/consumer?name=payments", "What it guarantees"),
    ("stuck", "/stuck", "Stuck and parked"),
    ("live", "/live", "Deliveries as they end"),
    ("doctor", "/doctor", "Doctor"),
    ("audit", "/audit", "What people did"),
    ("job-paused", "/job?id={paused}", "paused"),
    ("job-over", "/job?id={cancelled}", "cancelled"),
    # The last one: its chart needs a while, and the page draws itself anew until then.
    ("overview", "/", (".legend", "done")),
]


def replay_pause_resume_cancel(page, found):
    """A replay of a group at a rate: begun, paused, resumed, cancelled."""
    page.open("/dead-letters")
    page.click("main table a")
    page.shows("What a replay would do")
    page.choose("#rate", "10/s")
    page.click("button:has-text(Replay)", dialog=False)
    page.shows("What a replay would do")
    page.click("button:has-text(Replay)", dialog=True)
    page.shows("Job ")
    page.click("button:has-text(Pause)")
    page.shows(".state", "paused")
    page.click("button:has-text(Resume)")
    page.shows(".state", "running")
    page.click("button:has-text(Cancel)", dialog=True)
    page.shows(".state", "cancelled")
    found["cancelled"] = page.parameter("id")


def discard(page, found):
    """A group is discarded, and its letters are gone."""
    page.open("/letters?reason=key.missing")
    page.click("button:has-text(Discard)", dialog=True)
    page.shows(".state", "done")
    found["done"] = page.parameter("id")
    page.open("/letters?reason=key.missing")
    page.shows("None matches")


def leave_a_job_paused(page, found):
    """For the pictures of a job that is not over."""
    page.open("/letters?reason=handler.exec.65")
    page.choose("#rate", "10/s")
    page.click("button:has-text(Replay)", dialog=True)
    page.shows("Job ")
    page.click("button:has-text(Pause)")
    page.shows(".state", "paused")
    found["paused"] = page.parameter("id")


def open_a_letter(page, found):
    """From the list to one of its letters."""
    page.open("/letters?reason=handler.exec.65")
    page.click("main table a[href*='letter?']")
    page.shows("Payload")
    found["letter"] = page.parameter("id")


def edit_and_replay(page, found):
    """A letter that cannot be replayed as it is gets another payload; one with another key is refused."""
    page.open("/letters?reason=handler.exec.65&where=key=bad-129")
    page.click("main table a[href*='letter?']")
    page.shows("Edit and replay")
    found["edited"] = page.parameter("id")
    page.click("button:has-text(Edit)", leaves=False)
    page.shows("header p", "needs a reason")
    page.choose("#edit-reason", "ticket 7")
    page.choose("#edit-payload", '{"id": "another"}')
    page.allowed = {422}
    page.click("button:has-text(Edit and replay)", dialog=True, leaves=False)
    page.shows("header p", "another key")
    page.allowed = set()
    page.choose("#edit-payload", '{"id": "bad-129", "is": "good"}')
    page.choose("#edit-set", "x-mended: yes")
    page.click("button:has-text(Edit and replay)", dialog=True)
    page.shows("by browser")
    page.shows('"is": "good"')
    page.shows("x-mended")
    page.shows("1 times")
    page.open("/record?consumer=payments&key=bad-129")
    page.shows("retrying")
    page.open(f"/letter?id={found['edited']}")
    page.shows("Edit and replay")


def refresh_by_itself(page, found):
    """The page draws itself anew, and remembers how often."""
    page.open("/")
    page.choose("#every", "2")
    page.comes_true("a page that was drawn anew",
                    "performance.getEntriesByType('resource').filter(e => e.initiatorType === 'fetch').length > 0")
    page.open("/")
    page.comes_true("the setting that was made", "document.getElementById('every').value === '2'")


ACTS = [replay_pause_resume_cancel, discard, leave_a_job_paused, open_a_letter, edit_and_replay, refresh_by_itself]
