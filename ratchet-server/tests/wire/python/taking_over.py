from support import *

producer_key, worker_key, step_id, destination = sys.argv[2:]
producer = Ratchet(URL, producer_key)


def charge(payload, context):
    with open(destination, "a") as effects:
        effects.write(f"{context.idempotency_key} {context.attempt}\n")
    return "charged"


with Working(worker_key, {("charge", "1"): charge}):
    done = wait_for(producer, step_id, "SUCCEEDED", seconds=60)
finish([done["state"], done["attempts"], done["output"]])
