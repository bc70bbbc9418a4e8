from support import *
from getratchet import NonRetryableError

producer_key, worker_key = sys.argv[2:]
producer = Ratchet(URL, producer_key)
executed = []


def charge(payload, context):
    executed.append(f"charge {payload}")
    if payload == "bad":
        raise NonRetryableError("card refused, token=abc")
    return payload


def follow(payload, context):
    executed.append(payload)


def enqueue(name, input, after=None, on=None):
    step = producer.enqueue(name, "1", input, after_step_id=after and after["stepId"], after_status=on)
    return step["stepId"] and step


run = producer.start_run("orders")
good, bad = enqueue("charge", "good"), enqueue("charge", "bad")
steps = {
    "follow good": enqueue("follow", "follow good", good, "SUCCEEDED"),
    "fallback good": enqueue("follow", "fallback good", good, "FAILED"),
    "follow bad": enqueue("follow", "follow bad", bad, "SUCCEEDED"),
    "fallback bad": enqueue("follow", "fallback bad", bad, "FAILED"),
}
steps["after the skipped one"] = enqueue("follow", "never", steps["follow bad"], "SUCCEEDED")
waiting = [step["state"] for step in steps.values()]
producer.finish_run()
late = refused(lambda: enqueue("charge", "another"))
again = refused(lambda: enqueue("charge", "good"))
with Working(worker_key, {("charge", "1"): charge, ("follow", "1"): follow}):
    ends = {name: wait_for(producer, s["stepId"], "SUCCEEDED", "SKIPPED")["state"] for name, s in steps.items()}
failed = step(producer, bad["stepId"])
listed = producer.request(f"/runs/{run}/steps", "GET")
finish(
    {
        "waiting": waiting,
        "late": late,
        "again": again["created"],
        "ends": ends,
        "executed": sorted(executed),
        "failed": [failed["state"], failed["effectUnknown"], failed["attempts"], failed["error"]],
        "listed": [len(listed["steps"]), listed["next"]],
        "unknown": refused(lambda: producer.enqueue("charge", "1", 1, after_step_id="step_999", after_status="FAILED")),
        "reopened": refused(lambda: producer.finish_run("FAILED")),
    }
)
