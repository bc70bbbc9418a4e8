from support import *

producer_key, worker_key, other_key = sys.argv[2:]
producer, other = Ratchet(URL, producer_key), Ratchet(URL, other_key)

KEY = "invoice:inv_2048:collect:v1"
contexts = []


def collect(payload, context):
    contexts.append([context.run_id, context.step_id, context.attempt, context.idempotency_key, payload])
    return {"receipt": payload["invoiceId"], "amount": 1.0}


def enqueue(client, amount=12):
    invoice = {"invoiceId": "inv_2048", "amount": amount}
    return client.enqueue("collect_invoice", "1", invoice, idempotency_key=KEY)


run = producer.start_run("checkout")
first = enqueue(producer)
again = enqueue(producer)
with Working(worker_key, {("collect_invoice", "1"): collect}) as working:
    done = wait_for(producer, first["stepId"], "SUCCEEDED")
other.start_run("checkout of another")
finish(
    {
        "first": [first["created"], first["state"], first["runId"] == run],
        "again": [again["created"], again["stepId"] == first["stepId"]],
        "context": contexts == [[run, first["stepId"], 1, KEY, {"invoiceId": "inv_2048", "amount": 12}]],
        "done": [done["state"], done["attempts"], done["effectUnknown"], done["output"]],
        "late": [enqueue(producer)["state"], enqueue(producer)["output"]],
        "conflict": refused(lambda: enqueue(producer, amount=13)),
        "other": [enqueue(other)["state"], "output" in enqueue(other)],
        "other looks": refused(lambda: step(other, first["stepId"])),
        "worker enqueues": refused(lambda: Ratchet(URL, worker_key).start_run("mine")),
        "producer works": refused(lambda: producer.request("/workers/claim", "POST", {"workerId": "w"})),
        "finished": producer.finish_run()["run"]["status"],
        "errors": [str(error) for error in working.errors],
    }
)
