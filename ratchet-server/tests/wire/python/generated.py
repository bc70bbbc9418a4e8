from support import *

producer = Ratchet(URL, sys.argv[2])


def enqueue(**options):
    return producer.enqueue("index_page", "1", {"b": [1, 2], "a": {"ü": True}}, **options)


first_run = producer.start_run("crawl")
first, same = enqueue(), enqueue()
endpoint = enqueue(endpoint="crawler")
second_run = producer.start_run("crawl", project_id="p", environment_id="e")
other_run = enqueue()
finish(
    {
        "same": [first["created"], same["created"], same["stepId"] == first["stepId"]],
        "others": [endpoint["created"], other_run["created"]],
        "runs": [first["runId"] == first_run, other_run["runId"] == second_run],
        "ids": len({first["stepId"], endpoint["stepId"], other_run["stepId"]}),
    }
)
