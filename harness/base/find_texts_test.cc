#include "harness/base/find_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FindTextsTest : public testing::Test {
 protected:
  std::set<std::string_view> found(const std::string& content, std::string_view beginning = {}) {
    const std::string path = directory_ / "file";
    std::ofstream(path, std::ios::binary) << content;
    return *find_texts(path, {"one", "twelve"}, beginning);
  }
  TempDir directory_;
};

TEST_F(FindTextsTest, WhereverTheyStand) {
  EXPECT_THAT(found(""), IsEmpty());
  EXPECT_THAT(found("on e"), IsEmpty());
  EXPECT_THAT(found("twelve"), ElementsAre("twelve"));
  for (const std::size_t at : {65'530, 65'533, 65'535, 65'536, 131'070, 131'072, 200'000}) {
    std::string text(300'000, '\0');
    text.replace(at, 6, "twelve").replace(at + 6, 3, "one");
    EXPECT_THAT(found(text), ElementsAre("one", "twelve")) << at;
  }
}

TEST_F(FindTextsTest, OnlyInAFileThatBeginsSo) {
  EXPECT_THAT(found("#! one", "\x7f"), IsEmpty());
  EXPECT_THAT(found("\x7f one", "\x7f"), ElementsAre("one"));
  EXPECT_FALSE(find_texts(directory_ / "missing", {"one"}));
}

}  // namespace
}  // namespace proctor
