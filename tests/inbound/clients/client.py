"""Sends requests with the standard library of Python and prints what came back."""

import json
import sys
import urllib.error
import urllib.request

URL = sys.argv[1] + "/charges"


def charge(key, amount):
    form = {"content-type": "application/x-www-form-urlencoded", "idempotency-key": key}
    request = urllib.request.Request(URL, data=f"amount={amount}".encode(), headers=form, method="POST")
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        answer = error
    text = answer.read().decode()
    body = json.loads(text) if text else {}
    return [answer.status, answer.headers.get("idempotent-replayed"), body.get("id") or body.get("code")]


KEYS = ["py-7", "py-7", '"py-7"', "py-7"]
print(json.dumps([charge(key, 1400) for key in KEYS] + [charge("py-7", 1500)]))
