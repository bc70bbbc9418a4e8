from support import *
from getratchet import NonRetryableError

producer_key, worker_key, operator_key = sys.argv[2:]
producer, operator = Ratchet(URL, producer_key), Ratchet(URL, operator_key)
keys = []
works = False


def charge(payload, context):
    keys.append(context.idempotency_key)
    if not works:
        raise NonRetryableError("the provider said no")
    return "charged"


producer.start_run("replays")
charged = producer.enqueue("charge", "1", None, idempotency_key="order:1:charge")
step_id = charged["stepId"]
too_early = refused(lambda: operator.replay(step_id, reason="now"))
with Working(worker_key, {("charge", "1"): charge}):
    failed = wait_for(producer, step_id, "UNCERTAIN")
    preview = operator.replay_preview(step_id)
    unacknowledged = {"acknowledgeDuplicateRisk": False, "maxAttempts": 1, "reason": "look"}
    by_producer = refused(lambda: producer.replay(step_id, reason="mine"))
    first = operator.replay(step_id, reason="try again")
    while step(producer, step_id)["attempts"] < 2:
        time.sleep(0.05)
    again = wait_for(producer, step_id, "UNCERTAIN")
    works = True
    operator.replay(step_id, reason="the provider works again")
    done = wait_for(producer, step_id, "SUCCEEDED")
finish(
    {
        "too early": too_early,
        "failed": failed["state"],
        "preview": {k: preview[k] for k in ("state", "replayable", "duplicateRisk")},
        "unconfirmed": [len(preview["unconfirmed"]), preview["unconfirmed"][0]["recognisedUntil"]],
        "by producer": by_producer,
        "first": [first["state"], first["stepId"] == step_id],
        "again": [again["state"], again["attempts"]],
        "done": [done["state"], done["attempts"], done["output"]],
        "keys": keys,
        "after success": [operator.replay_preview(step_id)["replayable"],
                          refused(lambda: operator.replay(step_id, reason="once more"))],
    }
)
