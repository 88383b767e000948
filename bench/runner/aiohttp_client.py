"""What people write today for a file of requests: asyncio, aiohttp and a semaphore.

usage: aiohttp_client.py INPUT OUTPUT URL CONCURRENCY

Writes one line for each row, in the form `windrow run` writes, when its answer is there. Nothing is
synced, and nothing can be continued.
"""

import asyncio
import json
import sys

import aiohttp


async def ask(session, semaphore, url, row, out):
    async with semaphore:
        async with session.post(url + row["url"].removeprefix("/v1"), json=row["body"]) as reply:
            body = await reply.json()
            out.write(json.dumps({"id": "batch_req_" + row["custom_id"],
                                  "custom_id": row["custom_id"],
                                  "response": {"status_code": reply.status,
                                               "request_id": "req_" + row["custom_id"],
                                               "body": body},
                                  "error": None}) + "\n")


async def run(rows_path, results_path, url, concurrency):
    semaphore = asyncio.Semaphore(concurrency)
    connector = aiohttp.TCPConnector(limit=concurrency)
    with open(rows_path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    async with aiohttp.ClientSession(connector=connector) as session:
        with open(results_path, "w", encoding="utf-8") as out:
            await asyncio.gather(*(ask(session, semaphore, url, row, out) for row in rows))


asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
