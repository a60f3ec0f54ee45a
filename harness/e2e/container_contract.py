#!/usr/bin/env python3
"""The four ways in which a container loses its devices: each is named, with the repair, before a run and in a run. The
driver's files are below a directory; device nodes and the cgroup that forbids them are real.

    container_contract.py [SCENARIO...]
"""

import errno
import os
import secrets
from pathlib import Path

from harness import BIN, CUDA_SIMULATOR, Sandbox, check, of_type, records, report, run_scenarios, skip, write_config

OLD, NEW = "580.65.06", "580.95.05"
CODES = {"nvidia0": (195, 0), "nvidiactl": (195, 255), "nvidia-uvm": (511, 0), "dri/renderD128": (226, 128)}
MINORS = "config 1\nmonitor 2\ngpu0/gi7/access 66\ngpu0/gi7/ci0/access 67\ngpu0/gi9/access 84\ngpu0/gi9/ci0/access 85\n"


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_card(root, address, vendor, device, driver):
    card = root / "sys/bus/pci/devices" / address
    for name, value in (("vendor", vendor), ("device", device), ("class", "0x030200")):
        write(card / name, value + "\n")
    (root / "sys/bus/pci/drivers" / driver).mkdir(parents=True)
    (card / "driver").symlink_to(f"/sys/bus/pci/drivers/{driver}")
    return card


def container(root, module=NEW, libraries=NEW, specification=NEW, instances=(), named=()):
    """A container with an H100 and an Intel card, and with the files of NVIDIA's driver in these versions."""
    add_card(root, "0000:65:00.0", "0x10de", "0x2330", "nvidia")
    intel = add_card(root, "0000:03:00.0", "0x8086", "0xe20b", "xe")
    (intel / "drm/renderD128").mkdir(parents=True)
    write(root / "sys/module/nvidia/version", module + "\n")
    write(root / "proc/driver/nvidia/gpus/0000:65:00.0/information", "Device Minor: \t 0\n")
    write(root / f"usr/lib64/libcuda.so.{libraries}")
    (root / "usr/lib64/libcuda.so.1").symlink_to(f"libcuda.so.{libraries}")
    nodes = "".join(f"    - path: /dev/nvidia-caps/nvidia-cap{minor}\n" for minor in named)
    write(root / "etc/cdi/nvidia.yaml",
          f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ncontainerEdits:\n  deviceNodes:\n  - path: /dev/nvidia0\n{nodes}"
          f"  mounts:\n  - containerPath: /usr/lib64/libcuda.so.{specification}\n"
          f"    hostPath: /usr/lib64/libcuda.so.{specification}\n")
    write(root / "proc/driver/nvidia-caps/mig-minors", MINORS)
    write(root / "proc/driver/nvidia/capabilities/mig/config", "DeviceFileMinor: 1\n")
    for name, minor in instances:
        write(root / "proc/driver/nvidia/capabilities/gpu0/mig" / name / "access", f"DeviceFileMinor: {minor}\n")
    return root


def list_nodes(root):
    write(root / "id", "uid=0(root) gid=0(root) groups=0(root)\n")
    write(root / "dev.list", "".join(f"666 0 0 /dev/{name}\n" for name in CODES))
    return root


def make_nodes(root):
    (root / "dev/dri").mkdir(parents=True)
    write(root / ".dockerenv")
    try:
        for name, (major, minor) in CODES.items():
            os.mknod(root / "dev" / name, 0o020666, os.makedev(major, minor))
    except PermissionError:
        skip("needs root: mknod of device nodes")
    return root


class DeviceCgroup:
    """A cgroup with device rules of its own, in which `proctor` is started."""

    def __init__(self):
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        found = [Path(words[1]) for words in mounts if words[2] == "cgroup" and "devices" in words[3].split(",")]
        if not found:
            skip("needs the devices controller of cgroup v1")
        self.path = found[0] / f"e2e-{secrets.token_hex(4)}"

    def __enter__(self):
        try:
            self.path.mkdir()
        except OSError as error:
            skip(f"needs a cgroup of the devices controller: {error}")
        return self

    def __exit__(self, *_):
        self.path.rmdir()

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def deny(self, majors):
        """What a reload of systemd leaves of a container's rules: mknod (NVIDIA/nvidia-container-toolkit#251)."""
        return "".join(f"echo 'c {major}:* rw' > {self.path}/devices.deny\n" for major in majors)

    def check_denied(self, node):
        pid = os.fork()
        if pid == 0:
            self.enter()
            try:
                os.close(os.open(node, os.O_RDWR | os.O_NONBLOCK))
                os._exit(0)
            except OSError as error:
                os._exit(error.errno)
        check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == errno.EPERM, node, "is not denied")


def suite(backend, command):
    return {"kind": "command", "command": command, "backend": backend, "gpus": 1}


def run(sandbox, root, command, *options, sim, backend, cgroup=None, program=None):
    config = sandbox.path / "contract.toml"
    write_config(config, {"first": suite(backend, command)}, run={"stack_root": str(root)})
    out = sandbox.out()
    words = ["run", "--config", config, "--out", out, "--sim", sim, *options]
    more = {"preexec_fn": cgroup.enter} if cgroup else {}
    if program:
        more["executable"] = program
    done = sandbox.proctor(*words, **more)
    return done, out


def said(out):
    return [warning["text"] for warning in report(out)["warnings"] if warning["code"] == "device_access"]


def check_said(done, out, way, repair, code=75):
    """Once, in the journal, the console and each report for people; and the machine is the cause."""
    check(done.returncode == code, "exit", done.returncode, done.stdout, done.stderr)
    texts = said(out)
    check(len(texts) == 1 and f"({way})" in texts[0] and f"to fix it: {repair}" in texts[0], texts, done.stdout)
    check([record["text"] for record in of_type(records(out), "warning") if record["code"] == "device_access"] == texts,
          "the journal")
    check(texts[0] in done.stdout, "the console:", done.stdout)
    for name, title in (("summary.md", "`device_access`"), ("index.html", "Devices cannot be reached")):
        text = (out / name).read_text()
        check(title in text and f"({way})" in text, name, "does not say why")


def before(sandbox, root, way, repair, **more):
    """A run that needs a CUDA device, where there is none."""
    done, out = run(sandbox, root, ["true"], sim="xpu:1x1", backend="cuda", **more)
    check_said(done, out, way, repair)


def a_driver_that_was_replaced(sandbox):
    before(sandbox, list_nodes(container(sandbox.path / "root", specification=OLD)), "cdi", "sudo nvidia-ctk cdi generate")


def a_change_of_mig(sandbox):
    root = list_nodes(container(sandbox.path / "root", instances=[("gi9", 84), ("gi9/ci0", 85)], named=[66, 67]))
    before(sandbox, root, "cdi-mig", "sudo nvidia-ctk cdi generate")


def libraries_of_another_version(sandbox):
    root = list_nodes(container(sandbox.path / "root", libraries=OLD))
    write(root / ".dockerenv")
    before(sandbox, root, "driver-versions", "recreate the container")


def device_rules(sandbox):
    root = make_nodes(container(sandbox.path / "root"))
    with DeviceCgroup() as cgroup:
        for line in (195, 511):
            (cgroup.path / "devices.deny").write_text(f"c {line}:* rw")
        cgroup.check_denied(root / "dev/nvidia0")
        before(sandbox, root, "device-rules", "recreate the container with --device nvidia.com/gpu=all", cgroup=cgroup)


def nothing_is_wrong(sandbox):
    """Missing devices alone are no fault of the machine's files."""
    root = list_nodes(container(sandbox.path / "root", instances=[("gi7", 66), ("gi7/ci0", 67)], named=[66, 67]))
    done, out = run(sandbox, root, ["true"], sim="xpu:1x1", backend="cuda")
    check(done.returncode == 3 and not said(out), done.returncode, said(out), done.stdout, done.stderr)
    stale = list_nodes(container(sandbox.path / "stale", specification=OLD))
    done, out = run(sandbox, stale, ["true"], "--allow-no-device", sim="xpu:1x1", backend="cuda")
    check(done.returncode == 0 and not said(out), "it may be so:", done.returncode, said(out), done.stdout)
    done, out = run(sandbox, stale, ["true"], sim="xpu:1x1", backend="xpu")
    check(done.returncode == 0 and not said(out), "the other vendor's devices are here:", done.returncode, said(out))


def losing(command):
    """A case after which its card is lost."""
    return ["env", "PROCTOR_SIM_FAULTS=state.card_lost", *command]


def script(sandbox, text):
    path = sandbox.path / "job"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return [str(path)]


def device_rules_in_the_run(sandbox):
    root = make_nodes(container(sandbox.path / "root"))
    with DeviceCgroup() as cgroup:
        command = script(sandbox, cgroup.deny([226]) + f"exec {BIN}/memory_xpu --gtest_filter=Copy.HostToDeviceIsByteExact\n")
        done, out = run(sandbox, root, losing(command), sim="xpu:1x1", backend="xpu", cgroup=cgroup)
        check_said(done, out, "device-rules", "recreate the container with --device /dev/dri")
        check("during the run" in said(out)[0], said(out))
        # What was so before the run is not why it lost a card.
        cgroup.check_denied(root / "dev/dri/renderD128")
        done, out = run(sandbox, root, losing(command), sim="xpu:1x1", backend="xpu", cgroup=cgroup)
        check(done.returncode == 75 and not said(out), done.returncode, said(out))


def a_driver_that_says_nothing(sandbox):
    """A test fails and the health probe finds no device: the test is not to blame. The card itself stays in use."""
    programs = sandbox.path / "bin"
    programs.mkdir()
    for entry in BIN.iterdir():
        (programs / entry.name).symlink_to(entry)
    for name, content in (("proctor", (BIN / "proctor").read_bytes()), ("health_xpu", b"#!/bin/sh\nexit 3\n")):
        (programs / name).unlink()
        (programs / name).write_bytes(content)
        (programs / name).chmod(0o755)
    root = make_nodes(container(sandbox.path / "root"))
    with DeviceCgroup() as cgroup:
        command = script(sandbox, cgroup.deny([226]) + "exit 1\n")
        done, out = run(sandbox, root, command, sim=f"xpu:1x1,state={sandbox.path}/machine", backend="xpu",
                        cgroup=cgroup, program=programs / "proctor")
        check_said(done, out, "device-rules", "recreate the container with --device /dev/dri")
        facts = [entry["finding"] for entry in report(out)["health"]]
        check("lost" in facts and "drained" not in facts, facts)


def a_driver_that_is_replaced_in_the_run(sandbox):
    root = list_nodes(container(sandbox.path / "root", module=OLD, libraries=OLD, specification=OLD))
    libraries = root / "usr/lib64"
    command = script(sandbox, f"echo {NEW} > {root}/sys/module/nvidia/version\nmv {libraries}/libcuda.so.{OLD} "
                     f"{libraries}/libcuda.so.{NEW}\nln -sf libcuda.so.{NEW} {libraries}/libcuda.so.1\n"
                     f"exec {BIN}/memory_cuda --gtest_filter=Copy.HostToDeviceIsByteExact\n")
    done, out = run(sandbox, root, losing(command), sim="cuda:1", backend="cuda")
    check_said(done, out, "cdi", "sudo nvidia-ctk cdi generate")


def main():
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("library_missing:libproctor_ze_sim.so")
    files = [a_driver_that_was_replaced, a_change_of_mig, libraries_of_another_version, nothing_is_wrong]
    if CUDA_SIMULATOR.exists():
        files.append(a_driver_that_is_replaced_in_the_run)
    run_scenarios(files, [device_rules, device_rules_in_the_run, a_driver_that_says_nothing])


if __name__ == "__main__":
    main()
