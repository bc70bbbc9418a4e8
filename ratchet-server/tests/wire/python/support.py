"""What the programs of these tests share."""

import json
import sys
import threading
import time

from getratchet import Ratchet, RatchetError

URL = sys.argv[1]


def finish(result):
    """Says what the program found out."""
    json.dump(result, sys.stdout)


def refused(call):
    """The class, status and code of the error that a call ends with."""
    try:
        answer = call()
    except RatchetError as error:
        return [type(error).__name__, error.status, error.code]
    return answer


def step(client, step_id):
    """How a step stands."""
    return client.request(f"/steps/{step_id}", "GET")


def wait_for(client, step_id, *states, seconds=30):
    """The step once it is in one of these states."""
    deadline = time.monotonic() + seconds
    while True:
        found = step(client, step_id)
        if found["state"] in states:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{step_id} is still {found}")
        time.sleep(0.05)


class Working:
    """A worker of the published client that runs while the block does."""

    def __init__(self, key, handlers, **options):
        self.client = Ratchet(URL, key)
        for (name, version), handler in handlers.items():
            self.client.register_tool(name, version, handler)
        self.errors = []
        options = {"concurrency": 4, "poll_interval_seconds": 1, **options}
        self.thread = threading.Thread(
            target=self.client.worker.start, kwargs={**options, "on_error": self.errors.append}
        )

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.client.worker.stop()
        self.thread.join()
