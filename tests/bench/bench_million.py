# Ten thousand, a hundred thousand and a million synthetic jobs, with summary: CPU time below a minute for the
# million, and peak memory that follows the jobs alive at a time, not the trace. Figures are those of the largest
# process. SPDX-License-Identifier: GPL-2.0-or-later
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
peaks = {}
for days in (10.85, 108.5, 1085):
    with tempfile.TemporaryDirectory(prefix="sandtable-million-") as scratch:
        process = subprocess.Popen([PROGRAM, "run", os.path.join(SOURCE, "tests", "bench", "million.xml"), "-o", scratch,
                                    "--force", "--set", f"@duration={days}d"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0, f"ends with {status}"
    jobs = int(re.search(r": (\d+) jobs in replication 0", text)[1])
    cpu_s, peaks[jobs] = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"{jobs:9,d} jobs: {cpu_s:6.1f} s CPU, {peaks[jobs]:6.1f} MB", flush=True)
least, *_, most = peaks.values()
assert jobs > 990000 and cpu_s < 60, "a million jobs in a minute"
assert most < least + 24, "memory follows the trace"
