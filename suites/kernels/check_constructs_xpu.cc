// Constructs of SPIR-V that some driver's compiler lacks: a case for each module of constructs.spvasm. Each case first builds its
// module in a second process. If that fails, the case is skip(unsupported:CONSTRUCT) with a warning. The cases ask for right
// results. They no longer ask for the support that each row's source requires. harness/e2e/refused_modules.toml lists the
// compilers.
#include <bit>

#include "suites/kernels/built_apart.h"
#include "suites/kernels/instructions_xpu.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::Severity;

constexpr const char* kPartsOfComposites =
    "SPIR-V specification, OpCompositeConstruct, OpCompositeExtract, OpCompositeInsert";
constexpr const char* kTwoParts = "SPIR-V specification, OpUMulExtended, OpIAddCarry, OpISubBorrow";
constexpr const char* kDebug = "SPIR-V specification, debug instructions, which have no semantic impact";

struct Construct {
  const char* name;    // of the case, and what the skip names
  const char* module;  // construct_MODULE
  const char* rule;
  const char* source;
  // kGate where every compiler in reach that builds the module is known to compile it right.
  Severity severity;
  Numbers (*expected)(std::uint64_t x, std::uint64_t y);
  const char* kernel = "construct";
};

__extension__ using Wide = unsigned __int128;

std::uint64_t high_half(std::uint64_t x, std::uint64_t y) {
  return static_cast<std::uint64_t>(Wide{x} * y >> 64);
}

Numbers first_of(std::uint64_t x, std::uint64_t) { return {x}; }

// clang-format off
const Construct kConstructs[] = {
    {"VectorOfVectors", "vector_of_vectors", "K73", kPartsOfComposites, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       const std::uint64_t a = low_bits(x, 16), b = low_bits(y, 16);
       return {a, b, a, b, a, b, b, b, a};
     }},
    {"ExtractFromAVectorInside", "extract_from_a_vector_inside", "K73", kPartsOfComposites, kWarn,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {low_bits(y, 16), low_bits(x, 16)}; }},
    {"InsertIntoAVectorInside", "insert_into_a_vector_inside", "K73", kPartsOfComposites, kWarn,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {low_bits(y, 16), 2, low_bits(x, 16)}; }},
    {"SelectOfStructures", "select_a_structure", "K73", "SPIR-V specification, 1.4: OpSelect", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return x < y ? Numbers{x, 3, x} : Numbers{y, 5, y};
     }},
    {"UMulExtended", "product", "K73", kTwoParts, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       const std::uint64_t bytes = low_bits(x, 8) * low_bits(y, 8);
       return {x * y, high_half(x, y), low_bits(bytes, 8), bytes >> 8};
     }},
    {"UMulExtendedOfVectors", "product_of_vectors", "K73", kTwoParts, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {low_bits(low_bits(y, 32) * 10, 32), low_bits(x, 32) * low_bits(y, 32) >> 32};
     }},
    {"IAddCarry", "carry", "K73", kTwoParts, kGate, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {x + y, x + y < x, (low_bits(x, 32) + low_bits(y, 32)) >> 32};
     }},
    {"ISubBorrow", "borrow", "K73", kTwoParts, kGate, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {low_bits(x - y, 16), low_bits(x, 16) < low_bits(y, 16)};
     }},
    {"ISubBorrowOfVectors", "borrow_of_vectors", "K73", kTwoParts, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {y - 7, 5 < x, x < y};
     }},
    {"LogicalNot", "logical_not", "K25", "SPIR-V specification, OpLogicalNot", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {!(x < y)}; }},
    {"LogicalNotEqualOfVectors", "logical_not_equal_of_vectors", "K25", "SPIR-V specification, OpLogicalNotEqual", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {x <= y, y <= x, 1}; }},
    {"CopyMemory", "copy_memory", "K75", "SPIR-V specification, OpCopyMemory", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {x, y, 0, 0, x, y, 0, 0}; }},
    {"GenericCastToPtrExplicitOfLongs", "generic_cast", "K75", "SPIR-V specification, OpGenericCastToPtrExplicit", kWarn,
     [](std::uint64_t, std::uint64_t) -> Numbers { return {1, 1}; }},
    {"FirstNameOfAFunction", "one_function_two_names", "K76",
     "SPIR-V specification, OpEntryPoint: two may name one function with other names", kWarn, &first_of, "abc"},
    {"LastNameOfAFunction", "one_function_two_names", "K76",
     "SPIR-V specification, OpEntryPoint: two may name one function with other names", kGate, &first_of, "abcdefg"},
    {"NameForDebuggersOfAKernel", "other_debug_name", "K76", kDebug, kWarn, &first_of},
    {"SourceText", "source_text", "K76", kDebug, kWarn, &first_of},
    {"SourceContinued", "source_continued", "K76", kDebug, kWarn, &first_of},
    {"NonSemanticInstructions", "non_semantic", "K76",
     "SPIR-V extension, SPV_KHR_non_semantic_info, which no driver has to have", kWarn, &first_of},
};
// clang-format on

class ConstructCheck final : public suite::Check {
 public:
  explicit ConstructCheck(const Construct& row) : row_(row) {}

 private:
  void body() override {
    const auto context = leased();
    const std::string name = std::string("construct_") + row_.module;
    const Module module = load_built_apart(context, name, row_.name, row_.source);
    for (const auto& [x, y] : pairs_of_numbers())
      expect_results(context, module, row_.kernel, {x, y, 0, 0}, row_.expected(x, y));
  }

  const Construct& row_;
};

[[maybe_unused]] const bool kAdded = [] {
  for (const Construct& row : kConstructs) {
    suite::add_check({"Construct", row.name, row.rule, row.source, row.severity, __FILE__, __LINE__,
                      suite::CheckTraits{.faults = {"kernel.wrong_result:at=0"}}},
                     [&row] { return new ConstructCheck(row); });
  }
  return true;
}();

}  // namespace

// SPIR-V requires this instruction without a capability. No version of Intel's compiler has it.
PROCTOR_CHECK(Instruction, FloatsAreQuantizedToHalves, "K26", "SPIR-V specification, OpQuantizeToF16", kWarn,
              {"kernel.wrong_result:kernel=construct,at=0"}) {
  const auto context = leased();
  Numbers in, expected;
  for (const float value : {1.0f, -1.0f, 0.1f, 3.14159f, 65504.0f, 2049.0f, 2051.0f, -1234.567f, 0.00025f}) {
    in.push_back(std::bit_cast<std::uint32_t>(value));
    const auto bits = std::bit_cast<std::uint32_t>(kernels::float_from_half(kernels::half_from_float(value)));
    expected.push_back(std::uint64_t{bits} << 32 | bits);
  }
  const Module module = load_built_apart(context, "construct_quantize", "OpQuantizeToF16",
                                         "SPIR-V specification, OpQuantizeToF16");
  expect_results(context, module, "construct", in, expected,
                 groups_of(static_cast<std::uint32_t>(in.size()), 1));
}

}  // namespace proctor::accel
