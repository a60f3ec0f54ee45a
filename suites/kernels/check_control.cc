// Where a program goes, and what it finds when it comes back: switches over numbers of every width, calls, and long loops.
#include <limits>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kControl = by_vendor(
    "SPIR-V specification, control-flow and function instructions; OpenCL C specification, statements",
    "CUDA Programming Guide, C++ Language Support");

template <typename T>
struct Labels {
  T first, second, third, fourth;
};

// The kernels of one module, of the form name(in, out, n) and name(in, out, more, n).
class Control {
 public:
  explicit Control(const Context& context)
      : context_(context), queue_(context), module_(Module::load(context, "control")) {}

  template <typename In, typename... More>
  void expect(const std::string& kernel, const std::vector<In>& in,
              const std::vector<std::uint32_t>& expected, More... more) {
    const auto n = static_cast<std::uint32_t>(in.size());
    const auto from = device_copy(queue_, context_, in);
    const Buffer to = device_memory(context_, n * sizeof(std::uint32_t));
    step("given " + std::to_string(n) + " work-items of " + kernel);
    queue_.launch(Kernel(module_, kernel), cover(n, 32), arguments(from, to, more..., n));
    queue_.synchronize();
    expect_words(kernel, expected, read_as<std::uint32_t>(queue_, context_, to), context_.device());
  }

  // Each label, what lies beside it, and what is it but for one bit.
  template <typename T>
  void expect_switch(const std::string& name, const Labels<T>& labels) {
    std::vector<T> in;
    for (const T label : {T{0}, labels.first, labels.second, labels.third, labels.fourth}) {
      using Word = std::make_unsigned_t<T>;
      const auto word = static_cast<Word>(label);
      in.push_back(label);
      in.push_back(static_cast<T>(static_cast<Word>(word + 1)));
      in.push_back(static_cast<T>(static_cast<Word>(word - 1)));
      for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit)
        in.push_back(static_cast<T>(static_cast<Word>(word ^ (std::uint64_t{1} << bit))));
    }
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < in.size(); ++i) {
      const T x = in[i];
      expected.push_back(x == 0               ? 3 * i
                         : x == labels.first  ? i + 100
                         : x == labels.second ? i ^ 0x5555
                         : x == labels.third  ? ~i
                         : x == labels.fourth ? i << 3 | 1
                                              : 99);
    }
    expect("switch_" + name, in, expected);
  }

 private:
  Context context_;
  Queue queue_;
  Module module_;
};

// As in control.cl.
std::uint32_t shuffled(std::uint32_t first, std::uint32_t by) {
  std::uint32_t own[8] = {};
  for (std::uint32_t k = 0; k < 8; ++k) own[k * by % 8] = first + k * k;
  std::uint32_t result = 0;
  for (std::uint32_t k = 0; k < 8; ++k) result = result * 3 + own[k ^ (first & 7)];
  return result;
}
std::uint32_t between(std::uint32_t first, std::uint32_t by) {
  std::uint32_t own[5] = {};
  for (std::uint32_t k = 0; k < 5; ++k) own[(k + by) % 5] = first ^ k;
  std::uint32_t result = shuffled(first, by) + shuffled(first + 1, by + 2);
  for (std::uint32_t k = 0; k < 5; ++k) result = result * 5 + own[(first + k) % 5];
  return result;
}
std::uint32_t stepped(std::uint32_t value, std::uint32_t by) { return value * 1664525 + by; }

}  // namespace

PROCTOR_CHECK(Control, SwitchesGoByEveryBit, "K79", kControl, kGate,
              {"kernel.wrong_result:kernel=switch_i64,arg=1,at=4",
               "kernel.wrong_result:kernel=switch_u8,arg=1,at=4"}) {
  Control control(leased());
  control.expect_switch<std::int8_t>("i8", {-1, -128, 127, 5});
  control.expect_switch<std::uint8_t>("u8", {255, 128, 127, 5});
  control.expect_switch<std::int16_t>("i16", {-1, -32768, 255, 256});
  control.expect_switch<std::uint16_t>("u16", {65535, 32768, 255, 256});
  control.expect_switch<std::int32_t>("i32", {-1, std::numeric_limits<std::int32_t>::min(), 65536, 256});
  control.expect_switch<std::uint32_t>("u32", {~0u, 0x80000000, 65536, 256});
  control.expect_switch<std::int64_t>("i64", {-1, 4294967296, -4294967296, 4294967295});
  control.expect_switch<std::uint64_t>("u64",
                                       {~std::uint64_t{0}, 4294967296, std::uint64_t{1} << 63, 4294967295});
}

PROCTOR_CHECK(Control, FunctionsKeepTheirMemoryApart, "K79", kControl, kGate,
              {"kernel.wrong_result:kernel=calls,arg=1,at=4"}) {
  Control control(leased());
  const auto in = noise_words(100, 3);
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t x : in) {
    std::uint32_t own[6] = {};
    for (std::uint32_t k = 0; k < 6; ++k) own[(k + x) % 6] = x + k;
    std::uint32_t result = between(x, 2 * (x % 4) + 1);
    for (const std::uint32_t number : own) result = result * 7 + number;
    expected.push_back(result + 1000 * 128 +
                       static_cast<std::uint32_t>(expected.size() % 32));  // 4 groups of 32
  }
  control.expect("calls", in, expected);
}

PROCTOR_CHECK(Control, LongLoopsComeToTheirEnd, "K79", kControl, kGate,
              {"kernel.wrong_result:kernel=many_calls,arg=1,at=4"}) {
  Control control(leased());
  constexpr std::uint32_t kRounds = 5000;
  const auto in = noise_words(20, 4);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    std::uint32_t value = in[i];
    for (std::uint32_t k = 0; k < kRounds + i; ++k) value = stepped(stepped(value, k), value >> 7);
    expected.push_back(value);
  }
  control.expect("many_calls", in, expected, kRounds);
}

}  // namespace proctor::accel
