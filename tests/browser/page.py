"""A tab as a person uses it, and what it complains of meanwhile."""

import json
import re
import urllib.parse

from chromium import Never

# Rules of WCAG 2.2, levels A and AA.
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


class Page:
    """Its functions wait until what they do is done."""

    def __init__(self, browser, url, token, axe):
        self.browser = browser
        self.url = url
        self.axe = axe
        self.complaints = []
        self.allowed = set()  # statuses that a page is meant to be answered with
        self._dialog = None
        self._asked = False
        self._loaded = False
        browser.listeners.append(self._heard)
        for domain in ("Page", "Runtime", "Network", "Log"):
            browser.call(f"{domain}.enable")
        browser.call("Network.setExtraHTTPHeaders", headers={"Authorization": f"Bearer {token}"})
        self.look(1280, "light")

    def _heard(self, method, said):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Page.javascriptDialogOpening":
            self._asked = True
            if self._dialog is None:
                self.complaints.append(f"it asks: {said['message']}")
            self.browser.begin("Page.handleJavaScriptDialog", accept=bool(self._dialog))
        elif method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + " ".join(str(one.get("value")) for one in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            if not self._is_allowed(said["entry"]):
                self.complaints.append(f"log: {said['entry']['text']} {said['entry'].get('url', '')}")
        elif method == "Network.loadingFailed" and not said.get("canceled"):
            self.complaints.append(f"a request failed: {said.get('errorText')} {said.get('blockedReason', '')}")
        elif method == "Network.responseReceived":
            answer = said["response"]
            if answer["status"] >= 400 and answer["status"] not in self.allowed:
                self.complaints.append(f"{answer['status']} for {answer['url']}")

    def _is_allowed(self, entry):
        status = re.search(r"status of (\d+)", entry["text"])
        return status is not None and int(status.group(1)) in self.allowed

    def look(self, width, theme):
        """From a screen so wide, in the theme."""
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                          mobile=width < 500)
        self.browser.call("Emulation.setEmulatedMedia",
                          features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, path):
        """The page at this path, loaded."""
        self._loaded = False
        self.browser.call("Page.navigate", url=self.url + path)
        self.browser.until(f"{path} is loaded", lambda: self._loaded)

    def value(self, expression):
        """What the page says of itself."""
        answer = self.browser.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Never(f"{expression[:80]}: {answer['exceptionDetails'].get('exception', answer['exceptionDetails'])}")
        return answer["result"].get("value")

    def comes_true(self, what, expression):
        """Waits for it, also over a navigation."""
        def is_true():
            try:
                return self.value(expression)
            except Never:
                return False  # the page was left meanwhile
        self.browser.until(f"{what}, at {self.value('location.href')}", is_true)

    def shows(self, *what):
        """shows(text), or shows(selector, text)."""
        selector, text = ("main", what[0]) if len(what) == 1 else what
        self.comes_true(f"{text!r} in {selector}",
                        f"(document.querySelector({json.dumps(selector)})?.textContent ?? '').includes({json.dumps(text)})")

    @staticmethod
    def _element(selector):
        with_text = re.fullmatch(r"(.*):has-text\((.*)\)", selector)
        if not with_text:
            return f"document.querySelector({json.dumps(selector)})"
        css, text = (json.dumps(one) for one in with_text.groups())
        return f"[...document.querySelectorAll({css})].find(e => e.textContent.trim() === {text} && !e.hidden)"

    def click(self, selector, dialog=None, leaves=True):
        """By the mouse. `dialog`: it is asked, and answered so. `leaves`: a page is loaded by it, unless the
        answer is no."""
        element = self._element(selector)
        self.comes_true(f"{selector} can be clicked", f"(() => {{ const e = {element}; return !!e && !e.disabled; }})()")
        self._dialog, self._asked, self._loaded = dialog, False, False
        where = self.value(f"(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center' }});"
                           " const r = e.getClientRects()[0];"
                           " return [r.left + r.width / 2, r.top + r.height / 2]; })()")
        mouse = {"x": where[0], "y": where[1], "button": "left", "clickCount": 1}
        self.browser.call("Input.dispatchMouseEvent", type="mousePressed", **mouse)
        # Its answer comes when the dialog is over.
        self.browser.begin("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
        if dialog is not None:
            self.browser.until(f"{selector} asks", lambda: self._asked)
        self._dialog = None
        if leaves and dialog is not False:
            self.browser.until(f"{selector} leads to a page", lambda: self._loaded)

    def choose(self, selector, value):
        """An entry of a select, or the text of a box."""
        self.comes_true(f"{selector} is there", f"!!document.querySelector({json.dumps(selector)})")
        self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
                   " e.dispatchEvent(new Event('change', { bubbles: true })); })()")

    def parameter(self, name):
        """Of the query in the address."""
        query = urllib.parse.urlparse(self.value("location.href")).query
        return urllib.parse.parse_qs(query)[name][0]

    def check(self, name):
        """What is wrong with the page as it is now, by axe."""
        self.value(self.axe)
        found = self.value("axe.run(document, { runOnly: { type: 'tag', values: " + json.dumps(AXE_TAGS) + " }, "
                           "preload: false, resultTypes: ['violations'] }).then(r => r.violations.map(v => v.id + ' (' + "
                           "v.impact + '): ' + v.help + ' at ' + v.nodes.map(n => n.target.join(' ')).join(', ')))")
        self.complaints += [f"{name}: {one}" for one in found]

    def check_width(self, name):
        """Whether the page is wider than its screen."""
        wide = self.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            self.complaints.append(f"{name}: it is {wide} px wider than the screen")
