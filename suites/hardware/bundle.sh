#!/usr/bin/env bash
# bundle.sh BUILD OUT   what runs the CUDA suites on a machine that has NVIDIA's driver and nothing else.
#
# OUT/run.sh starts them; OUT/bin holds runner, probe, suites and device code, OUT/lib the libraries that they need,
# found by their run path ($ORIGIN/../lib). The C library is the machine's own: it must not be older than the one here.
set -euo pipefail

build=$(realpath "$1")
out=$2
most_mib=64
grep -qs '^CMAKE_BUILD_TYPE:STRING=Release$' "$build/CMakeCache.txt" || most_mib=96 # not optimised
programs=(proctor proctor-guard proctor-probe-cuda proctor-probe-xpu visibility_cuda memory_cuda kernels_cuda management_cuda
  collectives_cuda libproctor_nccl.so health_cuda)
if [ -x "$build/bin/memory_cuda12" ]; then # for a driver of CUDA 12
  programs+=(visibility_cuda12 memory_cuda12 kernels_cuda12 management_cuda12 collectives_cuda12 health_cuda12)
fi
of_the_machine='^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt)[.-]'

die() {
  echo "bundle: $*" >&2
  exit 1
}

libraries_of() { # NAME PATH, a line each, of a program as this machine would load it
  { ldd "$1" 2>/dev/null || true; } | awk '$2 == "=>" {print $1, $3} /not found/ {exit 1}' | sort -u
}

rm -rf "$out"
mkdir -p "$out/bin/kernels" "$out/lib"
for program in "${programs[@]}"; do
  [ -x "$build/bin/$program" ] || die "$build/bin/$program was not built (is the CUDA toolkit there?)"
  cp "$build/bin/$program" "$out/bin/"
done
cp -r "$build/bin/share" "$out/bin/"
find "$build/bin/kernels" \( -name '*.fatbin' -o -name '*.ptx' -o -name '*.cubin' \) -exec cp -t "$out/bin/kernels" {} +
cp "$(dirname "$0")/run.sh" "$out/"

for program in "${programs[@]}"; do
  while read -r name path; do
    [[ $name =~ $of_the_machine || -e $out/lib/$name ]] || cp -L "$path" "$out/lib/$name"
  done < <(libraries_of "$out/bin/$program")
done
# The probe asks for them by name: those that the suites were linked with.
compgen -G "$out/lib/libcudart.so.*" >/dev/null || die "no suite needs libcudart: it was linked statically"
strip --strip-unneeded "$out"/bin/proctor "$out"/bin/*_cuda* "$out"/bin/proctor-probe-*

for program in "${programs[@]}"; do
  while read -r name path; do
    [[ $name =~ $of_the_machine || $(realpath "$path") == "$(realpath "$out")"/lib/* ]] ||
      die "bin/$program would load $name from $path, outside of the bundle"
  done < <(libraries_of "$out/bin/$program")
done
bytes=$(du -sb "$out" | cut -f1)
[ "$bytes" -le $((most_mib << 20)) ] || die "$out has $((bytes >> 20)) MiB, more than $most_mib"
echo "$out: $((bytes >> 20)) MiB; copy it to the machine and start run.sh there"
