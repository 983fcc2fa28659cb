#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hours.py [--engine libfuzzer|afl] [--minutes M] [--slice S] [--jobs N] BUILD [TARGET...]: fuzzes
each target of a build for S seconds in turn, until M minutes of processor time are used, and adds
runs and processor time to hours.tsv. hours.py alone prints the sums of that file.

New inputs are kept in BUILD/found/TARGET, so that the next call starts from them. A finding is
copied to BUILD/findings and printed, and the target is not fuzzed any further; exit code 1 then.
With afl, BUILD is made by afl-clang-fast (doc/security.md)."""
import argparse
import collections
import concurrent.futures
import datetime
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
LEDGER = HERE / "hours.tsv"
GOAL_HOURS = 12
MAX_LENGTH = 6000     # bytes of an input
RUN_SECONDS = 25      # a run that is longer is a finding
RUN_MEGABYTES = 2500  # so is one that needs more


def targets():
    return sorted(f.stem[len("fuzz_"):] for f in HERE.glob("fuzz_*.c"))


def of_children(pid):
    """Seconds of processor time of the children of a process, and of theirs that have ended. AFL++
    does not wait for its own child, so that the time would be lost with it."""
    ticks = 0
    try:
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            stat = pathlib.Path(f"/proc/{child}/stat").read_text()
            ticks += sum(int(x) for x in stat.rsplit(")", 1)[1].split()[11:15])
    except OSError:  # it has just ended
        return 0
    return ticks / os.sysconf("SC_CLK_TCK")


def run(command, folder, log):
    """The exit status of a command, and the seconds of processor time of it and its children."""
    unseen = 0
    with open(log, "wb") as out:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, env=dict(os.environ, **AFL))
        pid = 0
        while not pid:
            unseen = max(unseen, of_children(child.pid))
            time.sleep(0.5)
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime + unseen


# AFL++ asks for settings of the kernel that a test must not change.
AFL = {"AFL_SKIP_CPUFREQ": "1", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_NO_UI": "1",
       "AFL_NO_AFFINITY": "1", "AFL_AUTORESUME": "1", "AFL_IGNORE_PROBLEMS": "1"}


def libfuzzer(build, target, seconds):
    """(runs, processor seconds, findings) of one slice."""
    found, bad = build / "found" / target, build / "findings"
    found.mkdir(parents=True, exist_ok=True)
    bad.mkdir(exist_ok=True)
    before = set(bad.glob(target + "-*"))
    log = build / "found" / (target + ".log")
    status, used = run([build / "test/fuzz" / ("fuzz_" + target), f"-max_total_time={seconds}",
                        f"-max_len={MAX_LENGTH}", f"-timeout={RUN_SECONDS}",
                        f"-rss_limit_mb={RUN_MEGABYTES}", "-entropic=0", "-print_final_stats=1",
                        f"-artifact_prefix={bad}/{target}-", found,
                        HERE / "corpus" / target, HERE / "seeds"], build, log)
    text = log.read_text(errors="replace")
    runs = re.search(r"stat::number_of_executed_units: (\d+)", text)
    findings = sorted(set(bad.glob(target + "-*")) - before)
    if status and not findings:
        raise SystemExit(f"{target}: ended with {status} and without a finding; see {log}")
    return int(runs.group(1)) if runs else 0, used, findings


def afl(build, target, seconds):
    out = build / "found-afl" / target
    out.parent.mkdir(exist_ok=True)
    log = build / "found-afl" / (target + ".log")
    seeds = HERE / "corpus" / target
    if not any(f.stat().st_size <= MAX_LENGTH for f in seeds.iterdir()):
        seeds = HERE / "seeds"
    status, used = run(["afl-fuzz", "-V", str(seconds), "-t", f"{RUN_SECONDS * 1000}", "-i", seeds,
                        "-o", out, "-G", str(MAX_LENGTH), "--",
                        build / "test/fuzz" / ("fuzz_" + target)], build, log)
    stats = out / "default" / "fuzzer_stats"
    if status or not stats.exists():
        raise SystemExit(f"{target}: afl-fuzz ended with {status}; see {log}")
    runs = int(re.search(r"execs_done +: (\d+)", stats.read_text()).group(1))
    mark = out / "runs"  # execs_done is of all slices
    before = int(mark.read_text()) if mark.exists() else 0
    mark.write_text(str(runs))
    findings = [f for kind in ("crashes", "hangs") for f in (out / "default" / kind).glob("id*")]
    return max(runs - before, 0), used, findings


def add(engine, target, runs, used, findings):
    with open(LEDGER, "a", encoding="ascii") as f:
        f.write(f"{datetime.date.today()}\t{engine}\t{target}\t{runs}\t{used:.0f}\t{findings}\n")


def fuzz(a):
    engine = {"libfuzzer": libfuzzer, "afl": afl}[a.engine]
    build, queue = a.build.resolve(), collections.deque(a.targets or targets())
    lock, total, failed = threading.Lock(), [0.0], []
    sums = collections.Counter()

    def work():
        while True:
            with lock:
                if total[0] >= a.minutes * 60 or not queue:
                    return
                target = queue.popleft()
            runs, used, findings = engine(build, target, a.slice)
            with lock:
                total[0] += used
                sums[target, "runs"] += runs
                sums[target, "used"] += used
                add(a.engine, target, runs, used, len(findings))
                for f in findings:
                    print(f"{target}: {f}", flush=True)
                if findings:
                    failed.append(target)
                else:
                    queue.append(target)

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for future in [pool.submit(work) for _ in range(a.jobs)]:
            future.result()
    for target in sorted({t for t, _ in sums}):
        print(f"{target:10}{sums[target, 'runs']:>12,} runs{sums[target, 'used']:>8.0f} s")
    return 1 if failed else 0


def report():
    """The sums of hours.tsv as the table of doc/security.md."""
    runs, used, found = collections.Counter(), collections.Counter(), collections.Counter()
    for line in LEDGER.read_text().splitlines()[1:]:
        _, _, target, count, seconds, findings = line.split("\t")
        for name in (target, "all"):
            runs[name] += int(count)
            used[name] += int(seconds)
            found[name] += int(findings)
    print("| target | runs | minutes of processor time | findings |\n|---|--:|--:|--:|")
    for name in sorted(set(runs) - {"all"}) + ["all"]:
        print(f"| `{name}` | {runs[name]:,} | {used[name] / 60:.0f} | {found[name]} |"
              .replace("`all`", "all"))
    print(f"\n{used['all'] / 3600:.1f} of {GOAL_HOURS} hours.")
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--engine", choices=("libfuzzer", "afl"), default="libfuzzer")
    p.add_argument("--minutes", type=float, default=14)
    p.add_argument("--slice", type=int, default=60)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("build", nargs="?", type=pathlib.Path)
    p.add_argument("targets", nargs="*")
    a = p.parse_args()
    return fuzz(a) if a.build else report()


if __name__ == "__main__":
    sys.exit(main())
