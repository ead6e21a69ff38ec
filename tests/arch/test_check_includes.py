#!/usr/bin/env python3
"""Every rule of check_includes.py fires on a small tree that breaks it, and stays quiet on one that
does not.

SPDX-License-Identifier: GPL-2.0-or-later
"""
import os
import tempfile
import unittest

import check_includes

GOOD = {
    "docs/include-table.txt": "# rooms\nsim/base: | nettle\nsim/model:\nsim/xml: | libxml2\n"
                              "sim/spec: sim/xml sim/model | libxml2\npolicies/include:\n"
                              "policies/place: policies/include\nsim/cli: * | argp\n",
    "sim/base/mem.h": "#include <stddef.h>\n",
    "sim/base/hash.c": '#include <nettle/sha2.h>\n#include "mem.h"\n',
    "sim/model/job.h": '#include "mem.h"\n',
    "sim/xml/xmldoc.h": "\n",
    "sim/spec/bind.c": '#include <libxml/tree.h>\n#include "xmldoc.h"\n#include "job.h"\n',
    "policies/include/sandtable/policy.h": "#include <stddef.h>\n#include <stdint.h>\n",
    "policies/place/pack.c": '#include <math.h>\n#include "sandtable/policy.h"\n',
    "policies/example/worst.c": "#include <sandtable/policy.h>\n#include <stdlib.h>\n",
    "sim/cli/main.c": '#include <argp.h>\n#include "job.h"\n#include "xmldoc.h"\n',
    "tests/unit/sim-spec/test_bind.c": '#include <criterion/criterion.h>\n#include "job.h"\n',
    "examples/a/README.md": "See https://example.org/home/page and ../work/x.\n",
    "examples/b/README.md": "\n",
    "build/sim/base/copy/mem.h": "#include <igraph/igraph.h>\n",
}


class Rules(unittest.TestCase):
    def violations(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**GOOD, **changes}.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as stream:
                    stream.write(text.replace("@ROOT@", root))
            return check_includes.check(root)

    def expect_one(self, name, text, line, fragment):
        found = self.violations({name: text})
        self.assertEqual([(f[0], f[1]) for f in found], [(name, line)], found)
        self.assertIn(fragment, found[0][2])

    def test_good_tree(self):
        self.assertEqual(self.violations({}), [])

    def test_room_not_in_the_line(self):
        self.expect_one("sim/model/up.c", '#include "mem.h"\n#include "xmldoc.h"\n', 2, "sim/xml")

    def test_policies_do_not_see_base(self):
        self.expect_one("policies/place/peek.c", '#include "mem.h"\n', 1, "sim/base")
        self.expect_one("policies/place/open.c", "#include <fcntl.h>\n", 1, "<fcntl.h>")
        self.expect_one("policies/example/peek.c", '#include "job.h"\n', 1, "sim/model")

    def test_abi_header_is_plain(self):
        self.expect_one("policies/include/sandtable/policy.h", "#include <stdio.h>\n", 1, "<stdio.h>")

    def test_unit_test_sees_what_its_room_sees(self):
        self.expect_one("tests/unit/sim-xml/test_doc.c", '#include "job.h"\n', 1, "sim/model")

    def test_third_party_header_elsewhere(self):
        for header in ("libxml/tree.h", "hdf5.h", "H5LTpublic.h", "simgrid/engine.h", "nettle/md5.h",
                       "Random123/philox.h", "argp.h", "igraph/igraph.h", "uthash.h", "dlfcn.h",
                       "criterion/criterion.h", "unknown/thing.h"):
            self.expect_one("sim/model/third.c", f"#include <{header}>\n", 1, header)

    def test_paths_in_includes(self):
        self.expect_one("sim/model/far.c", '#include "../base/mem.h"\n', 1, "bare file name")

    def test_file_in_no_room(self):
        self.expect_one("sim/attic/old.c", "\n", 1, "no room")

    def test_file_names_are_unique(self):
        self.expect_one("sim/xml/job.h", "\n", 1, "sim/model/job.h")

    def test_file_length(self):
        self.assertEqual(self.violations({"sim/model/ok.c": "\n" * 599}), [])
        self.expect_one("sim/model/long.c", "\n" * 600, 600, "600")

    def test_function_length(self):
        if not check_includes.has_ctags():
            self.skipTest("universal-ctags is not installed")

        def body(n):
            return "int f(void)\n{\n" + "    g();\n" * (n - 4) + "    return 0;\n}\n"

        self.assertEqual(self.violations({"sim/model/ok.c": body(80)}), [])
        self.expect_one("sim/model/long.c", body(81), 1, "f has 81 lines")
        reason = "// A table. Long because\n// it is one switch.\n"
        self.assertEqual(self.violations({"sim/model/long.c": reason + body(81)}), [])

    def test_machine_paths(self):
        self.expect_one("docs/notes.md", "a\nsee /ho" "me/ann/sandtable\n", 2, "somebody's machine")
        self.expect_one("docs/notes.md", "in @ROOT@/docs\n", 1, "somebody's machine")


if __name__ == "__main__":
    unittest.main()
