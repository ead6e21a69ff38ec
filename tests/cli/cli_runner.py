# What the end-to-end tests share: running the program in a directory of its own.
# SPDX-License-Identifier: GPL-2.0-or-later
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
SOURCE = pathlib.Path(sys.argv[2])
DATA = SOURCE / "tests" / "cli" / "data"


def environment(**changes):
    """A plain environment: nothing of the caller's but the path and the sanitizers' options."""
    kept = ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env.update(LC_ALL="C", TERM="xterm", SANDTABLE_DATA=str(SOURCE))
    env.update(changes)
    return {name: value for name, value in env.items() if value is not None}


def run(args, cwd, env=None, **more):
    return subprocess.run([PROGRAM, *map(str, args)], cwd=cwd, env=env or environment(), text=True,
                          stdin=subprocess.DEVNULL, stdout=more.pop("stdout", subprocess.PIPE),
                          stderr=subprocess.PIPE, timeout=100, **more)


def spawn(args, cwd):
    return subprocess.Popen([PROGRAM, *map(str, args)], cwd=cwd, env=environment(), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


class Scratch:
    """A directory with the test experiments, removed at the end."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="sand-cli-"))
        for file in DATA.iterdir():
            shutil.copy(file, self.path)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Report:
    """Counts checks and prints the failed ones."""

    def __init__(self):
        self.checks = self.failures = 0

    def check(self, holds, what):
        self.checks += 1
        if not holds:
            self.failures += 1
            print(f"FAILED: {what}")

    def end(self):
        print(f"{self.checks} checks, {self.failures} failed")
        sys.exit(1 if self.failures else 0)
