"""A worker without a database driver: it claims each message over HTTP, sends it, and says so."""

import json
import os
import sys
import time
import urllib.request

URL = os.environ["SEMEL_URL"] + "/api/v1/consumers/mails/claims"
TOKEN = open("mailer_token", encoding="utf-8").read().strip()
DIES_AT = os.environ.get("DIES_AT")


def call(path, body):
    request = urllib.request.Request(URL + path, data=json.dumps(body).encode(), method="POST")
    request.add_header("Authorization", "Bearer " + TOKEN)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["claims"][0]


def claim(key, line):
    while True:
        claimed = call("", {"claims": [{"key": key, "payload": line}]})
        if claimed["outcome"] not in ("busy", "retry"):
            return claimed
        time.sleep(min(claimed["retry_after_ms"], 1000) / 1000)


for line in sys.stdin.read().splitlines():
    message = json.loads(line)
    claimed = claim(message["id"], line)
    print(message["id"], "to", message["to"] + ":", claimed["outcome"], flush=True)
    if claimed["outcome"] != "new":
        continue
    with open("sent.txt", "a", encoding="utf-8") as sent:
        sent.write(message["to"] + "\n")
    if message["id"] == DIES_AT:
        os._exit(1)
    call("/finish", {"claims": [{"key": message["id"], "nonce": claimed["nonce"], "as": "done"}]})
