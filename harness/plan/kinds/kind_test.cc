#include <gtest/gtest.h>

#include <set>

#include "harness/plan/kinds/all_kinds.h"

namespace proctor {
namespace {

TEST(Kinds, EachHasANameThatFindsIt) {
  std::set<std::string_view> names;
  for (const Kind* kind : all_kinds()) {
    EXPECT_TRUE(names.insert(kind->name()).second) << kind->name();
    EXPECT_EQ(find_kind(kind->name()), kind);
  }
  EXPECT_EQ(kind_names().size(), names.size());
  EXPECT_EQ(find_kind("nonsense"), nullptr);
}

// A translator is wanted where a process does not speak the child protocol itself.
TEST(Kinds, WhoHasWordsOfItsOwnHasATranslator) {
  Suite suite;
  suite.command = {"program"};
  for (const Kind* kind : all_kinds()) {
    const Voice voice = kind->voice(suite);
    if (voice != Voice::kStream && voice != Voice::kFile) continue;
    EXPECT_NE(kind->translator(suite), nullptr) << kind->name();
    EXPECT_FALSE(kind->output_options("/f").empty()) << kind->name();
  }
}

// A foreign framework calls its cases by its own ids, ours by their names.
TEST(Kinds, WhatAChildCallsItsCase) {
  Case test;
  test.id = "s/Of/Group.Name/0";
  test.name = "Name/0";
  for (const Kind* kind : all_kinds())
    EXPECT_EQ(kind->name_for_child(test), kind->ours() ? "Name/0" : "Of/Group.Name/0") << kind->name();
}

}  // namespace
}  // namespace proctor
