#!/usr/bin/env bash
# bundle.sh BACKEND SUITES RUNNER OUT   what runs the suites of a backend (cuda, xpu) on a machine that has its vendor's
# driver and nothing else. SUITES and RUNNER are build directories, which may be the same.
#
# OUT/run.sh starts them; OUT/bin holds runner, probes, suites and device code, OUT/lib the libraries that they need,
# found by their run path ($ORIGIN/../lib). The C library is the machine's own: it must not be older than the one that
# SUITES was built for. Driver and Level Zero loader are the machine's own.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
backend=$1
suites=$(realpath "$2")
runner=$(realpath "$3")
out=$4
most_mib=64
grep -qs '^CMAKE_BUILD_TYPE:STRING=Release$' "$suites/CMakeCache.txt" || most_mib=96 # not optimised
of_runner=(proctor proctor-guard)
of_suites=(proctor-probe-cuda proctor-probe-xpu)
of_the_machine='^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt)[.-]'

die() {
  echo "bundle: $*" >&2
  exit 1
}

case "$backend" in
  cuda)
    parts=(visibility memory kernels management collectives health)
    code=(-name '*.fatbin' -o -name '*.ptx' -o -name '*.cubin')
    of_suites+=(libproctor_nccl.so)
    versions=(cuda)
    [ ! -x "$suites/bin/memory_cuda12" ] || versions+=(cuda12) # for a driver of CUDA 12
    needs="the CUDA toolkit"
    ;;
  xpu)
    parts=(visibility memory kernels management health)
    code=(-name '*.spv')
    versions=(xpu)
    needs="the packages of ./dev packages"
    ;;
  *) die "no bundle for '$backend'" ;;
esac
for version in "${versions[@]}"; do
  for part in "${parts[@]}"; do of_suites+=("${part}_$version"); done
done

libraries_of() { # NAME PATH, a line each, of a program as this machine would load it
  { ldd "$1" 2>/dev/null || true; } | awk '$2 == "=>" {print $1, $3} /not found/ {exit 1}' | sort -u
}

copy_programs() { # build directory, programs
  local build=$1 program
  shift
  for program in "$@"; do
    [ -x "$build/bin/$program" ] || die "$build/bin/$program was not built (is $needs there?)"
    cp "$build/bin/$program" "$out/bin/"
  done
}

rm -rf "$out"
mkdir -p "$out/bin/kernels" "$out/lib"
copy_programs "$runner" "${of_runner[@]}"
copy_programs "$suites" "${of_suites[@]}"
cp -r "$runner/bin/share" "$out/bin/"
find "$suites/bin/kernels" \( "${code[@]}" \) -exec cp -t "$out/bin/kernels" {} +
if [ "$backend" = cuda ]; then
  code_list=$("$here/code_of.py" --require "$(<"$suites/suites/hardware/architectures.txt")" "$out"/bin/kernels/*.fatbin) ||
    die "the modules do not have the code that this build asks for: build them again"
  echo "$out: code for $code_list"
fi
cp "$here/run.sh" "$out/"
[ "$backend" != cuda ] || cp "$here/lent.sh" "$out/"

for program in "${of_suites[@]}"; do
  while read -r name path; do
    [[ $name =~ $of_the_machine || -e $out/lib/$name ]] || cp -L "$path" "$out/lib/$name"
  done < <(libraries_of "$out/bin/$program")
done
if [ "$backend" = cuda ]; then # the probe asks for them by name: those that the suites were linked with
  compgen -G "$out/lib/libcudart.so.*" >/dev/null || die "no suite needs libcudart: it was linked statically"
fi
strip --strip-unneeded "$out"/bin/proctor "$out"/bin/proctor-probe-* "$out"/bin/*_"$backend"*

for program in "${of_suites[@]}"; do
  while read -r name path; do
    [[ $name =~ $of_the_machine || $(realpath "$path") == "$(realpath "$out")"/lib/* ]] ||
      die "bin/$program would load $name from $path, outside of the bundle"
  done < <(libraries_of "$out/bin/$program")
done
# Made against an old C library: nothing of them may need a newer one.
glibc=$(sed -n 's/^PROCTOR_TARGET:[A-Z]*=.*-gnu\.\([0-9.]*\)$/\1/p' "$suites/CMakeCache.txt")
[ -z "$glibc" ] || "$here/../../cmake/package/check_symbols.py" "$glibc" "${of_suites[@]/#/$out/bin/}"
bytes=$(du -sb "$out" | cut -f1)
[ "$bytes" -le $((most_mib << 20)) ] || die "$out has $((bytes >> 20)) MiB, more than $most_mib"
echo "$out: $((bytes >> 20)) MiB; copy it to the machine and start run.sh there"
