from support import *
from getratchet import RetryableError

producer_key, worker_key, operator_key = sys.argv[2:]
producer, operator = Ratchet(URL, producer_key), Ratchet(URL, operator_key)


def custom(attempts, delay):
    return {
        "preset": "CUSTOM",
        "maxAttempts": attempts,
        "initialDelayMs": delay,
        "multiplier": 1.5,
        "maxDelayMs": 86400000,
        "jitterPercent": 0,
    }


attempts = []


def fail(payload, context):
    attempts.append(context.attempt)
    raise ValueError(f"attempt {context.attempt}, mail ada@example.com")


def hint(payload, context):
    raise RetryableError("come later", retry_after_ms=3600000)


def waits(step_id):
    found = wait_for(producer, step_id, "PENDING", "UNCERTAIN")
    while found["attempts"] == 0:
        time.sleep(0.05)
        found = wait_for(producer, step_id, "PENDING", "UNCERTAIN")
    return found["readyAt"] / 1000 - time.time()


default = operator.get_endpoint_policy("fail")
operator.update_endpoint_policy("fail", custom(3, 100))
operator.publish_tool({"name": "by_contract", "version": "1", "retryPolicy": custom(7, 2000000), "inputSchema": {}})
operator.publish_tool({"name": "by_contract", "version": "2", "retryPolicy": custom(1, 0)})
operator.update_endpoint_policy("by_contract", custom(9, 10))
producer.start_run("policies")
failing = producer.enqueue("fail", "1", None)
hinted = producer.enqueue("hint", "1", None)
old = producer.enqueue("by_contract", "1", None, contract_version="1", idempotency_key="old")
new = producer.enqueue("by_contract", "1", None, idempotency_key="new")
handlers = {("fail", "1"): fail, ("hint", "1"): hint, ("by_contract", "1"): fail}
with Working(worker_key, handlers):
    failed = wait_for(producer, failing["stepId"], "UNCERTAIN")
    by_newest = wait_for(producer, new["stepId"], "UNCERTAIN")
    by_oldest = waits(old["stepId"])
    by_hint = waits(hinted["stepId"])
finish(
    {
        "default": default,
        "kept": operator.get_endpoint_policy("fail") == custom(3, 100),
        "failed": [failed["attempts"], failed["effectUnknown"], failed["error"]],
        "by newest contract": by_newest["attempts"],
        "by named contract": 1990 < by_oldest <= 2000,
        "by hint": 3590 < by_hint <= 3600,
        "unknown contract": refused(lambda: producer.enqueue("by_contract", "1", 2, contract_version="3")),
        "changed contract": refused(lambda: operator.publish_tool({"name": "by_contract", "version": "1"})),
        "bad policy": refused(lambda: operator.update_endpoint_policy("fail", custom(0, 1))),
        "producer sets": refused(lambda: producer.update_endpoint_policy("fail", custom(1, 1))),
        "too many": refused(lambda: producer.enqueue("fail", "1", 3, max_attempts=101)),
        "too quick": refused(lambda: producer.enqueue("fail", "1", 3, timeout_ms=999)),
    }
)
