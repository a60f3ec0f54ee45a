#include "harness/selftest/source_kind.h"

#include <algorithm>

namespace proctor {
namespace {

struct Document {
  std::string_view name;
  SourceKind kind;
};

using enum SourceKind;

constexpr std::array kDocuments{
    Document{"Level Zero specification", kSpecification},
    Document{"Level Zero programming guide", kSpecification},  // a part of it
    Document{"CUDA Runtime API", kSpecification},              // cuda_runtime_api.h, driver_types.h
    Document{"CUDA Driver API", kSpecification},
    Document{"CUDA Math API", kSpecification},
    Document{"NVML API Reference Guide", kSpecification},  // nvml.h
    Document{"OpenCL C specification", kSpecification},
    Document{"OpenCL Extension specification", kSpecification},
    Document{"SPIR-V specification", kSpecification},
    Document{"SPIR-V extension", kSpecification},
    Document{"PTX ISA", kSpecification},
    Document{"IEEE 754", kSpecification},
    Document{"OFP8", kSpecification},
    Document{"C standard", kSpecification},
    Document{"POSIX", kSpecification},
    Document{"oneCCL specification", kSpecification},

    Document{"CUDA Programming Guide", kDocumentation},
    Document{"Linux DRM documentation", kDocumentation},
    Document{"NVIDIA GPU Memory Error Management", kDocumentation},
    Document{"NVIDIA XID Errors", kDocumentation},
    Document{"NVIDIA Multi-Instance GPU User Guide", kDocumentation},
    Document{"NCCL user guide", kDocumentation},
    Document{"Higham", kDocumentation},
    Document{"Freivalds", kDocumentation},
    Document{"Hochschild et al.", kDocumentation},  // errors of single cores that nobody tells

    Document{"intel/compute-runtime", kImplementation},
    Document{"oneapi-src/level-zero", kImplementation},
    Document{"PyTorch", kImplementation},
    Document{"Gloo", kImplementation},
    Document{"oneCCL", kImplementation},
    Document{"torchft", kImplementation},
    Document{"measured", kImplementation},

    Document{"oneapi-src/level-zero-tests", kTests},
    Document{"OpenCL-CTS", kTests},
    Document{"ROCm/hip-tests", kTests},
    Document{"NVIDIA nccl-tests", kTests},
    Document{"NVIDIA DCGM", kTests},
    Document{"NVIDIA nvbandwidth", kTests},
};

bool names(std::string_view part, const Document& document) {
  if (!part.starts_with(document.name)) return false;
  part.remove_prefix(document.name.size());
  return part.size() > 2 && (part.starts_with(", ") || part.starts_with(": "));
}

SourceKind kind_of_part(std::string_view part) {
  const auto found =
      std::ranges::find_if(kDocuments, [&](const Document& document) { return names(part, document); });
  return found == kDocuments.end() ? kOurs : found->kind;
}

}  // namespace

std::string_view to_string(SourceKind kind) {
  switch (kind) {
    case kSpecification:
      return "specification";
    case kDocumentation:
      return "documentation";
    case kImplementation:
      return "implementation";
    case kTests:
      return "tests";
    case kOurs:
      return "ours";
  }
  return "";
}

SourceKind kind_of_source(std::string_view source) {
  SourceKind strongest = kOurs;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find("; "), source.size());
    strongest = std::min(strongest, kind_of_part(source.substr(0, end)));
    source.remove_prefix(std::min(end + 2, source.size()));
  }
  return strongest;
}

}  // namespace proctor
