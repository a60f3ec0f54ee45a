# shellcheck shell=bash disable=SC2154 # left_out is in dev
# Sourced by dev: the groups of `./dev test --full`. A group is a function full_NAME. The lines of comment above it are its
# description in `./dev help`. Its arguments are those after the name.

tests_of() { # label, tools: builds everything, then runs the tests with the label
  local tool
  set_up
  for tool in "${@:2}"; do "set_up_$tool"; done
  build_tests
  run_ctest build-batched -L "$1" "-j$(nproc)"
}

unless_skipped() { "$@" || [ $? = 77 ]; } # 77: this machine lacks something

# every report of 10,000 journals with hostile bytes
full_reports() { PROCTOR_REPORT_JOURNALS=10000 tests_of 'reports|browser' report_readers browser; }

# 1,000 random mixtures of cases in batches
full_batch() { PROCTOR_BATCH_MIXTURES=1000 tests_of batch; }

# containment under 200 moments of death
full_layers() { PROCTOR_KILL_MOMENTS=200 tests_of layers; }

# each fault that `proctor accept` has to find, planted into one of several simulated devices
full_accept() { tests_of accept; }

# a Slurm of the distribution on this host: arrays, lost and requeued tasks, a
# controller that restarts, time limits, two nodes
full_slurm() {
  set_up slurm-wlm munge
  build_tests
  run_ctest build-batched -L slurm
}

# the whole test suite under AddressSanitizer and UndefinedBehaviorSanitizer
full_asan() { under_sanitizer asan; }

# the whole test suite under ThreadSanitizer
full_tsan() { under_sanitizer tsan; }

under_sanitizer() { # preset
  set_up
  set_up_linters
  set_up_node
  build "$1"
  set_up_py_spy "build-$1"
  set_up_report_readers
  run_ctest "build-$1" -LE "$left_out" -j$(($(nproc) + 1))
}

# torture, 20 rounds a layer, slow devices, and the order of a long run
full_soak() {
  local layer
  set_up
  build_tests
  for layer in $(build-batched/bin/proctor manual words --kinds layers); do
    unless_skipped python3 harness/e2e/torture.py --layer "$layer" --rounds 20
  done
  unless_skipped python3 harness/e2e/device_checks.py --slow
  python3 harness/e2e/order.py half_an_hour_at_one_hundredth
}

# all of CUDA compiled, the labels unit and simulator, and the CUDA self-test; needs
# nvcc 13 and is red without it
full_cuda() {
  local part test tests=(cuda cuda12 cuda_device_checks hardware_code hardware_lent selftest_quick_cuda visibility_cuda) log
  command -v nvcc >/dev/null ||
    die "the group cuda needs the CUDA toolkit 13; there is no nvcc in PATH or in /usr/local/cuda/bin"
  tests_of '^(unit|simulator)$'
  for part in cuda_sim/libcudart.so.13 cuda_sim/libcudart.so.12 kernels/basic.fatbin kernels/basic.ptx; do
    [ -e "build-batched/bin/$part" ] ||
      die "the build has no $part; see what 'cmake --preset batched' says of CUDA"
  done
  log=build-batched/cuda_tests.log
  run_ctest build-batched -R "^($(printf '%s|' "${tests[@]}")none)$" -j2 | tee "$log"
  for test in "${tests[@]}"; do # a skipped test is no proof here
    grep -Eq ": $test \.+ +Passed" "$log" || die "the test $test did not run; see $log"
  done
}

# every fault against its suite
full_selftest() {
  local jobs=$(($(nproc) * 2)) # rows wait for most of their time
  set_up
  build_tests
  set_up_oneccl build-batched
  run_ctest build-batched -R '^selftest_quick'
  build-batched/bin/proctor selftest --full -j$jobs
  if simulates_cuda; then build-batched/bin/proctor selftest --full -j$jobs --backend cuda; fi
  if [ -e build-batched/bin/cuda_sim/libcudart.so.12 ]; then
    build-batched/bin/proctor selftest -j$jobs --backend cuda --sim cuda:5@12
  fi
}

# 100 kills in mid-operation, 20 rounds of a group without its dead, all checks
# over oneCCL, and every fault against every check
full_collectives() {
  set_up
  build_tests
  set_up_oneccl build-batched
  build-batched/bin/proctor run collectives --backend none --suite-arg size=full
  if [ -e build-batched/bin/oneccl/libccl.so.2 ]; then
    build-batched/bin/proctor run collectives --backend none --suite-arg provider=oneccl -j2 \
      --known-failures suites/collectives/oneccl/known_failures.toml
  fi
  harness/e2e/collectives_lost.py 100
  build-batched/bin/proctor selftest --full --suite collectives
  if simulates_cuda; then build-batched/bin/proctor selftest --full --suite collectives --backend cuda; fi
}

# all suites on each machine of fixtures/simgpu/machines: nothing is red there
full_machines() {
  set_up
  configure batched
  build_run_needs
  PROCTOR_BIN_DIR=$PWD/build-batched/bin harness/e2e/machines.py --full
}

# a toy option and a toy warning, added by the steps of docs/internals/architecture.md:
# files counted, built, known; forgotten rows found
full_registry() {
  set_up
  harness/e2e/registry.py
}

as_root_in_build() { as_root env PROCTOR_BIN_DIR="$PROCTOR_BIN_DIR" "$@"; }

on_a_busy_machine() { # cpu, memory or disk
  set_up
  build_tests
  set_up_oneccl build-batched
  unless_skipped as_root_in_build python3 -B harness/e2e/busy.py "busy-$1"
}

# the suites, exec, the torture table and 10,000 empty cases beside loops that spin
full_busy_cpu() { on_a_busy_machine cpu; }

# the first three of them in a memory cgroup
full_busy_memory() { on_a_busy_machine memory; }

# the first three of them on a slow disk
full_busy_disk() { on_a_busy_machine disk; }

# build and test in a Debian 13 root, with each source compiled alone, so that a
# missing #include shows (CI compiles them in batches); CUDA too where the toolkit is
full_debian13() {
  install_packages mmdebstrap
  exec harness/e2e/debian13.sh
}

# eight runners and 2,000 cases on four cards; four runners of two users
# killed at random, sick cards: 20 minutes; 200 rounds of runs in namespaces of their own
full_chaos() {
  set_up
  build_tests
  unless_skipped python3 -B harness/e2e/crowd.py
  unless_skipped as_root_in_build PROCTOR_ROUNDS=200 python3 -B harness/e2e/living_runs.py
  unless_skipped as_root_in_build python3 -B harness/e2e/chaos.py --minutes 20
}

# in an unprivileged Debian 12 container, with our seccomp profile and with one
# like Docker's own; our image by podman
full_container() {
  local store
  install_packages buildah catatonit mmdebstrap podman runc
  set_up
  build_tests
  run_ctest build-batched -R '^image$'
  store=$(harness/e2e/container_image.sh)
  python3 harness/e2e/container.py "$store"
  unless_skipped python3 harness/e2e/image.py podman
}

# make the packages, wheels and image, and run them: on bare Debian 11, 12 and 13 systems,
# under pip, pipx and uv, under runc; proctor init in two packages of the distribution
full_install() {
  install_packages mmdebstrap lintian pipx python3-venv buildah runc
  cmd_package
  lintian --allow-root --fail-on error,warning build-release/packages/*.deb
  as_root harness/e2e/package_roots.sh build-release/packages
  harness/e2e/wheels.py build-release/packages
  set_up_sbom_reader
  as_root harness/e2e/release_image.sh build-release/packages
  PROCTOR_BIN_DIR=$PWD/build-release/bin harness/e2e/init_packages.py
}

# make the packages for aarch64, and run them under qemu in a Debian 12 system
full_aarch64() {
  install_packages mmdebstrap lintian
  cmd_package --processor aarch64
  lintian --allow-root --fail-on error,warning build-aarch64/packages/*.deb
  build aarch64
  unless_skipped as_root harness/e2e/foreign_processor.sh aarch64
}

# the interpreter against PoCL: kernels, and 10 minutes of changed modules
full_pocl() {
  install_packages pocl-opencl-icd ocl-icd-opencl-dev
  tests_of pocl
  mkdir -p build-batched/pocl_fuzz
  echo "dev: changed modules against PoCL, 10 minutes; what differs lies in build-batched/pocl_fuzz"
  unless_skipped build-batched/bin/proctor_simgpu_spirv_pocl_fuzz 600 "$(date +%s)" build-batched/pocl_fuzz
}

# SPIR-V, the grammars and each reader of what others write, as many as there are
# processors at once; PROCTOR_FUZZ_SECONDS each, else 10 minutes at most, and less
# where all of them would take more than 16 (2 processors: 213 s)
full_fuzz() {
  local version
  set_up
  refresh_lists
  for version in {22..16}; do # libFuzzer comes with clang; version 15 does not compile the ranges of libstdc++ 12
    if available "clang-$version" && available "libclang-rt-$version-dev"; then break; fi
  done
  install_packages "clang-$version" "libclang-rt-$version-dev"
  build fuzz -DCMAKE_CXX_COMPILER="clang++-$version"
  exec harness/fuzz/run.sh build-fuzz
}

# the simulator against Intel's newest driver, and behind each layer of the loader; all
# SPIR-V modules with Intel's compilers; a program of others with Boost.Test
full_vendor() {
  local root code=0
  set_up mmdebstrap
  set_up_boost_test
  build_tests
  run_ctest build-batched -R '^layer_'
  unless_skipped harness/e2e/foreign_boost.py
  root=$(harness/e2e/vendor_root.sh) || code=$?
  [ $code = 0 ] || [ $code = 77 ] || die "no root with the newest driver"
  against_vendor # the driver and the compiler of this system, then the newest of Debian
  [ $code = 77 ] || against_vendor --root "$root"
}

against_vendor() { # [--root DIRECTORY]; a root has the driver, so that vendor.py must not be skipped there
  if [ $# = 0 ]; then unless_skipped python3 harness/e2e/vendor.py; else python3 harness/e2e/vendor.py "$@"; fi
  unless_skipped python3 harness/e2e/module_builds.py --full "$@"
}

# ---- their names ----

group_names() { # one a line, in the order of this file
  sed -n 's/^full_\([a-z0-9_]*\)() {.*/\1/p' harness/e2e/groups.sh | tr _ -
}

# nightly.yml runs these in the image of the CUDA toolkit: they have parts that need nvcc. Others have such parts too
# (docs/internals/ci.md).
cuda_groups=(collectives cuda machines selftest)

groups_as_json() { # [{"group": NAME, "container": that of its job, or "" for the machine itself}, ...]
  group_names | python3 -c 'import json, sys, tomllib
with open("docker/stacks/cuda-13.toml", "rb") as file:
    devel = next(base for base in tomllib.load(file)["base"] if base["flavour"] == "devel")
container = {"image": "{image}@{digest}".format(**devel), "options": "--privileged --shm-size=4g"}
print(json.dumps([{"group": name, "container": container if name in sys.argv[1:] else ""}
                  for name in sys.stdin.read().split()]))' \
    "${cuda_groups[@]}"
}

describe_groups() { # each with the lines of comment above it
  awk '
    /^# / { lines[++count] = substr($0, 3); next }
    /^full_[a-z0-9_]+\(\) \{/ {
      name = substr($1, 6); sub(/\(\)/, "", name); gsub(/_/, "-", name)
      for (i = 1; i <= count; i++) printf "    %-12s %s\n", (i == 1 ? name : ""), lines[i]
    }
    { count = 0 }' harness/e2e/groups.sh
}

run_group() { # name [arguments]
  local names
  mapfile -t names < <(group_names)
  known_word group "$1" "${names[@]}"
  "full_${1//-/_}" "${@:2}"
}
