#include "suites/collectives/nccl/api.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "suites/collectives/library.h"
#include "suites/main/skipped.h"

namespace proctor::collectives::nccl {
namespace {

// Creates files that look like an installation of the library.
class NcclLookUp : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("PROCTOR_NCCL_LIBRARY"); }
  std::string file(const std::string& name) const {
    const auto path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "no library";
    return path.string();
  }
  std::string python(const std::string& prefix) const {
    const std::string path = file(prefix + "/bin/python3");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string wheel(const std::string& packages) const {
    return file(packages + "/nvidia/nccl/lib/libnccl.so.2");
  }

  TempDir directory_;
  const std::filesystem::path root_ = directory_.path();
};

TEST_F(NcclLookUp, UsesOnlyEnvironmentVariable) {
  python("usr");
  wheel("usr/lib/python3.11/site-packages");
  const Surroundings here{.wanted = "/opt/libnccl.so.2", .path = root_ / "usr/bin", .home = root_ / "home"};
  EXPECT_THAT(library_files(here), testing::ElementsAre("/opt/libnccl.so.2"));
}

TEST_F(NcclLookUp, SearchesLoaderThenPythonThenUserPackages) {
  python("usr");
  python("other");
  wheel("other/lib/python3.12/site-packages");
  wheel("usr/lib/perl5/site-packages");
  const auto distribution = wheel("usr/lib/python3/dist-packages");
  const auto local = wheel("usr/local/lib/python3.11/dist-packages");
  const auto own = wheel("home/.local/lib/python3.11/site-packages");
  const Surroundings here{.wanted = "",
                          .path = (root_ / "none").string() + "::" + (root_ / "usr/bin").string() + ":" +
                                  (root_ / "other/bin").string(),
                          .home = root_ / "home"};
  EXPECT_THAT(library_files(here), testing::ElementsAre("libnccl.so.2", distribution, local, own));
}

// The python3 of a virtual environment is a link to the python3 that created it.
TEST_F(NcclLookUp, PrefersVirtualEnvironmentOverLinkTarget) {
  std::filesystem::create_directories(root_ / "venv/bin");
  std::filesystem::create_symlink(python("usr"), root_ / "venv/bin/python3");
  const auto system = wheel("usr/lib/python3.11/site-packages");
  const auto own = wheel("venv/lib/python3.11/site-packages");
  const Surroundings here{.wanted = "", .path = root_ / "venv/bin", .home = ""};
  EXPECT_THAT(library_files(here), testing::ElementsAre("libnccl.so.2", own, system));
}

TEST_F(NcclLookUp, ReportsReasonForLoadFailure) {
  const auto reason = [](const std::string& wanted) {
    ::setenv("PROCTOR_NCCL_LIBRARY", wanted.c_str(), 1);
    std::string why;
    EXPECT_FALSE(load_api(why));
    return reason_not_loaded("libnccl.so.2", why);
  };
  EXPECT_EQ(reason((root_ / "libnccl.so.2").string()), "library_missing:libnccl.so.2");
  EXPECT_THAT(reason(file("text.so")), testing::StartsWith("library_unusable:"));
  EXPECT_THAT(reason("libm.so.6"), testing::HasSubstr("undefined symbol: ncclGetVersion"));
}

TEST_F(NcclLookUp, MissingLibrarySkipsProvider) {
  ::setenv("PROCTOR_NCCL_LIBRARY", (root_ / "libnccl.so.2").c_str(), 1);
  try {
    load_provider("nccl");
    FAIL() << "it was loaded";
  } catch (const suite::Skipped& skipped) {
    EXPECT_EQ(skipped.reason(), "library_missing:libnccl.so.2");
  }
}

}  // namespace
}  // namespace proctor::collectives::nccl
