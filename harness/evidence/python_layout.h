// Where each version of CPython keeps the parts of a stack. Only the fields that are read are named.
//
// Sources: 3.11 and 3.12: Include/internal/pycore_{runtime,interp,frame}.h and
// Include/cpython/{pystate,code}.h of those branches, on machines with 64-bit pointers; they do not change
// within a minor version. 3.13: the program itself has the offsets (_Py_DebugOffsets, made for readers from
// outside). Other versions: py-spy.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/evidence/remote_memory.h"

namespace proctor {

struct PythonLayout {
  std::uint64_t runtime_interpreters = 0;  // _PyRuntimeState
  std::uint64_t interpreter_next = 0;      // PyInterpreterState
  std::uint64_t interpreter_threads = 0;
  std::uint64_t thread_next = 0;  // PyThreadState
  std::uint64_t thread_native_id = 0;
  std::uint64_t thread_frame = 0;           // the frame, or the object that holds it:
  std::optional<std::uint64_t> held_frame;  // _PyCFrame.current_frame up to 3.12
  std::uint64_t frame_previous = 0;         // _PyInterpreterFrame
  std::uint64_t frame_code = 0;
  std::uint64_t frame_instruction = 0;
  std::uint64_t frame_owner = 0;
  std::optional<std::uint8_t> owner_of_shim;  // frames of C code between two Python frames
  std::uint64_t code_filename = 0;            // PyCodeObject
  std::uint64_t code_qualname = 0;
  std::uint64_t code_linetable = 0;
  std::uint64_t code_first_line = 0;
  std::uint64_t code_instructions = 0;
  std::uint64_t ascii_text = 0;    // sizeof(PyASCIIObject)
  std::uint64_t unicode_text = 0;  // sizeof(PyCompactUnicodeObject)
};

// `version` as PY_VERSION_HEX; `runtime`: address of _PyRuntime.
std::optional<PythonLayout> python_layout(std::uint32_t version, const RemoteMemory& memory,
                                          std::uint64_t runtime);

}  // namespace proctor
