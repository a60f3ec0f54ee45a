#!/bin/sh
# The first start fails, the second one does not.
if mkdir warmed 2>/dev/null; then
  echo "connection refused: 127.0.0.1:8000" >&2
  exit 1
fi
rmdir warmed
echo "ready"
