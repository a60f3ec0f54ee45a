# shellcheck shell=bash
# Sourced by dev: installs what a build and its tests need, and prints each installation. Packages come from the
# distribution. Parts that no distribution has come from PyPI, each file by its hash, and lie below build/.

build_packages=(g++ lld cmake ninja-build ccache nlohmann-json3-dev libfmt-dev libcli11-dev libtomlplusplus-dev
  libsqlite3-dev zlib1g-dev libpugixml-dev libkainjow-mustache-dev libgtest-dev libgmock-dev libbenchmark-dev catch2
  doctest-dev musl-tools libze1 libze-dev spirv-headers spirv-tools python3 python3-jsonschema python3-pytest python3-yaml
  libxml2-utils sqlite3 curl gpgv)

# ---- the distribution ----

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

available() { apt-cache show "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "needs root; run this line as root: $*"
  fi
}

missing_of() { # the packages among the arguments that are not installed
  local package
  for package in "$@"; do
    installed "$package" || echo "$package"
  done
}

lists_are_fresh=
refresh_lists() { # once; a third-party source that does not answer (CUDA images have one) must not matter
  [ -z "$lists_are_fresh" ] || return 0
  lists_are_fresh=yes
  echo "dev: apt-get update"
  as_root apt-get update -q >/dev/null || echo "dev: apt-get update failed; going on with the lists that are here"
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "no apt-get here; install these packages' counterparts: ${missing[*]}"
  refresh_lists
  echo "dev: installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null ||
    die "could not install; try: sudo apt-get install --no-install-recommends ${missing[*]}"
}

install_if_available() { # what is skipped without them, packages
  local without=$1 missing package
  shift
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  refresh_lists
  for package in "${missing[@]}"; do
    available "$package" || {
      echo "dev: no package $package here: skipped without it: $without"
      return 0
    }
  done
  install_packages "${missing[@]}"
}

# Kernels are compiled by clang-N and llvm-spirv-N of the same N. An installed pair is kept; else the newest is installed.
kernel_compiler_version() { # installed or available
  local version
  for version in {22..14}; do
    if "$1" "clang-$version" && "$1" "llvm-spirv-$version"; then
      echo "$version"
      return
    fi
  done
}

set_up_kernel_compilers() {
  local version
  [ -z "$(kernel_compiler_version installed)" ] || return 0
  refresh_lists
  version=$(kernel_compiler_version available)
  if [ -n "$version" ]; then
    install_packages "clang-$version" "llvm-spirv-$version"
  else
    echo "dev: no pair of clang-N and llvm-spirv-N here: skipped without it: what needs device kernels"
  fi
}

boost_version() { sed -n 's/^#define BOOST_VERSION \([0-9]*\).*/\1/p' /usr/include/boost/version.hpp 2>/dev/null || echo 0; }

set_up_boost() { # 1.81 or later
  if installed libboost1.81-dev || { installed libboost-dev && [ "$(boost_version)" -ge 108100 ]; }; then return; fi
  refresh_lists
  if available libboost1.81-dev; then install_packages libboost1.81-dev; else install_packages libboost-dev; fi
}

# Everything for a build; with arguments, these packages too.
set_up() {
  install_packages "${build_packages[@]}" "$@"
  set_up_boost
  set_up_kernel_compilers
  set_up_cuda12
  install_if_available "what needs Intel's driver" intel-opencl-icd
  install_if_available "collectives over Gloo" libgloo-dev
  install_if_available "completion of zsh" zsh
  install_if_available "completion of fish" fish
}

# The library of Boost.Test that belongs to the installed headers.
set_up_boost_test() {
  local package=libboost-test-dev
  ! installed libboost1.81-dev || package=libboost-test1.81-dev
  install_if_available "a program of others with Boost.Test" $package
}

set_up_node() { command -v node >/dev/null || install_packages nodejs; } # it runs Proctor's action in the simulated runner

# For the test that builds an image and runs it; it makes file systems, which takes root.
set_up_image_builder() { [ "$(id -u)" != 0 ] || install_if_available "the image" buildah mmdebstrap runc; }

# ---- PyPI ----

install_from_pypi() { # list, directory, what it is, what is skipped without it
  local list=$1 directory=$2
  if cmp -s "$list" "$directory/requirements.txt"; then return; fi
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  echo "dev: installing $3 from PyPI into $directory"
  rm -rf "$directory"
  if python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile \
    --only-binary :all: --require-hashes --requirement "$list" --target "$directory"; then
    cp "$list" "$directory/requirements.txt"
  else
    echo "dev: PyPI has nothing for this machine, or does not answer: skipped without it: $4"
  fi
}

set_up_linters() {
  install_packages git python3 python3-yaml shellcheck
  install_from_pypi .github/lint/requirements.txt build/lint "check-jsonschema, zizmor, hadolint, codespell and clang-format" \
    "what needs these linters (red where CI is set)"
}

set_up_report_readers() {
  install_from_pypi reports/readers/requirements.txt build/report-readers "junitparser and opentelemetry-proto" \
    "what independent readers count in reports"
}

set_up_sbom_reader() { # for harness/e2e/release_image.sh
  install_from_pypi cmake/package/sbom/requirements.txt build/sbom-reader spdx-tools "the test of the image's SBOM"
}

set_up_browser() {
  install_if_available "what a browser shows of the page of a run" chromium
  install_from_pypi reports/page/browser/requirements.txt build/browser-tests "Playwright and axe" \
    "what a browser shows of the page of a run"
}

set_up_site_tools() {
  install_from_pypi docs/internals/site/requirements.txt build/site-tools "mkdocs-material and mike" "the site"
  [ -e build/site-tools/requirements.txt ]
}

# The runner looks for py-spy beside itself where PATH has none.
set_up_py_spy() { # build directory
  install_from_pypi harness/process/evidence/requirements.txt build/py-spy py-spy "Python stacks"
  rm -f "$1/bin/py-spy"
  if [ -e build/py-spy/bin/py-spy ]; then ln -s ../../build/py-spy/bin/py-spy "$1/bin/py-spy"; fi
}

# Three files of 99 MB stay. The suites of a build look for oneCCL beside themselves.
set_up_oneccl() { # build directory
  install_if_available "collectives over oneCCL" libfabric1
  fetch_oneccl suites/collectives/oneccl/requirements.txt build/oneccl
  rm -rf "$1/bin/oneccl"
  if [ -e build/oneccl/requirements.txt ]; then ln -s ../../build/oneccl "$1/bin/oneccl"; fi
}

fetch_oneccl() { # list, directory
  local list=$1 directory=$2
  if cmp -s "$list" "$directory/requirements.txt"; then return; fi
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  echo "dev: fetching oneCCL from PyPI into $directory"
  rm -rf "$directory"
  mkdir -p "$directory/wheels"
  if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --requirement "$list" --dest "$directory/wheels"; then
    suites/collectives/oneccl/unpack.py "$directory/wheels" "$directory"
    cp "$list" "$directory/requirements.txt"
  else
    echo "dev: PyPI has nothing for this machine, or does not answer: skipped without it: collectives over oneCCL"
  fi
  rm -rf "$directory/wheels"
}

# What else the CUDA suites are built for, where the toolkit is: laid out as one (cmake/ProctorCuda.cmake).
set_up_cuda12() {
  local root=build/cuda12
  command -v nvcc >/dev/null || return 0
  install_from_pypi cmake/toolchains/cuda12.txt $root "CUDA 12's headers, runtime and ptxas" "the suites for CUDA 12"
  if [ ! -e $root/requirements.txt ] || [ -e $root/include ]; then return 0; fi
  ln -sfn ../../cuda_nvcc/include/crt $root/nvidia/cuda_runtime/include/crt
  ln -sfn ../../cuda_cccl/include/nv $root/nvidia/cuda_runtime/include/nv
  chmod +x $root/nvidia/cuda_nvcc/bin/ptxas
  ln -s nvidia/cuda_runtime/include nvidia/cuda_runtime/lib nvidia/cuda_nvcc/bin nvidia/cuda_nvcc/nvvm $root
}

# What suites are built with, so that they start on systems with an old C library.
set_up_baseline() {
  install_packages python3-pip googletest dpkg-dev
  cmake/toolchains/set_up.sh build-toolchain x86_64-linux-gnu.2.28
}
