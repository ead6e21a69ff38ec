#!/usr/bin/env python3
"""Holds the tree to its own rules: who includes whom (docs/include-table.txt), which room owns which
third-party header, unique file names, file and function lengths, no paths of a developer's machine.

usage: check_includes.py [root]
SPDX-License-Identifier: GPL-2.0-or-later
"""
import os
import re
import shutil
import statistics
import subprocess
import sys

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 80
LONG_FUNCTION_MARK = "Long because"  # in the comment above a longer function

# Headers of a third-party library, under the library's name in docs/include-table.txt. A library that
# no room lists may be used nowhere.
LIBRARIES = {
    "nettle": r"nettle/", "random123": r"Random123/", "libxml2": r"libxml/", "simgrid": r"(simgrid|xbt)/",
    "hdf5": r"(hdf5(_hl)?|H5\w*)\.h$", "uthash": r"ut(hash|list|array|string|ringbuffer|stack)\.h$",
    "dl": r"dlfcn\.h$", "argp": r"argp\.h$", "igraph": r"igraph/", "lmdb": r"lmdb\.h$",
    "glpk": r"glpk\.h$", "zlib": r"zlib\.h$", "lzma": r"lzma(\.h$|/)", "jansson": r"jansson\.h$",
    "libcsv": r"csv\.h$", "libyaml": r"yaml\.h$", "xxhash": r"xxhash\.h$",
}
C_STANDARD = {name + ".h" for name in (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign "
    "stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time").split()}
SYSTEM = C_STANDARD | {name + ".h" for name in (
    "dirent fcntl fnmatch ftw getopt glob libgen poll pthread sched spawn strings syslog termios unistd "
    "sys/file sys/ioctl sys/mman sys/prctl sys/random sys/resource sys/select sys/signalfd sys/socket sys/stat "
    "sys/statfs sys/statvfs sys/syscall sys/time sys/types sys/uio sys/utsname sys/wait").split()}
# Policies see the ABI and nothing of the program.
POLICY_ROOM = re.compile(r"policies/(?!host(/|$))")
ABI_HEADER = "policies/include/sandtable/policy.h"
ABI_SYSTEM = {"stddef.h", "stdint.h"}

CODE = (".c", ".h", ".cpp", ".hpp", ".def", ".py", ".sh", ".cmake", "CMakeLists.txt")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SHARED_NAMES = {"CMakeLists.txt", "README.md", "main.c"}
MACHINE_PATH = re.compile(r"(?<![\w.$}~*-])/(?:home|Users|root|work|mnt|scratch)/[\w.]+")


def tree(root):
    """Every file of the tree, relative and sorted; build directories and hidden folders left out."""
    found = []
    for folder, folders, files in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = sorted(
            name for name in folders
            if not name.startswith(".") and name != "__pycache__"
            and not (relative == "." and name in ("build", "out"))
            and not os.path.exists(os.path.join(folder, name, "CMakeCache.txt")))
        # In a git worktree .git is a file, which names the place of its repository.
        found += [os.path.normpath(os.path.join(relative, name)) for name in files if name != ".git"]
    return sorted(found)


def read(root, name):
    """The file's text, or None if it is binary."""
    with open(os.path.join(root, name), "rb") as stream:
        data = stream.read()
    return None if b"\0" in data else data.decode("utf-8", errors="replace")


def read_table(text):
    """{room: (rooms it may include, libraries it owns)}; base and the room itself added."""
    table = {}
    for line in text.splitlines():
        if line.startswith("#") or ":" not in line:
            continue
        room, rest = line.split(":", 1)
        rooms, _, libraries = rest.partition("|")
        allowed = {room} | set(rooms.split())
        if not POLICY_ROOM.match(room):
            allowed.add("sim/base")
        table[room] = (allowed, set(libraries.split()))
    for allowed, _ in table.values():
        if "*" in allowed:
            allowed.update(table)
    return table


def room_of(name, table):
    """The room a file stands in, "tests", or None."""
    folder = os.path.dirname(name)
    while folder:
        if folder in table:
            return folder
        if folder == "tests":
            return "tests"
        folder = os.path.dirname(folder)
    return None


def rights_of(name, table):
    """(rooms, libraries, system headers) that the file `name` may include."""
    parts = name.split("/")
    if parts[:2] == ["tests", "unit"] and len(parts) > 3:
        for room, (rooms, libraries) in table.items():
            if room.replace("/", "-") == parts[2]:
                return rooms | {"sim/base", "tests"}, libraries, SYSTEM
    if parts[:2] == ["tests", "export"]:  # loads exported platforms in SimGrid as it is shipped
        return {"tests"}, {"simgrid"}, SYSTEM
    if parts[0] == "tests":
        return set(table) | {"tests"}, set(), SYSTEM
    if name == ABI_HEADER:
        return set(), set(), ABI_SYSTEM
    room = room_of(name, table)
    if room:
        return table[room] + (C_STANDARD if POLICY_ROOM.match(room) else SYSTEM,)
    if POLICY_ROOM.match(name):
        return {"policies/include"}, set(), C_STANDARD
    return None


def index_headers(files, table):
    """{name as it is included: room}."""
    headers = {}
    for name in files:
        if name.endswith((".h", ".hpp", ".def")):
            abi = name.startswith("policies/include/")
            headers[name[len("policies/include/"):] if abi else os.path.basename(name)] = \
                room_of(name, table) or os.path.dirname(name)
    return headers


def judge_include(name, header, quoted, rights, headers):
    """What is wrong with one include, or None."""
    rooms, libraries, system = rights
    if header in headers:
        owner = headers[header]
        if owner in rooms or owner == os.path.dirname(name):
            return None
        return f'"{header}" belongs to {owner}, which this file\'s room may not include'
    if quoted:
        return f'no header of the tree is included as "{header}"; write its bare file name'
    if header in system or ("." not in header and name.endswith((".cpp", ".hpp"))):
        return None
    if header.startswith("criterion/"):
        return None if name.startswith("tests/") else f"<{header}> is for tests only"
    for library, pattern in LIBRARIES.items():
        if re.match(pattern, header):
            return None if library in libraries else \
                f"<{header}> of {library} is not listed for this file's room"
    return f"<{header}> is neither a system header this room may use nor of a library in the table"


def check_includes(texts, table):
    headers = index_headers(texts, table)
    for name, text in texts.items():
        if not name.endswith((".c", ".h", ".cpp", ".hpp", ".def")):
            continue
        rights = rights_of(name, table)
        if rights is None:
            yield name, 1, "stands in no room of docs/include-table.txt"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = INCLUDE.match(line)
            if found:
                wrong = judge_include(name, found[2], found[1] == '"', rights, headers)
                if wrong:
                    yield name, number, wrong


def check_names(files):
    first = {}
    for name in files:
        base = os.path.basename(name)
        # An example is a folder of its own, read by itself: `experiment.xml` is the name to look for.
        if base in SHARED_NAMES or name.startswith(("examples/", "tests/data/")):
            continue
        if base in first:
            yield name, 1, f"has the same file name as {first[base]}; names are unique in the tree"
        first.setdefault(base, name)


def check_lengths(texts):
    for name, text in texts.items():
        lines = text.count("\n")
        if name.endswith(CODE) and lines >= MAX_FILE_LINES:
            yield name, lines, f"has {lines} lines; files stay under {MAX_FILE_LINES}"


def functions_of(root, names):
    """(file, first line, last line, name) of every C and C++ function, by universal-ctags."""
    command = ["ctags", "-f", "-", "--fields=+ne", "--kinds-C=f", "--kinds-C++=f",
               "--langmap=C:.c.h,C++:.cpp.hpp", "-L", "-"]
    tags = subprocess.run(command, cwd=root, input="\n".join(names), text=True, capture_output=True,
                          check=True).stdout
    for tag in tags.splitlines():
        fields = tag.split("\t")
        numbers = dict(field.split(":", 1) for field in fields[3:] if ":" in field)
        if not tag.startswith("!") and "end" in numbers:
            yield fields[1], int(numbers["line"]), int(numbers["end"]), fields[0]


def comment_above(lines, first):
    """The comment that ends on the line above line `first`, skipping the rest of a declaration."""
    at = first - 2
    while at >= 0 and lines[at].strip() and not lines[at].lstrip().startswith(("//", "*", "/*")):
        at -= 1
    comment = []
    while at >= 0 and lines[at].lstrip().startswith(("//", "*", "/*")):
        comment.append(lines[at])
        at -= 1
    return "\n".join(reversed(comment))


def has_ctags():
    if not shutil.which("ctags"):
        return False
    version = subprocess.run(["ctags", "--version"], text=True, capture_output=True, check=False).stdout
    return "Universal Ctags" in version


def check_functions(root, texts):
    names = [name for name in texts if name.endswith((".c", ".h", ".cpp", ".hpp"))]
    if not has_ctags():
        print("note: universal-ctags is not installed; function lengths are not checked")
        return
    lengths = []
    for name, first, last, function in functions_of(root, names):
        length = last - first + 1
        lengths.append(length)
        if length > MAX_FUNCTION_LINES and \
                LONG_FUNCTION_MARK not in comment_above(texts[name].splitlines(), first):
            yield name, first, (f"{function} has {length} lines; at most {MAX_FUNCTION_LINES}, unless "
                                f'a comment above says "{LONG_FUNCTION_MARK} ..."')
    if lengths:
        lengths.sort()
        print(f"{len(lengths)} functions: median {statistics.median(lengths):g} lines, 90 % have at "
              f"most {lengths[len(lengths) * 9 // 10]}, the longest {lengths[-1]}")


def check_paths(root, texts):
    own = os.path.abspath(root)
    patterns = [MACHINE_PATH]
    if own.count("/") > 1:
        patterns.append(re.compile(r"(?<![\w.])" + re.escape(own) + r"(?!\w)"))
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            found = next((hit for hit in (p.search(line) for p in patterns) if hit), None)
            if found:
                yield name, number, f"names a path of somebody's machine: {found[0]}"


def check(root):
    """Every violation of the tree at `root` as (file, line, rule)."""
    files = tree(root)
    texts = {name: text for name in files for text in [read(root, name)] if text is not None}
    table = read_table(texts["docs/include-table.txt"])
    found = list(check_includes(texts, table))
    found += check_names(files)
    found += check_lengths(texts)
    found += check_functions(root, texts)
    found += check_paths(root, texts)
    return sorted(found)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")
    found = check(root)
    for name, line, rule in found:
        print(f"{name}:{line}: {rule}")
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
