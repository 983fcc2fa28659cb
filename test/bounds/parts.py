# SPDX-License-Identifier: Apache-2.0
"""parts.py SBOM PROGRAM SOURCE: the list of parts is complete, and the same in each run."""
import json
import re
import subprocess
import sys


def main():
    sbom, program, source = sys.argv[1:]
    command = [sys.executable, sbom, program, source]
    first, second = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2))
    document = json.loads(first)
    parts = {p["name"]: p for p in document["components"]}
    with open(source + "/meson.build") as f:
        text = f.read()
    # Every dependency that the build names, apart from what only tests or Windows need.
    wanted = {n.removeprefix("lib") for n in re.findall(r"dependency\('([\w-]+)'", text)} - {"tre"}
    known = {n.removeprefix("lib") for n in parts}
    bad = [f"{n} is missing" for n in wanted - known]
    bad += [f"{n}: version unknown" for n, p in parts.items() if p["version"] == "unknown"]
    bad += ["two runs differ"] if first != second else []
    for line in bad:
        print("FAIL", line)
    print(f"{len(parts)} parts, {len(bad)} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
