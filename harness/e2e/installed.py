#!/usr/bin/env python3
"""`cmake --install` by component, the prefix moved elsewhere, and a project of its user on it: find_package, a CUDA test
and an XPU test, under a real ctest on simulated devices."""

import os
import re
import subprocess
import sys

from harness import BIN, Sandbox, check, is_sanitized, skip

COMPONENTS = {  # a file that must be in it
    "runner": "libexec/proctor/proctor-guard",
    "suites": "libexec/proctor/memory_xpu",
    "simulator": "libexec/proctor/libproctor_ze_sim.so",
    "development": "share/cmake/Proctor/ProctorConfig.cmake",
}
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
enable_testing()
find_package(Proctor 0.1 REQUIRED)
find_package(GTest REQUIRED)
add_executable(copy_xpu copy_xpu.cc)
target_link_libraries(copy_xpu PRIVATE Proctor::gtest_listener GTest::gtest_main ze_loader)
proctor_discover_tests(copy_xpu BACKEND xpu OPTIONS --sim xpu:2x2)
proctor_add_conformance(SIMULATED xpu:1x1 SUITES memory FILTER Copy.HostToDevice*)
"""
CUDA = """find_package(CUDAToolkit REQUIRED)
add_executable(copy_cuda copy_cuda.cc)
target_link_libraries(copy_cuda PRIVATE Proctor::child_protocol CUDA::cudart)
proctor_add_suite(copy_cuda COMMAND $<TARGET_FILE:copy_cuda> BACKEND cuda OPTIONS --sim cuda:4)
"""
COPY_XPU = """#include <gtest/gtest.h>
#include <level_zero/ze_api.h>
TEST(Copy, ThereAndBack) {
  ze_driver_handle_t driver; ze_device_handle_t device; ze_context_handle_t context; ze_command_list_handle_t list;
  unsigned one = 1;
  ze_context_desc_t about_context{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_command_queue_desc_t about_queue{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, 0, 0, 0,
                                      ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
  ze_device_mem_alloc_desc_t about_memory{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
  int in = 42, out = 0;
  void* there;
  ASSERT_EQ(zeInit(0) || zeDriverGet(&one, &driver) || zeDeviceGet(driver, &one, &device) ||
            zeContextCreate(driver, &about_context, &context) ||
            zeCommandListCreateImmediate(context, device, &about_queue, &list) ||
            zeMemAllocDevice(context, &about_memory, sizeof in, 0, device, &there) ||
            zeCommandListAppendMemoryCopy(list, there, &in, sizeof in, nullptr, 0, nullptr) ||
            zeCommandListAppendMemoryCopy(list, &out, there, sizeof in, nullptr, 0, nullptr), false);
  EXPECT_EQ(out, 42);
}
"""
COPY_CUDA = """#include <child_protocol.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
int main() {
  int in = 42, out = 0;
  void* there;
  return !getenv(proctor::child::kSimTopologyVariable) ||
         cudaMalloc(&there, sizeof in) || cudaMemcpy(there, &in, sizeof in, cudaMemcpyHostToDevice) ||
         cudaMemcpy(&out, there, sizeof in, cudaMemcpyDeviceToHost) || out != 42;
}
"""


def run(*command, expect=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    check(done.returncode == expect, *command, done.returncode, done.stdout, done.stderr)
    return done.stdout


def files(prefix):
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}


def install(prefix):
    """Each component by itself; no file belongs to two, and none to no component."""
    for component, sample in COMPONENTS.items():
        before = files(prefix)
        run("cmake", "--install", BIN.parent, "--prefix", prefix, "--component", component)
        check(sample in files(prefix) - before, component, "has no", sample)
        again = {line.removeprefix("-- Up-to-date: ") for line in run(
            "cmake", "--install", BIN.parent, "--prefix", prefix, "--component", component).splitlines()}
        shared = {str(prefix / name) for name in before} & again
        check(not shared, component, "shares files:", shared)
    before = files(prefix)
    run("cmake", "--install", BIN.parent, "--prefix", prefix)
    check(files(prefix) == before, "of no component:", files(prefix) - before)
    link = os.readlink(prefix / "bin/proctor")
    check(link == "../libexec/proctor/proctor", "bin/proctor leads to", link)
    print(f"ok {len(before)} files in {len(COMPONENTS)} components")


def names_no_path(prefix, former):
    """Nothing that was installed knows where it was built or installed."""
    for name in files(prefix):
        if name.startswith(("share/", "include/")):
            text = (prefix / name).read_text()
            for path in (former, BIN.parent):  # "support/build" in somebody's licence is not /build
                check(not re.search(rf"(?<![\w.]){re.escape(str(path))}\b", text), name, "names a path of the build")
    for program in ("memory_xpu", "proctor-probe-cuda", "libproctor_ze_sim.so"):
        text = run("readelf", "-d", prefix / "libexec/proctor" / program)
        check("RPATH" not in text and "RUNPATH" not in text, program, text)
    print("ok installed files name no path of the build")


def version(prefix, env):
    facts = run(prefix / "bin/proctor", "--version", env=env).splitlines()
    check(re.fullmatch(r"proctor \d+\.\d+\.\d+", facts[0]), facts)
    check(re.fullmatch(r"commit +([0-9a-f]{7,40}(-dirty)?|unknown)", facts[1]), facts)
    check(re.fullmatch(r"compiler +(g|clang)\+\+ [\d.]+, \w+.*", facts[2]), facts)
    static = "INTERP" not in run("readelf", "-l", prefix / "bin/proctor")
    check(facts[3].startswith("linked    " + ("statically" if static else "dynamically")), facts)
    check(facts[4] == f"installed cmake --install, {prefix}", facts)
    print("ok " + " · ".join(facts))


def user_project(directory, prefix, env, cuda):
    directory.mkdir()
    (directory / "CMakeLists.txt").write_text(PROJECT + (CUDA if cuda else ""))
    (directory / "copy_xpu.cc").write_text(COPY_XPU)
    (directory / "copy_cuda.cc").write_text(COPY_CUDA)
    build = directory / "build"
    run("cmake", "-G", "Ninja", "-S", directory, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", env=env)
    cache = (build / "CMakeCache.txt").read_text()
    check(f"Proctor_DIR:PATH={prefix}/share/cmake/Proctor" in cache, "another Proctor was found")
    run("cmake", "--build", build, env=env)
    text = run("ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "-j2", env=env)
    for test in ("copy_xpu/Copy.ThereAndBack", "simulated.memory.xpu", *(("copy_cuda",) if cuda else ())):
        check(re.search(rf"{test} \.+ +Passed", text), text)
    print("ok a user's project on it: " + ("CUDA and XPU" if cuda else "XPU"))


def shared_files(directory, prefix, env):
    """What the runner and the suites read is found from where the executable lies."""
    config = directory / "proctor.toml"
    config.write_text('[suite.p]\nkind = "pytest"\ncommand = ["/bin/sh", "-c", "echo path=$PYTHONPATH >&2; exit 9"]\n')
    done = subprocess.run([prefix / "bin/proctor", "list", "p", "--config", config], capture_output=True, text=True,
                          env={**env, "PYTHONPATH": ""})
    check(f"path={prefix}/share/proctor/pytest" in done.stdout + done.stderr, done.stderr)
    run(prefix / "bin/proctor", "selftest", "--fault", "visibility.tile_mask_ignored", "--out", directory / "selftest", env=env,
        cwd=directory)
    print("ok plugin, suites, exemptions and simulator are found")


def refused(directory, prefix, env):
    """What is wrong is said at configure: a version that is too new, a prefix without a component."""
    directory.mkdir()
    for program in ("libproctor_ze_sim.so", *(f"memory_{backend}" for backend in ("xpu", "cuda"))):
        (prefix / "libexec/proctor" / program).unlink(missing_ok=True)
    for call, words in (("99 REQUIRED)", "99"),
                        ("REQUIRED)\nproctor_add_conformance(SIMULATED xpu:1x1 SUITES kernels)", "no simulator of xpu devices"),
                        ("REQUIRED)\nproctor_add_conformance(SUITES memory)", "install the component `suites`"),
                        ("0.1 REQUIRED)", "install the component `runner`")):
        if words.endswith("`runner`"):
            (prefix / "bin/proctor").unlink()
        (directory / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES NONE)\nfind_package(Proctor {call}\n")
        done = subprocess.run(["cmake", "-S", directory, "-B", directory / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                              capture_output=True, text=True, env=env)
        check(done.returncode != 0 and words in " ".join(done.stderr.split()), call, done.stderr)
    print("ok a wrong version and a missing component are said at configure")


def main():
    if is_sanitized():
        skip("sanitized libraries need a sanitized program")
    with Sandbox() as sandbox:
        first, prefix = sandbox.path / "first", sandbox.path / "then" / "elsewhere"
        install(first)
        prefix.parent.mkdir()
        first.rename(prefix)
        names_no_path(prefix, first)
        version(prefix, sandbox.env)
        cuda = (prefix / "libexec/proctor/cuda_sim/libcudart.so.13").exists()
        user_project(sandbox.path / "user", prefix, sandbox.env, cuda)
        shared_files(sandbox.path, prefix, sandbox.env)
        refused(sandbox.path / "refused", prefix, sandbox.env)


if __name__ == "__main__":
    sys.exit(main())
