#include "harness/evidence/python_layout.h"

#include <array>
#include <cstring>

namespace proctor {
namespace {

constexpr std::uint32_t kMinorMask = 0xffff0000;
constexpr std::uint32_t k311 = 0x030b0000;
constexpr std::uint32_t k312 = 0x030c0000;
constexpr std::uint32_t k313 = 0x030d0000;
constexpr std::uint8_t kOwnedByCStack = 3;  // FRAME_OWNED_BY_CSTACK

PythonLayout layout_311() {
  return {.runtime_interpreters = 40,
          .interpreter_next = 0,
          .interpreter_threads = 16,
          .thread_next = 8,
          .thread_native_id = 160,
          .thread_frame = 56,
          .held_frame = 8,
          .frame_previous = 48,
          .frame_code = 32,
          .frame_instruction = 56,
          .frame_owner = 69,
          .owner_of_shim = std::nullopt,
          .code_filename = 112,
          .code_qualname = 128,
          .code_linetable = 136,
          .code_first_line = 72,
          .code_instructions = 184,
          .ascii_text = 48,
          .unicode_text = 72};
}

PythonLayout layout_312() {
  return {.runtime_interpreters = 40,
          .interpreter_next = 0,
          .interpreter_threads = 72,
          .thread_next = 8,
          .thread_native_id = 144,
          .thread_frame = 56,
          .held_frame = 0,
          .frame_previous = 8,
          .frame_code = 0,
          .frame_instruction = 56,
          .frame_owner = 70,
          .owner_of_shim = kOwnedByCStack,
          .code_filename = 112,
          .code_qualname = 128,
          .code_linetable = 136,
          .code_first_line = 68,
          .code_instructions = 192,
          .ascii_text = 40,
          .unicode_text = 56};
}

// The beginning of _Py_DebugOffsets of 3.13: 64-bit words, in this order.
struct DebugOffsets313 {
  std::array<char, 8> cookie;
  std::uint64_t version, free_threaded;
  struct {
    std::uint64_t size, finalizing, interpreters_head;
  } runtime;
  struct {
    std::uint64_t size, id, next, threads_head, gc, imports_modules, sysdict, builtins, ceval_gil, gil_state,
        gil_enabled, gil_locked, gil_holder;
  } interpreter;
  struct {
    std::uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk,
        status;
  } thread;
  struct {
    std::uint64_t size, previous, executable, instr_ptr, localsplus, owner;
  } frame;
  struct {
    std::uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
        localspluskinds, co_code_adaptive;
  } code;
};

std::optional<PythonLayout> layout_313(const RemoteMemory& memory, std::uint64_t runtime) {
  const auto says = memory.get<DebugOffsets313>(runtime);
  if (!says || std::memcmp(says->cookie.data(), "xdebugpy", says->cookie.size()) != 0) return std::nullopt;
  if (says->free_threaded != 0) return std::nullopt;  // objects have another head there
  return PythonLayout{.runtime_interpreters = says->runtime.interpreters_head,
                      .interpreter_next = says->interpreter.next,
                      .interpreter_threads = says->interpreter.threads_head,
                      .thread_next = says->thread.next,
                      .thread_native_id = says->thread.native_thread_id,
                      .thread_frame = says->thread.current_frame,
                      .held_frame = std::nullopt,
                      .frame_previous = says->frame.previous,
                      .frame_code = says->frame.executable,
                      .frame_instruction = says->frame.instr_ptr,
                      .frame_owner = says->frame.owner,
                      .owner_of_shim = kOwnedByCStack,
                      .code_filename = says->code.filename,
                      .code_qualname = says->code.qualname,
                      .code_linetable = says->code.linetable,
                      .code_first_line = says->code.firstlineno,
                      .code_instructions = says->code.co_code_adaptive,
                      .ascii_text = 40,
                      .unicode_text = 56};
}

}  // namespace

std::optional<PythonLayout> python_layout(std::uint32_t version, const RemoteMemory& memory,
                                          std::uint64_t runtime) {
  switch (version & kMinorMask) {
    case k311:
      return layout_311();
    case k312:
      return layout_312();
    case k313:
      return layout_313(memory, runtime);
    default:
      return std::nullopt;
  }
}

}  // namespace proctor
