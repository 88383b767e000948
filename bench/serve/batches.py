"""Files and batches of a server, by its API."""

import http.client
import json
import time

from servers import Problem
from server import HOST

BEGIN_SECONDS_MAX = 120


def ask(server, method, path, body=None, content_type="application/json"):
    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
    try:
        connection.request(method, path, body, {"Content-Type": content_type})
        reply = connection.getresponse()
        said = reply.read().decode()
        if reply.status != 200:
            raise Problem(f"{method} {path}: {reply.status} {said}")
        return json.loads(said)
    finally:
        connection.close()


def upload(server, lines):
    """Uploads bodies of chats, {"path", "body"} each, as rows of a batch; returns the file's id."""
    rows = "".join(
        json.dumps({"custom_id": str(i), "method": "POST", "url": one["path"],
                    "body": one["body"]}) + "\n"
        for i, one in enumerate(map(json.loads, lines)))
    form = ('--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            '--b\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
            f"{rows}\r\n--b--\r\n")
    return ask(server, "POST", "/v1/files", form, "multipart/form-data; boundary=b")["id"]


def begin(server, file):
    """Begins a batch of chats and returns its id when rows have been answered."""
    batch = ask(server, "POST", "/v1/batches", json.dumps(
        {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}))
    deadline = time.monotonic() + BEGIN_SECONDS_MAX
    while time.monotonic() < deadline:
        now = ask(server, "GET", "/v1/batches/" + batch["id"])
        if now["status"] == "failed":
            raise Problem(f"the batch failed: {now['errors']}")
        if now["request_counts"]["completed"] > 0:
            return batch["id"]
        time.sleep(0.05)
    raise Problem("the batch did not begin")


def end(server, batch):
    """Cancels it, and returns how many of its rows were answered; it must not have ended before."""
    ask(server, "POST", f"/v1/batches/{batch}/cancel", "{}")
    while True:
        now = ask(server, "GET", "/v1/batches/" + batch)
        if now["status"] == "cancelled":
            return now["request_counts"]["completed"]
        time.sleep(0.05)
