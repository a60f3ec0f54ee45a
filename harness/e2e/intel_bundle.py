#!/usr/bin/env python3
"""The bundle of the Level Zero suites on simulated devices: run.sh leaves one file, which contains no name of the machine
or its user, and from which alone `proctor report` shows why a case failed."""

import gzip
import io
import os
import re
import socket
import subprocess
import tarfile

from harness import BIN, ROOT, check, is_sanitized, report, run_scenarios, skip, wait_until

SIMULATOR = "libproctor_ze_sim.so"
CASE = "memory.xpu/Copy.HostToDeviceIsByteExact"
FILTER = "Copy.HostToDevice*"
FAULT = "copy.short:min=65537"  # above what the health probe copies
USER, VARIABLE, PROCESS = "planted-user", "planted-value", "planted-process"
UUID = re.compile(rb"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})\b")
SUM = re.compile(rb',"sum":"[0-9a-f]{32}"')  # of the journal's records
KERNEL_LINES = (
    f"[   50.000001] xe 0000:03:00.0: [drm] Timedout job: seqno=4, guc_id=2 in {PROCESS} [4711]",
    "[   50.000002] xe 0000:03:00.0: [drm] GT0: Engine reset: guc_id=2",
    f"[   50.000002] i915 0000:03:00.0: [drm] {PROCESS}[4711] context reset due to GPU hang",
    f"[   50.000003] audit: type=1400 comm={PROCESS}",
    "[   50.000004] pcieport 0000:00:01.0: AER: Corrected error received: 0000:03:00.0",
)


def markers(sandbox):
    """What no file may contain that is sent."""
    own = [str(sandbox.path), sandbox.path.name, USER, VARIABLE, PROCESS]
    host = socket.gethostname()
    addresses = subprocess.run(["hostname", "-I"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return [text.encode() for text in (*own, host, *addresses.stdout.split()) if text]


def found_in(texts, sandbox):
    """[(file, marker)]"""
    return [(name, marker.decode()) for name, text in texts.items() for marker in markers(sandbox)
            if re.search(rb"(?<![\w.:])" + re.escape(marker) + rb"(?!\w)", text)]


def make_bundle(sandbox):
    bundle = sandbox.path / "bundle"
    done = subprocess.run([ROOT / "suites/hardware/bundle.sh", "xpu", BIN.parent, BIN.parent, bundle],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(done.returncode == 0, done.stdout)
    check(not list(bundle.rglob("libze_*")) and not (bundle / "bin" / SIMULATOR).exists(), "a driver is in the bundle")
    (bundle / "bin" / SIMULATOR).symlink_to(BIN / SIMULATOR)
    return bundle


def start(sandbox, bundle, out, *arguments, **variables):
    log = sandbox.path / "kernel-messages"
    log.write_text(f"[    1.000000] xe 0000:03:00.0: [drm] from before the run in {PROCESS} [1]\n")
    env = {**sandbox.env, "USER": USER, "LOGNAME": USER, "PLANTED": VARIABLE, "PROCTOR_KERNEL_LOG": str(log), **variables}
    process = subprocess.Popen(["sh", bundle / "run.sh", out, "--sim", "xpu:1x1", "--filter", FILTER, *arguments], env=env,
                               cwd=sandbox.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    wait_until(lambda: (out / "journal.jsonl").exists() or process.poll() is not None, 120, "journal")
    with log.open("a") as lines:
        lines.write("\n".join(KERNEL_LINES) + "\n")
    output, _ = process.communicate(timeout=240)
    return process.returncode, output


def packed_file(sandbox, output):
    files = list(sandbox.path.glob("proctor-*.tar.gz"))
    check(len(files) == 1 and str(files[0]) in output, "not one file to send:", files, output)
    return files[0]


def texts_of(archive):
    with tarfile.open(archive) as files:
        return {member.name: files.extractfile(member).read() for member in files.getmembers()}


def check_contents(sandbox, texts, out):
    check(found_in(texts, sandbox) == [], "names in the file:", found_in(texts, sandbox))
    raw = {str(path): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    seen = {marker for _, marker in found_in(raw, sandbox)}
    check({str(sandbox.path), PROCESS} <= seen, "the search would not see a name:", seen)
    uuids = {uuid for text in texts.values() for uuid in UUID.findall(SUM.sub(b"", text))}
    check(uuids and all(uuid.startswith(b"00000000-0000-0000-0000-") for uuid in uuids), "UUIDs", uuids)
    names = {name.partition("/")[2] for name in texts}
    check({"journal.jsonl", "devices-before.json", "devices-after.json", "probe.json", "libraries.txt", "kernel.log",
           "known_failures.toml"} <= names, names)
    check(any(name.startswith("logs/") for name in names), "no log of the failed case:", names)
    kernel = next(text.decode() for name, text in texts.items() if name.endswith("/kernel.log"))
    check(kernel == "".join(line.replace(PROCESS, "a process") + "\n" for line in KERNEL_LINES if "audit" not in line), kernel)


def check_report(sandbox, archive, out):
    """What the receiver sees, who has the file alone."""
    there = sandbox.path / "there"
    done = sandbox.proctor("report", "render", archive, "--out", there)
    check(done.returncode == 0, done.stdout, done.stderr)
    check("changed after its runner" not in done.stdout, done.stdout)
    sent, here = report(there), report(out)
    check([(case["id"], case["outcome"]) for case in sent["cases"]] == [(case["id"], case["outcome"]) for case in here["cases"]],
          sent["summary"], here["summary"])
    [case] = [case for case in sent["cases"] if case["id"] == CASE]
    check(case["outcome"] == "fail" and "from host to device memory" in case["message"], case)
    check((there / case["attempts"][-1]["output"]["log"]).exists(), "its log is missing", case["attempts"][-1])
    stack = sent["run"]["stack"]
    check(stack.get("xpu.driver") and stack.get("host.kernel") and stack.get("host.os"), stack)
    log = sandbox.proctor("log", CASE, there)
    check(log.returncode == 0 and "from host to device memory" in log.stdout, log.stdout, log.stderr)
    again = sandbox.proctor("report", "render", archive, "--out", there)
    check(again.returncode == 0, "the same file again:", again.stderr)


def one_file_tells_of_a_failure(sandbox):
    bundle, out = make_bundle(sandbox), sandbox.path / "out"
    other = subprocess.Popen([PROCESS, "300"], executable="/bin/sleep")  # of another program on the machine
    try:
        code, output = start(sandbox, bundle, out, PROCTOR_SIM_FAULTS=FAULT)
    finally:
        other.kill()
        other.wait()
    check(code == 1, "exit", code, output)
    archive = packed_file(sandbox, output)
    check(re.fullmatch(r"proctor-xpu-\w+-[\w.]+-20\d{6}\.tar\.gz", archive.name), archive.name)
    check_contents(sandbox, texts_of(archive), out)
    check_report(sandbox, archive, out)
    damaged_files_are_refused(sandbox, archive)
    without_a_driver(sandbox, bundle)


def damaged_files_are_refused(sandbox, archive):
    whole = archive.read_bytes()
    for name, content, said in (
            ("cut", whole[:len(whole) // 2], "its end is missing"),
            ("flipped", whole[:200] + bytes([whole[200] ^ 0xff]) + whole[201:], "damaged"),
            ("text", b"no archive", "not compressed with gzip"),
            ("no-tar", gzip.compress(b"x" * 1000), "not a tar archive"),
            ("foreign", archive_of("README", b"hello"), "contains no journal.jsonl"),
            ("outside", archive_of("../outside", b"x", "run/journal.jsonl"), "leads elsewhere"),
            ("absolute", archive_of("/outside", b"x", "run/journal.jsonl"), "leads elsewhere")):
        file = sandbox.path / "bad" / f"{name}.tar.gz"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        done = sandbox.proctor("report", "render", file)
        check(done.returncode == 2 and "is not a packed run: " in done.stderr and said in done.stderr, name, done.stderr)
        check(os.listdir(file.parent) == [file.name], name, "left files:", os.listdir(file.parent))
        file.unlink()
    missing = sandbox.proctor("report", "render", "missing.tar.gz")
    check(missing.returncode == 2 and "missing.tar.gz" in missing.stderr, missing.stderr)


def archive_of(name, text, *others):
    bytes_ = io.BytesIO()
    with tarfile.open(fileobj=bytes_, mode="w:gz", format=tarfile.USTAR_FORMAT) as archive:
        for each in (name, *others):
            member = tarfile.TarInfo(each)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return bytes_.getvalue()


def without_a_driver(sandbox, bundle):
    """The exit code, and what is to be installed."""
    out = sandbox.path / "no-driver"
    env = {**sandbox.env, "ZE_ENABLE_ALT_DRIVERS": "/nowhere/libze_none.so"}
    done = subprocess.run(["sh", bundle / "run.sh", out], env=env, cwd=sandbox.path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120, check=False)
    check(done.returncode == 75 and "Intel's Level Zero driver is missing. Install " in done.stdout, done.returncode, done.stdout)
    check("file to send" not in done.stdout, done.stdout)


if __name__ == "__main__":
    if is_sanitized() or not (BIN / SIMULATOR).exists():
        skip(f"library_missing:{SIMULATOR}")
    run_scenarios((one_file_tells_of_a_failure,))
