#include "harness/selftest/source_kind.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(SourceKindTest, ADocumentAndAPlaceInIt) {
  EXPECT_EQ(kind_of_source("Level Zero specification, zeMemFree"), SourceKind::kSpecification);
  EXPECT_EQ(kind_of_source("CUDA Runtime API, cudaFree: implicit synchronization"),
            SourceKind::kSpecification);
  EXPECT_EQ(kind_of_source("CUDA Programming Guide, Lazy Loading"), SourceKind::kDocumentation);
  EXPECT_EQ(kind_of_source("measured: Intel compute-runtime 26.27"), SourceKind::kImplementation);
  EXPECT_EQ(kind_of_source("oneapi-src/level-zero-tests, test_copy.cpp"), SourceKind::kTests);
}

TEST(SourceKindTest, TheStrongestCounts) {
  EXPECT_EQ(kind_of_source("OpenCL-CTS, atomics; SPIR-V specification, atomic instructions"),
            SourceKind::kSpecification);
}

TEST(SourceKindTest, ADocumentWithoutAPlaceProvesNothing) {
  EXPECT_EQ(kind_of_source("Level Zero specification"), SourceKind::kOurs);
  EXPECT_EQ(kind_of_source("Level Zero specification, "), SourceKind::kOurs);
  EXPECT_EQ(kind_of_source("Level Zero specifications, zeMemFree"), SourceKind::kOurs);
  EXPECT_EQ(kind_of_source("isolation: two jobs on one device"), SourceKind::kOurs);
  EXPECT_EQ(kind_of_source(""), SourceKind::kOurs);
}

}  // namespace
}  // namespace proctor
