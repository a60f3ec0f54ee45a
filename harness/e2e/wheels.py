#!/usr/bin/env python3
"""wheels.py PACKAGES: the wheels as pip, pipx and uv install them, without a network: sizes, the first verdict, an upgrade in
place, an uninstall that leaves nothing, a read-only environment, two versions, the plugin of pytest, broken installations.

uv comes from PyPI; without it, that part is skipped by name."""

import hashlib
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from harness import check

PYTHON = "/usr/bin/python3"
MIB = 1 << 20
LIMITS = {"proctor": 7 * MIB, "proctor_suites": 25 * MIB}
FIRST_RUN = ["run", "memory", "--sim", "xpu:1x1", "--filter", "*HostToDevice*"]
OLDER = "0.0.9"


def run(*command, expect=0, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, check=False, **options)
    check(expect in (None, done.returncode), *command, done.returncode, done.stdout[-3000:])
    return done.stdout


def pip(environment, *words, **options):
    return run(environment / "bin/python", "-m", "pip", "--disable-pip-version-check", *words, **options)


def new_environment(directory, *options):
    run(PYTHON, "-m", "venv", *options, directory)
    return directory


def install(environment, packages, what="proctor[suites]", *options):
    pip(environment, "install", "--no-index", "--find-links", packages, *options, what)


def files(directory):
    """pip keeps empty directories that packages share, such as libexec."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*")
            if not path.is_dir() and "__pycache__" not in path.parts}


def first_verdict(program, directory, **options):
    text = run(program, *FIRST_RUN, "--out", directory / "first", **options)
    check("1 planned: 1 passed" in text and "simulated: no evidence about hardware" in text, text)


def renumbered(wheel, directory):
    """The same wheel as of an older version."""
    version = wheel.name.split("-")[1]
    path = directory / wheel.name.replace(version, OLDER)
    record = []
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = old.read(info)
            info.filename = info.filename.replace(f"-{version}.", f"-{OLDER}.", 1)
            if info.filename.endswith(("/METADATA", "/suites_version")):
                data = data.replace(version.encode(), OLDER.encode())
            if info.filename.endswith("/RECORD"):
                data = "\n".join([*record, f"{info.filename},,", ""]).encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{info.filename},sha256={digest},{len(data)}")
            new.writestr(info, data)
    return path


def sizes(packages, work):
    del work
    for name, limit in LIMITS.items():
        wheel, = packages.glob(f"{name}-*.whl")
        check(wheel.stat().st_size <= limit, wheel.name, "has", wheel.stat().st_size, "bytes; at most", limit)
        print(f"   {wheel.name}: {wheel.stat().st_size / MIB:.1f} MiB")


def first_verdict_and_uninstall(packages, work):
    environment = new_environment(work / "venv")
    before = files(environment)
    began = time.monotonic()
    install(environment, packages)
    first_verdict(environment / "bin/proctor", work)
    print(f"   {time.monotonic() - began:.1f} s from pip install to the first verdict")
    facts = run(environment / "bin/proctor", "--version")
    check(f"installed wheel, {environment}\n" in facts, facts)
    run(environment / "bin/proctor", "run", "--out", work / "true", "--", "/bin/true")
    for name in ("share/man/man1/proctor.1", "share/bash-completion/completions/proctor",
                 "share/proctor/gtest/proctor_gtest_listener.cc"):
        check((environment / name).is_file(), "the wheel has no", name)
    pip(environment, "uninstall", "--yes", "proctor", "proctor-suites")
    check(files(environment) == before, "pip uninstall leaves", files(environment) - before)


def upgrade_in_place(packages, work):
    environment = new_environment(work / "venv")
    old = work / "old"
    old.mkdir()
    for wheel in packages.glob("proctor*.whl"):
        renumbered(wheel, old)
    install(environment, old)
    pip(environment, "install", "--no-index", "--find-links", packages, "--upgrade", "proctor")
    text = run(environment / "bin/proctor", *FIRST_RUN, "--out", work / "mixed", expect=2)
    check(OLDER in text and "pip install ./proctor-" in text, "suites of another version:", text)
    install(environment, packages, "proctor[suites]", "--upgrade")
    first_verdict(environment / "bin/proctor", work)


def read_only(packages, work):
    environment = new_environment(work / "venv")
    install(environment, packages)
    run("chmod", "-R", "a-w,a+rX", environment)
    home = work / "home"
    home.mkdir()
    user = {}
    if os.getuid() == 0:
        os.chown(home, 65534, 65534)
        run("chmod", "a+rx", work.parent, work)
        user = {"user": 65534, "group": 65534, "extra_groups": []}
    first_verdict(environment / "bin/proctor", home, cwd=home, env={"PATH": "/usr/bin:/bin", "HOME": str(home)}, **user)
    run("chmod", "-R", "u+w", environment)


def user_site(packages, work):
    env = {**os.environ, "PYTHONUSERBASE": str(work / "user"), "HOME": str(work), "PIP_BREAK_SYSTEM_PACKAGES": "1"}
    run(PYTHON, "-m", "pip", "install", "--user", "--no-index", "--find-links", packages, "proctor[suites]", env=env)
    first_verdict(work / "user/bin/proctor", work, env=env)


def by_pipx(packages, work):
    env = {**os.environ, "PIPX_HOME": str(work / "pipx"), "PIPX_BIN_DIR": str(work / "bin"), "HOME": str(work)}
    runner, = packages.glob("proctor-*.whl")
    suites, = packages.glob("proctor_suites-*.whl")
    options = f"--no-index --find-links {packages}"
    run("/usr/bin/pipx", "install", f"--pip-args={options}", runner, env=env)
    run("/usr/bin/pipx", "inject", f"--pip-args={options}", "proctor", suites, env=env)
    first_verdict(work / "bin/proctor", work, env=env)


def by_uv(packages, work):
    tools = new_environment(work / "tools")
    done = subprocess.run([tools / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "uv"], check=False)
    if done.returncode:
        print("   skipped: needs:uv (PyPI has none, or does not answer)")
        return
    env = {**os.environ, "UV_TOOL_DIR": str(work / "uv"), "UV_TOOL_BIN_DIR": str(work / "bin"), "HOME": str(work),
           "UV_CACHE_DIR": str(work / "cache")}
    run(tools / "bin/uv", "tool", "install", "--offline", "--no-index", "--find-links", packages, "--python", PYTHON,
        "--with", "proctor-suites", "proctor", env=env)
    first_verdict(work / "bin/proctor", work, env=env)


def plugin(packages, work):
    """pytest without Proctor is as without the plugin; Proctor starts it; --proctor starts Proctor."""
    environment = new_environment(work / "venv", "--system-site-packages")
    install(environment, packages, "proctor")
    project = work / "project"
    project.mkdir()
    (project / "test_two.py").write_text("def test_good():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n")
    python = environment / "bin/python"
    plain = run(python, "-m", "pytest", "-p", "no:cacheprovider", expect=1, cwd=project)
    check("1 failed, 1 passed" in plain, plain)
    check(not (project / "proctor-out").exists(), "pytest alone started a run")
    for command in ([environment / "bin/proctor", "run", "--", python, "-m", "pytest"], [python, "-m", "pytest", "--proctor"]):
        text = run(*command, expect=1, cwd=project)
        check("2 planned: 1 passed, 1 failed" in text and "test_two.py::test_bad" in text, command, text)
        shutil.rmtree(project / "proctor-out")


def broken(packages, work):
    environment = new_environment(work / "venv")
    install(environment, packages)
    program = environment / "libexec/proctor/proctor"
    (environment / "libexec/proctor/proctor-guard").unlink()
    text = run(environment / "bin/proctor", "run", "--out", work / "out", "--", "/bin/true", expect=None)
    check("proctor-guard" in text and "reinstall" in text, "without its guard:", text)
    program.unlink()
    text = run(environment / "bin/proctor", "--version", expect=2)
    check(re.fullmatch(r"proctor: \S+ is missing; reinstall the wheel: pip install --force-reinstall \S+\.whl\n", text), text)
    pip(environment, "install", "--no-index", "--find-links", packages, "--force-reinstall", "proctor")
    first_verdict(environment / "bin/proctor", work)
    wrong = work / "proctor-0.1.0-py3-none-manylinux_2_17_s390x.whl"
    shutil.copy(next(packages.glob("proctor-*.whl")), wrong)
    text = pip(environment, "install", "--no-index", wrong, expect=1)
    check("not a supported wheel on this platform" in text, text)


def two_in_the_path(packages, work):
    first, second = new_environment(work / "first"), new_environment(work / "second")
    install(first, packages)
    install(second, packages, "proctor")
    env = {**os.environ, "PATH": f"{second}/bin:/usr/bin:/bin"}
    done = subprocess.run([first / "bin/proctor", "doctor"], stdout=subprocess.PIPE, text=True, env=env, check=False)
    check(f"PATH has another one: {second}/bin/proctor (proctor " in done.stdout, done.stdout)
    check(f"{first}/bin/proctor (" not in done.stdout, "doctor names itself", done.stdout)


def main():
    packages = Path(sys.argv[1]).resolve()
    for scenario in (sizes, first_verdict_and_uninstall, upgrade_in_place, read_only, user_site, by_pipx, by_uv, plugin,
                     broken, two_in_the_path):
        if sys.argv[2:] and scenario.__name__ not in sys.argv[2:]:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="proctor-wheels-") as work:
            scenario(packages, Path(work))
        print(f"ok {scenario.__name__}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
