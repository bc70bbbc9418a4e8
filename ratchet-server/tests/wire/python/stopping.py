from support import *

producer_key, worker_key = sys.argv[2:]
producer = Ratchet(URL, producer_key)
entered = threading.Event()
told = threading.Event()


def endless(payload, context):
    entered.set()
    told_in_time = context.cancel_event.wait(20)
    if told_in_time:
        told.set()
    context.check_cancelled()


producer.start_run("stops")
pending = producer.enqueue("endless", "1", "pending")
stopped = producer.cancel_job(pending["jobId"])
running = producer.enqueue("endless", "1", "running", timeout_ms=3000)
with Working(worker_key, {("endless", "1"): endless}):
    entered.wait(20)
    asked = producer.cancel_job(running["jobId"])
    ended = wait_for(producer, running["stepId"], "UNCERTAIN", "CANCELLED")
finish(
    {
        "pending": [stopped["state"], stopped["cancelRequested"]],
        "asked": [asked["state"], asked["cancelRequested"]],
        "told": told.is_set(),
        "ended": [ended["state"], ended["effectUnknown"]],
        "again": refused(lambda: producer.cancel_job(running["jobId"])),
        "unknown": refused(lambda: producer.cancel_job("job_999")),
    }
)
