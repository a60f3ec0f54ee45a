#!/usr/bin/env python3
"""Python packages of a lock: the step that `proctor stack render` writes for them, run here with a package and an index made
here. The file that was meant is installed; one flipped bit, or a file that the lock does not list, stops the build."""

import hashlib
import subprocess
import sys
import zipfile

from harness import ROOT, Sandbox, check, skip


def make_wheel(index, name, requires=""):
    """Puts it into the index and gives its hash."""
    file = index / name / f"{name}-1.0-py3-none-any.whl"
    file.parent.mkdir(parents=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr(f"{name}.py", "value = 7\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    (file.parent / "index.html").write_text(f'<a href="{file.name}">{file.name}</a>')
    return hashlib.sha256(file.read_bytes()).hexdigest()


def lock(wheels, pip=True):
    text = (ROOT / "docker/stacks/cpu-sim.toml").read_text()
    more = '\n[[package]]\nname = "python3-pip"\nversion = "23.0.1+dfsg-1"\n' if pip else ""
    for name, hashes in wheels:
        more += f'\n[[wheel]]\nname = "{name}"\nversion = "1.0"\nsha256 = {hashes!r}\nsource = "made here"\n'.replace("'", '"')
    return text.replace("\n[labels]", more + "\n[labels]")


def rendered(sandbox, text, code=0):
    directory = sandbox.path / "docker"
    (directory / "stacks").mkdir(parents=True, exist_ok=True)
    (directory / "stacks/demo.toml").write_text(text)
    done = sandbox.proctor("stack", "render", "demo", "--dir", directory)
    check(done.returncode == code, "render: exit", done.returncode, done.stderr)
    return done.stderr if code else (directory / "demo/Dockerfile").read_text()


def installs(sandbox, dockerfile, name):
    """Whether the step ends well, and what it leaves: run as a Dockerfile's shell would, but into a directory of ours."""
    begin = dockerfile.index("RUN", dockerfile.index("ARG PIP_INDEX_URL="))
    step = dockerfile[begin + len("RUN "):dockerfile.index("\nLABEL", begin)]
    target = sandbox.path / "installed"
    list_ = sandbox.path / "requirements.txt"
    done = subprocess.run(["sh", "-c", step.replace("/tmp/requirements.txt", str(list_))], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, cwd=sandbox.path,
                          env={**sandbox.env, "PIP_INDEX_URL": f"file://{sandbox.path}/index", "PIP_TARGET": str(target),
                               "PIP_CONFIG_FILE": "/dev/null"})
    return done.returncode == 0, (target / f"{name}.py").exists(), done.stdout + done.stderr


def main():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        skip("needs:python3-pip")
    with Sandbox() as sandbox:
        good = make_wheel(sandbox.path / "index", "demo")
        bad = ("0" if good[0] != "0" else "1") + good[1:]
        done, there, said = installs(sandbox, rendered(sandbox, lock([("demo", [bad])])), "demo")
        check(not done and not there and "hash" in said.lower(), "a flipped bit was installed:", done, there, said)
        other = make_wheel(sandbox.path / "index", "other", "Requires-Dist: unlisted\n")
        make_wheel(sandbox.path / "index", "unlisted")
        done, there, said = installs(sandbox, rendered(sandbox, lock([("demo", [bad, good]), ("other", [other])])), "demo")
        check(done and there, "what was meant was not installed:", said)
        check(not (sandbox.path / "installed/unlisted.py").exists(), "a package that nobody listed is there")
        check("which is missing" in rendered(sandbox, lock([("demo", [good])], pip=False), code=2), "a lock without pip")
        check("has no hash" in rendered(sandbox, lock([("demo", [])]), code=2), "a wheel without a hash")
        check("twice" in rendered(sandbox, lock([("demo", [good]), ("Demo", [good])]), code=2), "a wheel twice")
        for name in ("a b", "-x", "x;y", "$(x)"):
            check("Python package's name" in rendered(sandbox, lock([(name, [good])]), code=2), "a hostile name", name)
        print("ok: the file that was meant, and no other")


if __name__ == "__main__":
    main()
