"""Starts gateways and shops on 127.0.0.1, and speaks HTTP with them."""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from postgresql import PostgreSQL


def free_port():
    """A port below those of outgoing connections, which could take it while a shop is down."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Server:
    """A process that answers HTTP. A restart keeps its port and its files."""

    def __init__(self, binary, probe, log, **environment):
        self.binary, self.probe, self.log = binary, probe, log
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        # Without the inspector, which costs time, and has the same port in each shop.
        self.environment = {"LOG_LEVEL": "error", "INSPECTOR": "off", **environment, "PORT": str(self.port)}
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary], env={**os.environ, **self.environment}, stdout=log, stderr=log)

    def is_ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(
                    f"GET {self.probe} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n".encode())
                connection.settimeout(1)
                return connection.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def wait_until_ready(self, seconds=20):
        end = time.monotonic() + seconds
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{self.binary} did not start; see {self.log}")
            time.sleep(0.02)

    def stop(self, number=signal.SIGTERM, seconds=20):
        """Sends a signal and waits for the end. Returns the exit code."""
        if self.process is None or self.process.poll() is not None:
            return self.process and self.process.returncode
        self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


def make_gateway(binary, folder):
    return Server(binary, "/ledger", f"{folder}/gateway.log", LEDGER=f"{folder}/ledger.jsonl")


def make_shop(binary, folder, gateway, database=None, **environment):
    """A shop with a file or the URL of a server as its database, or in memory alone."""
    if database:
        environment["DATABASE"] = database
    return Server(binary, "/health/ready", f"{folder}/shop.log", GATEWAY=gateway.url, **environment)


@contextlib.contextmanager
def made_database(kind, folder):
    """A new database: None for "memory", the path of a file for "SQLite", and a server for "PostgreSQL"."""
    if kind != "PostgreSQL":
        yield f"{folder}/shop.sqlite" if kind == "SQLite" else None
        return
    server = PostgreSQL(folder, free_port())
    server.make()
    try:
        yield server
    finally:
        server.stop("immediate")


def address(database):
    """The text for a shop's environment."""
    return getattr(database, "url", database)


def make_parser(description):
    """The options of a script that runs a shop and a bank."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--shop", default=".build/release/shop")
    parser.add_argument("--gateway", default=".build/release/gateway")
    parser.add_argument("--folder", required=True, help="for databases and logs; it is emptied")
    parser.add_argument("--postgresql", action="store_true", help="instead of SQLite")
    return parser


@contextlib.contextmanager
def services(options):
    """A bank, a shop and its database, with their files in the folder. All end with the block."""
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    kind = "PostgreSQL" if options.postgresql else "SQLite"
    with made_database(kind, options.folder) as database:
        gateway = make_gateway(options.gateway, options.folder)
        shop = make_shop(options.shop, options.folder, gateway, address(database))
        try:
            for server in (gateway, shop):
                server.start()
                server.wait_until_ready()
            yield gateway, shop, database
        finally:
            shop.stop()
            gateway.stop()


class Unanswered(Exception):
    """The connection ended before the answer was complete. `was_sent` if the request may have arrived."""

    def __init__(self, was_sent, cause):
        super().__init__(f"{cause!r}, {'sent' if was_sent else 'not sent'}")
        self.was_sent = was_sent


class Client:
    """One connection, which is opened again when it was lost."""

    def __init__(self, port, timeout=15):
        self.port, self.timeout = port, timeout
        self.reader = self.writer = None

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None

    async def request(self, method, path, body=None, headers=None):
        """Returns the status, the headers and the body, or throws Unanswered."""
        was_sent = False
        try:
            async with asyncio.timeout(self.timeout):
                if self.writer and self.reader.at_eof():
                    self.close()  # the server has closed it meanwhile
                if self.writer is None:
                    await self.open()
                self.send(method, path, body, headers)
                was_sent = True
                status, fields = await self.head()
                data = await self.body(fields)
                if fields.get("connection") == "close":
                    self.close()
                return status, fields, data
        except (OSError, EOFError, TimeoutError, ValueError, IndexError) as cause:
            self.close()
            raise Unanswered(was_sent, cause) from None

    def send(self, method, path, body, headers):
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: shop", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    async def head(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.split(":", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), {name.lower(): value.strip() for name, value in pairs}

    async def body(self, fields):
        if fields.get("transfer-encoding") == "chunked":
            return b"".join([chunk async for chunk in self.chunks()])
        return await self.reader.readexactly(int(fields.get("content-length", 0)))

    async def chunks(self):
        """The chunks until the last one. It throws EOFError if the connection ends before."""
        while True:
            size = int((await self.reader.readuntil(b"\r\n")), 16)
            chunk = (await self.reader.readexactly(size + 2))[:-2]
            if size == 0:
                return
            yield chunk

    async def events(self, order, last):
        """The server-sent events of an order as (id, state, JSON) until the server ends the stream."""
        await self.open()
        headers = {"Last-Event-ID": last} if last else None
        self.send("GET", f"/orders/{order}/events", None, headers)
        status, _ = await self.head()
        if status != 200:
            raise EOFError(status)
        text = ""
        async for chunk in self.chunks():
            text += chunk.decode()
            while "\n\n" in text:
                block, text = text.split("\n\n", 1)
                fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
                if "id" in fields:
                    yield int(fields["id"]), fields["event"], json.loads(fields["data"])


def ledger(port):
    """The entries of a gateway's ledger."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/ledger", timeout=15) as answer:
        return [json.loads(line) for line in answer]


def call(port, method, path, body=None):
    """One request from code that is not async. Returns the status and the JSON."""

    async def run():
        client = Client(port)
        try:
            status, _, data = await client.request(method, path, body)
            return status, data
        finally:
            client.close()

    status, data = asyncio.run(run())
    return status, json.loads(data or "null")
