"""A worker that asks its destination for an effect, and says so; it is killed before it reports."""

from support import *

worker_key, destination = sys.argv[2:]


def charge(payload, context):
    with open(destination, "a") as effects:
        effects.write(f"{context.idempotency_key} {context.attempt}\n")
    print("acted", flush=True)
    time.sleep(600)


worker = Ratchet(URL, worker_key)
worker.register_tool("charge", "1", charge)
worker.worker.start(concurrency=1, poll_interval_seconds=1)
