"""Orders, cancels and event readers that live through restarts of a shop, and the check of what is left."""

import asyncio
import contextlib
import json
import random
import sqlite3
import time
from collections import Counter, defaultdict

from harness import Client, Unanswered, call, ledger, make_parser, services

PATHS = {
    "placed": ["placed"],
    "paid": ["placed", "paid"],
    "cancelling": ["placed", "paid", "cancelling"],
    "cancelled": ["placed", "paid", "cancelling", "cancelled"],
    "declined": ["placed", "declined"],
}
STOCK = 1_000_000
GOODS = {"tea": 250, "jam": 399, "gold": 2_000_000}  # gold is above the gateway's limit
AUDIT = 'SELECT "order", number, state FROM audit ORDER BY "order", number'


class Workload:
    """`orders`: acknowledged, by idempotency key. `faults`: what a client has seen go wrong."""

    def __init__(self, port, seed, clients=12, pause=0.25):
        self.port, self.pause = port, pause
        self.draw = random.Random(seed)
        self.orders, self.cancels, self.seen = {}, set(), defaultdict(list)
        self.unanswered = set()  # keys whose request may have arrived, but got no answer
        self.faults, self.counts = [], Counter()
        self.is_ending = False
        self.clients = clients
        self.tasks, self.followers = [], []
        self.may_ask = asyncio.Event()  # cleared, it holds the clients back
        self.may_ask.set()
        self.note = lambda latency, status: None  # called with each answer

    def fault(self, text):
        self.faults.append(text)

    def begin(self):
        for sku, price in GOODS.items():
            status, _ = call(self.port, "POST", f"/stock/{sku}", {"add": STOCK, "price": price})
            assert status == 200, status

    def start(self):
        self.tasks = [asyncio.create_task(self.buy(number)) for number in range(self.clients)]

    async def finish(self, seconds=120):
        """Places no more orders, and waits until each client has its answer and each order has settled."""
        self.is_ending = True
        async with asyncio.timeout(seconds):
            await asyncio.gather(*self.tasks)
            client = Client(self.port)
            for order in {order["id"] for order in self.orders.values()}:
                while (await self.get(client, order))["state"] in ("placed", "cancelling"):
                    await asyncio.sleep(0.05)
            client.close()
            await asyncio.sleep(0.3)  # the last events are on their way
        for task in self.followers:
            task.cancel()
        for result in await asyncio.gather(*self.followers, return_exceptions=True):
            if isinstance(result, Exception):
                self.fault(f"a reader of events failed: {result!r}")

    async def ask(self, client, *request):
        """Repeats a request until the shop has answered."""
        while True:
            await self.may_ask.wait()
            begin = time.monotonic()
            try:
                status, fields, data = await client.request(*request)
                self.note(time.monotonic() - begin, status)
                if status < 500 and status != 429:
                    return status, json.loads(data)
                self.counts[f"status {status}"] += 1
                if status == 503 and "retry-after" not in fields:
                    self.fault("503 without Retry-After")
            except Unanswered as error:
                self.counts["unanswered" if error.was_sent else "refused"] += 1
                if error.was_sent and request[1] == "/orders":
                    self.unanswered.add(request[3]["Idempotency-Key"])
            await asyncio.sleep(self.draw.uniform(0.01, 0.1))

    async def get(self, client, order):
        status, found = await self.ask(client, "GET", f"/orders/{order}")
        return found if status == 200 else {"state": f"status {status}"}

    # Clients

    async def buy(self, number):
        client, count = Client(self.port), 0
        while not self.is_ending:
            count += 1
            key = f"{number}-{count}"
            # The customer is the key, so an order that came twice is found by its customer.
            request = {"customer": key, "sku": self.draw.choice(["tea", "tea", "jam", "gold"]),
                       "count": self.draw.randint(1, 5)}
            await self.place(client, key, request)
            if self.draw.random() < 0.2 and self.orders:
                await self.repeat(client)
            await asyncio.sleep(self.draw.uniform(0, 2 * self.pause))
        client.close()

    async def place(self, client, key, request):
        status, order = await self.ask(client, "POST", "/orders", request, {"Idempotency-Key": key})
        if status != 201 or order["state"] != "placed":
            return self.fault(f"order {key}: {status} {order}")
        self.orders[key] = order
        self.counts["orders"] += 1
        draw = self.draw.random()
        if draw < 0.35:
            self.followers.append(asyncio.create_task(self.follow(order["id"], cancels=draw < 0.25)))

    async def repeat(self, client):
        key, first = self.draw.choice(list(self.orders.items()))
        request = {name: first[name] for name in ("customer", "sku", "count")}
        status, order = await self.ask(client, "POST", "/orders", request, {"Idempotency-Key": key})
        if (status, order) != (201, first):
            self.fault(f"repeat of {key}: {status} {order}, not {first}")

    async def follow(self, order, cancels):
        """Reads an order's events over all reconnects; cancels it as soon as it is paid."""
        seen, canceller = self.seen[order], None
        while not (seen and seen[-1][1] in ("declined", "cancelled")):
            client = Client(self.port)
            try:
                async for number, state, data in client.events(order, len(seen)):
                    if number != len(seen) + 1 or data["state"] != state or data["id"] != order:
                        self.fault(f"order {order}: event {number} {state} {data} after {seen}")
                    seen.append((number, state))
                    if state == "paid" and cancels:
                        canceller = asyncio.create_task(self.cancel(order))
            except (OSError, EOFError, ValueError):
                self.counts["streams cut"] += 1
            finally:
                client.close()
            await asyncio.sleep(self.draw.uniform(0.01, 0.1))
        if canceller:
            await canceller

    async def cancel(self, order):
        client = Client(self.port)
        self.cancels.add(order)
        status, answer = await self.ask(client, "POST", f"/orders/{order}/cancel")
        state = answer.get("state") if status == 202 else (await self.get(client, order))["state"]
        # 409 is right for a repeat whose first answer was lost.
        if status not in (202, 409) or state not in ("cancelling", "cancelled"):
            self.fault(f"cancel of {order}: {status} {answer}, then {state}")
        self.counts["cancels"] += 1
        client.close()

    # The check

    def check(self, gateway_port, database, audit=AUDIT):
        """Everything that must hold when all has settled. Returns the faults."""
        self.found = asyncio.run(self.scan())
        self.check_orders()
        self.check_ledger(gateway_port)
        self.check_stock()
        self.check_events()
        if audit:
            self.check_audit(database, audit)
        return self.faults

    async def scan(self, first=1):
        """All orders of the shop by id. A restart can leave gaps between ids."""
        client, found = Client(self.port), {}
        last = max([first, *(order["id"] for order in self.orders.values())]) + 1000
        for order in range(first, last):
            status, _, data = await client.request("GET", f"/orders/{order}")
            if status == 200:
                found[order] = json.loads(data)
        client.close()
        return found

    def check_orders(self):
        for customer, count in Counter(o["customer"] for o in self.found.values()).items():
            if count != 1:
                self.fault(f"{count} orders for the key {customer}")
            if customer not in self.orders:
                self.fault(f"order for {customer}, who has no answer")
        for key, first in self.orders.items():
            order = self.found.get(first["id"])
            if order is None:
                self.fault(f"order {first['id']} of {key} was acknowledged, and is lost")
            elif any(order[name] != first[name] for name in ("customer", "sku", "count", "amount")):
                self.fault(f"order {order} is not {first}")
        for order in self.found.values():
            allowed = ("cancelled",) if order["id"] in self.cancels else ("paid", "declined")
            if order["state"] not in allowed:
                self.fault(f"order {order['id']} is {order['state']}, not {allowed}")
            if (order["state"] == "declined") != (order["amount"] > 1_000_000):
                self.fault(f"order {order['id']} of {order['amount']} is {order['state']}")

    def check_ledger(self, gateway_port):
        booked = {"charge": defaultdict(list), "refund": defaultdict(list)}
        for entry in ledger(gateway_port):
            booked[entry["kind"]][entry["order"]].append(entry)
        for order in self.found.values():
            charges, refunds = (booked[kind].pop(order["id"], []) for kind in ("charge", "refund"))
            expected = {"paid": (1, 0), "cancelled": (1, 1)}.get(order["state"], (0, 0))
            if (len(charges), len(refunds)) != expected:
                self.fault(f"order {order['id']} is {order['state']}, with {len(charges)} charges "
                           f"and {len(refunds)} refunds")
            for entry in charges:
                if (entry["amount"], entry["receipt"]) != (order["amount"], order.get("receipt")):
                    self.fault(f"charge {entry} is not that of {order}")
            for entry in refunds:
                if entry["receipt"] != order.get("receipt"):
                    self.fault(f"refund {entry} is not that of {order}")
        for kind, rest in booked.items():
            for order in rest:
                self.fault(f"{kind} for order {order}, which does not exist")

    def check_stock(self):
        for sku in GOODS:
            sold = sum(order["count"] for order in self.found.values()
                       if order["sku"] == sku and order["state"] == "paid")
            _, goods = call(self.port, "GET", f"/stock/{sku}")
            if goods["available"] + sold != STOCK:
                self.fault(f"{sku}: {goods['available']} available and {sold} sold, not {STOCK}")

    def check_events(self):
        for order, seen in self.seen.items():
            path = list(enumerate(PATHS[self.found[order]["state"]], 1)) if order in self.found else []
            if seen != path:
                self.fault(f"order {order}: events {seen}, not {path}")

    def check_audit(self, database, query):
        rows = defaultdict(list)
        for order, number, state in self.rows(database, query):
            rows[int(order)].append((int(number), state))
        for order in self.found.values():
            path = list(enumerate(PATHS[order["state"]], 1))
            if rows.pop(order["id"], []) != path:
                self.fault(f"order {order['id']}: the audit table has not {path}")
        for order in rows:
            self.fault(f"the audit table has order {order}, which does not exist")

    def rows(self, database, query):
        if not isinstance(database, str):
            return database.rows(query)
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()


def report(workload, extra=""):
    """Prints what was done, and each fault. Returns the exit code."""
    counts = ", ".join(f"{count} {name}" for name, count in sorted(workload.counts.items()))
    states = Counter(order["state"] for order in workload.found.values())
    states = ", ".join(f"{count} {name}" for name, count in sorted(states.items()))
    print(f"{extra}{counts}\nin the end: {states}; {len(workload.seen)} orders followed")
    for fault in workload.faults[:50]:
        print("FAULT", fault)
    print(f"{len(workload.faults)} faults")
    return 1 if workload.faults else 0


def make_workload_parser(description):
    parser = make_parser(description)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--audit", default=AUDIT, help="SQL for (order, number, state); '' for none")
    return parser


def drive(options, rounds, title, **settings):
    """Runs rounds against a shop under load, and checks what is left. Returns the exit code."""
    with services(options) as (gateway, shop, database):
        workload = Workload(shop.port, options.seed, **settings)
        workload.begin()
        try:
            asyncio.run(rounds(options, gateway, shop, workload, database))
        except TimeoutError:
            workload.fault("the shop has not settled in time")
        workload.check(gateway.port, database, options.audit)
        return report(workload, f"seed {options.seed}, {title}: ")
