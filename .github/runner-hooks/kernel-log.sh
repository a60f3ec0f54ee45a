# shellcheck shell=bash
# Sourced: what the kernel says about devices.

kernel_lines_since() { # SECONDS since boot
  dmesg 2>/dev/null | awk -v since="$1" -F '[][]' '$2 + 0 > since + 0' |
    grep -E 'NVRM: Xid|G[PT]U? reset|Resetting (rcs|ccs|bcs|chip)|wedged|GPU HANG' || true
}
