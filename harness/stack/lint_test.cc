// Tests that each rule finds its mistake on the right line and accepts the correct form.
#include "harness/stack/lint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> found(std::string_view text) {
  std::vector<std::string> all;
  for (const auto& finding : lint_dockerfile(text)) {
    EXPECT_FALSE(finding.what.empty() || finding.fix.empty()) << finding.rule;
    all.push_back(fmt::format("{} {}", finding.line, finding.rule));
  }
  return all;
}

const std::string kFrom =
    "FROM debian@sha256:1111111111111111111111111111111111111111111111111111111111111111\n";
const std::string kUser = "\nUSER 10001\n";

struct Sample {
  const char* name;
  const char* text;  // inserted between a valid FROM on line 1 and a valid USER
  std::vector<std::string> findings;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }

class LintRule : public testing::TestWithParam<Sample> {};

TEST_P(LintRule, FindsExpectedViolations) {
  EXPECT_EQ(found(kFrom + GetParam().text + kUser), GetParam().findings);
}

const Sample kSamples[] = {
    {"Clean",
     "RUN apt-get update && apt-get install -y --no-install-recommends libze1=1.8.12-1 \\\n"
     " && rm -rf /var/lib/apt/lists/*",
     {}},
    {"LooseVersions",
     "RUN apt-get update && apt-get install -y --no-install-recommends \\\n"
     "      libze1 \\\n"
     "      # a comment between\n"
     "      clinfo=3.* \\\n"
     "      curl=7.88.1-10 ./local.deb \\\n"
     " && rm -rf /var/lib/apt/lists/*",
     {"5 loose-version"}},
    {"UpdateAndInstallApart",
     "RUN apt-get update && rm -rf /var/lib/apt/lists/*\nRUN apt-get install --no-install-recommends a1=1",
     {"2 update-alone", "3 install-without-update"}},
    {"Upgrade",
     "RUN apt-get update && apt-get install --no-install-recommends a1=1 && apt-get -y upgrade && "
     "rm -rf /var/lib/apt/lists/*",
     {"2 upgrade"}},
    {"Ppa", "RUN add-apt-repository -y ppa:kobuk-team/intel-graphics", {"2 ppa"}},
    {"PpaByAddress",
     "RUN echo 'deb https://ppa.launchpadcontent.net/a/b/ubuntu noble main' > /etc/apt/sources.list.d/a.list",
     {"2 ppa"}},
    {"Trusted",
     "RUN echo 'deb [trusted=yes] http://example.org a main' > /etc/apt/sources.list.d/a.list",
     {"2 unsigned-repository"}},
    {"TrustedInAHeredoc",
     "COPY <<EOF /etc/apt/sources.list.d/a.sources\nTypes: deb\nTrusted: yes\nEOF",
     {"4 unsigned-repository"}},
    {"CurlToShell",
     "RUN curl -fsSL https://example.org/i.sh | sudo bash -s -- -y",
     {"2 unchecked-download", "2 download-to-shell"}},
    {"CurlInAString", "RUN bash -c \"$(curl -fsSL https://example.org/i.sh)\"", {"2 download-to-shell"}},
    {"CurlToShellInsideAShell",
     "RUN [\"sh\", \"-c\", \"curl https://example.org/i.sh | sh\"]",
     {"2 unchecked-download", "2 download-to-shell"}},
    {"CurlToShellInAHeredoc",
     "RUN <<EOF\nset -e\nwget -qO- https://example.org/i.sh | sh\nEOF",
     {"4 unchecked-download", "4 download-to-shell"}},
    {"UncheckedDownload", "RUN curl -o /a.deb https://example.org/a.deb", {"2 unchecked-download"}},
    {"CheckedDownload",
     "RUN curl -o /a.deb https://example.org/a.deb && echo 'abc  /a.deb' | sha256sum --check --strict -",
     {}},
    {"SumWithoutCheck", "RUN wget https://example.org/a.deb && sha256sum a.deb", {"2 unchecked-download"}},
    {"UncheckedAdd", "ADD https://example.org/a.deb /a.deb", {"2 unchecked-download"}},
    {"CheckedAdd", "ADD --checksum=sha256:abc https://example.org/a.deb /a.deb", {}},
    {"KeyByFingerprint",
     "ADD https://example.org/a.key /f/a.asc\nRUN cp /f/a.asc /etc/apt/trusted.gpg.d/a.asc; "
     "printf '%s\\n' 'Types: deb' 'Signed-By: 1111111111111111111111111111111111111111' > "
     "/etc/apt/sources.list.d/a.sources",
     {}},
    {"KeyByFingerprintOfAnotherSource",
     "ADD https://example.org/a.key /f/a.asc\nRUN cp /f/a.asc /etc/apt/trusted.gpg.d/a.asc; "
     "printf '%s\\n' 'Types: deb' > /etc/apt/sources.list.d/a.sources; "
     "printf '%s\\n' 'Types: deb' 'Signed-By: 1111111111111111111111111111111111111111' > "
     "/etc/apt/sources.list.d/b.sources",
     {"2 unchecked-download"}},
    {"KeyOfAnyFingerprint",
     "ADD https://example.org/a.key /f/a.asc\nRUN cp /f/a.asc /etc/apt/trusted.gpg.d/a.asc",
     {"2 unchecked-download"}},
    {"AddCheckedLater", "ADD https://example.org/a.deb /a.deb\nRUN sha256sum --check /sums", {}},
    {"AddCheckedInAnotherStage",
     "ADD https://example.org/a.deb /a.deb\nFROM scratch\nRUN sha256sum --check /sums",
     {"2 unchecked-download"}},
    {"UselessUser", "USER root\nUSER 7", {"2 useless-user", "3 useless-user"}},
};

INSTANTIATE_TEST_SUITE_P(All, LintRule, testing::ValuesIn(kSamples),
                         [](const auto& sample) { return std::string(sample.param.name); });

TEST(LintUser, LastStageMustSetUser) {
  EXPECT_THAT(found(kFrom), ElementsAre("1 no-user"));
  EXPECT_THAT(found(kFrom + "USER 7\nRUN true\n" + kFrom), ElementsAre("4 no-user"));
  EXPECT_THAT(found(kFrom + "USER 7\n"), IsEmpty());
}

TEST(LintImage, RequiresDigestOrBuildArgument) {
  EXPECT_THAT(found("FROM ubuntu:24.04\nUSER 7\n"), ElementsAre("1 image-without-digest"));
  EXPECT_THAT(found("ARG B=ubuntu:24.04\nFROM ${B}\nUSER 7\n"), ElementsAre("2 image-without-digest"));
  EXPECT_THAT(found("ARG B=ubuntu@sha256:1\nFROM ${B}\nUSER 7\n"), IsEmpty());
  EXPECT_THAT(found("ARG B\nFROM ${B}\nUSER 7\n"), IsEmpty());
  EXPECT_THAT(found(kFrom.substr(0, kFrom.size() - 1) + " AS build\nFROM build\nUSER 7\n"), IsEmpty());
}

// The text is from a public project's Dockerfile for Intel GPUs.
TEST(LintSample, FindsUnpinnedPpaInstall) {
  const auto findings = lint_dockerfile(
      "FROM intel/deep-learning-essentials:2025.3.2-0-devel-ubuntu24.04\n"
      "USER root\n"
      "RUN apt-get update && apt-get install -y software-properties-common && \\\n"
      "    add-apt-repository -y ppa:kobuk-team/intel-graphics && \\\n"
      "    apt-get update && apt-get install -y \\\n"
      "      libze-intel-gpu1 libze1 intel-opencl-icd \\\n"
      "      intel-media-va-driver-non-free libmfx-gen1\n"
      "USER sdp\n");
  std::vector<std::string> all;
  for (const auto& finding : findings)
    all.push_back(fmt::format("{} {}: {}", finding.line, finding.rule, finding.what));
  EXPECT_THAT(
      all,
      ElementsAre("1 image-without-digest: `intel/deep-learning-essentials:2025.3.2-0-devel-ubuntu24.04` "
                  "is a tag, which can move to another image",
                  "4 ppa: `ppa:kobuk-team/intel-graphics` lists only the newest version of each package"));
}

}  // namespace
}  // namespace proctor
