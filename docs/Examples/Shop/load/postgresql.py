"""A PostgreSQL server of its own on 127.0.0.1, with its files in a folder."""

import glob
import os
import shutil
import subprocess
import sys
import time


class PostgreSQL:
    def __init__(self, folder, port):
        self.data, self.port = f"{folder}/postgresql", port
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        self.settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=50"
        # Debian's packages are not on the path.
        programs = glob.glob("/usr/lib/postgresql/*/bin/initdb") or [shutil.which("initdb") or ""]
        self.programs = os.path.dirname(max(programs))

    def run(self, program, *arguments):
        """Runs one of the server's programs, which refuse to run as root."""
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        result = subprocess.run(
            [*user, f"{self.programs}/{program}", *arguments], cwd="/", stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            sys.exit(f"{program} ended with {result.returncode}: {result.stdout}")
        return result.stdout

    def make(self):
        os.makedirs(self.data)
        if os.getuid() == 0:
            os.chmod(os.path.dirname(self.data), 0o755)  # a temporary folder is closed to others
            shutil.chown(self.data, "postgres")
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "--no-locale", "-E", "UTF8", "--no-sync")
        self.start()

    def start(self):
        self.run("pg_ctl", "start", "-D", self.data, "-l", f"{self.data}/log", "-w", "-o", self.settings)

    def stop(self, mode="fast"):
        self.run("pg_ctl", "stop", "-D", self.data, "-m", mode, "-w")

    def signal(self, number):
        """Sends a signal to all processes of the server: SIGSTOP makes it silent, SIGCONT goes on."""
        with open(f"{self.data}/postmaster.pid") as file:
            main = file.readline().strip()
        with open(f"/proc/{main}/task/{main}/children") as file:
            processes = [main, *file.read().split()]
        for process in processes:
            os.kill(int(process), number)

    def rows(self, query):
        """The rows of a query, as lists of texts."""
        output = subprocess.run(
            [f"{self.programs}/psql", "-XAt", "-F", "\t", self.url, "-c", query],
            capture_output=True, text=True, check=True).stdout
        return [line.split("\t") for line in output.splitlines()]
