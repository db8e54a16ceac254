#!/usr/bin/env python3
"""Sends bad requests, and good ones while the bank fails. Prints what the client got.

    load/faults.py --shop .build/release/shop --folder /tmp/shop-faults
"""

import asyncio
import json
import time

from harness import Client, make_parser, services

ORDER = {"customer": "ann", "sku": "tea", "count": 2}
KEY = {"Idempotency-Key": "a1"}
BAD = [
    ("malformed JSON", "POST", "/orders", b'{"customer": "ann"', {}),
    ("a field is missing", "POST", "/orders", {"customer": "ann", "sku": "tea"}, {}),
    ("a field of another type", "POST", "/orders", {**ORDER, "count": "two"}, {}),
    ("a negative count", "POST", "/orders", {**ORDER, "count": -2}, {}),
    ("an empty name", "POST", "/orders", {**ORDER, "customer": ""}, {}),
    ("a name with U+0000", "POST", "/stock/a%00b", {"add": 1, "price": 1}, {}),
    ("a path that is not UTF-8", "GET", "/stock/%ff", None, {}),
    ("a name of 3,000 bytes", "POST", "/stock/" + 3_000 * "a", {"add": 1, "price": 1}, {}),
    ("a key with a space", "POST", "/orders", ORDER, {"Idempotency-Key": "a 1"}),
    ("a key that is not ASCII", "POST", "/orders", ORDER, {"Idempotency-Key": "\u00e9"}),
    ("a negative price", "POST", "/stock/tea", {"add": 1, "price": -1}, {}),
    ("a number above 64 bits", "POST", "/stock/tea", b'{"add": 99999999999999999999, "price": 1}', {}),
    ("unknown goods", "POST", "/orders", {**ORDER, "sku": "salt"}, {}),
    ("more than there is", "POST", "/orders", {**ORDER, "count": 1_000}, {}),
    ("a key of another order", "POST", "/orders", {**ORDER, "count": 3}, KEY),
    ("another customer's key for goods that are not there", "POST", "/orders", {**ORDER, "customer": "ben", "sku": "salt"}, KEY),
    ("an unknown order", "GET", "/orders/77", None, {}),
    ("a number that is none", "GET", "/orders/seven", None, {}),
    ("events of an unknown order", "GET", "/orders/77/events", None, {}),
    ("cancelling twice", "POST", "/orders/1/cancel", None, {}),
    ("a body of 1 MB", "POST", "/orders", b" " * 1_000_000, {}),
]


METRICS = [
    'dispatchstore_breaker_state{breaker="bank"}', 'dispatchstore_rate_limit_admitted_total{limit="gateway"}',
    'dispatchstore_limit_in_flight{limit="requests"}', 'http_server_request_duration_seconds_count{http_route="/orders",',
    'dispatchstore_runs_total{action="Place",store="stock",outcome="answered"}',
]


async def ask(port, method, path, body=None, headers=None):
    client = Client(port)
    await client.open()
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: shop", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    client.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    status, fields = await client.head()
    answer = (await client.body(fields)).decode()
    client.close()
    return status, answer


async def settled(port, order):
    """Waits until the bank has answered. Returns the state."""
    while True:
        _, answer = await ask(port, "GET", f"/orders/{order}")
        state = json.loads(answer)["state"]
        if state not in ("placed", "cancelling"):
            return state
        await asyncio.sleep(0.05)


async def run(shop, gateway):
    await ask(shop.port, "POST", "/stock/tea", {"add": 100, "price": 250})
    await ask(shop.port, "POST", "/orders", ORDER, KEY)
    await settled(shop.port, 1)
    await ask(shop.port, "POST", "/orders/1/cancel")
    await settled(shop.port, 1)
    status, _ = await ask(shop.port, "GET", "/orders/1/events", None, {"Last-Event-ID": "4"})
    if status != 204:
        raise SystemExit(f"events after the final one: {status}")
    print("| request | the client gets |\n|---|---|")
    for name, method, path, body, headers in BAD:
        status, answer = await ask(shop.port, method, path, body, headers)
        print(f"| {name} | {status} `{answer}` |")
    print("\n| the bank | the client gets | after | the order is |\n|---|---|---|---|")
    for mode in ["none", "slow", "error", "close"]:
        await ask(gateway.port, "PUT", "/fault", {"mode": mode})
        begin = time.monotonic()
        status, answer = await ask(shop.port, "POST", "/orders", ORDER)
        took = time.monotonic() - begin
        order = json.loads(answer)
        await asyncio.sleep(3)
        _, then = await ask(shop.port, "GET", f"/orders/{order['id']}")
        await ask(gateway.port, "PUT", "/fault", {"mode": "none"})
        state = await settled(shop.port, order["id"])
        print(f"| {mode} | {status} `{order['state']}` | {1000 * took:.0f} ms | "
              f"{json.loads(then)['state']} after 3 s, {state} in the end |")
    _, metrics = await ask(shop.port, "GET", "/metrics")
    return [name for name in METRICS if name not in metrics]


def main():
    options = make_parser(__doc__).parse_args()
    with services(options) as (gateway, shop, _):
        missing = asyncio.run(run(shop, gateway))
    with open(f"{options.folder}/ledger.jsonl", encoding="utf-8") as entries:
        print("\ncharged or refunded, by order:", [json.loads(entry)["order"] for entry in entries])
    if missing:
        raise SystemExit(f"/metrics lacks {missing}")


if __name__ == "__main__":
    main()
