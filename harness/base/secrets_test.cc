#include "harness/base/secrets.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

using Words = std::vector<std::string>;

TEST(Secrets, DetectsSecretVariableNames) {
  for (const char* name : {"API_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_KEY", "DB_PASSWORD",
                           "passwd", "Client_Secret_2", "GOOGLE_APPLICATION_CREDENTIALS"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"PATH", "MODE", "KEYBOARD", "TOKENIZERS_PARALLELISM", ""})
    EXPECT_FALSE(is_secret_name(name)) << name;
}

TEST(Secrets, HidesSecretValuesOfEnvOption) {
  EXPECT_EQ(hide_secrets({"proctor", "run", "--env", "API_TOKEN=s=1", "--env=DB_PASSWORD=s", "--env",
                          "MODE=fast", "--env", "EMPTY_TOKEN=", "--", "./t", "--env", "API_TOKEN=theirs"}),
            (Words{"proctor", "run", "--env", "API_TOKEN=***", "--env=DB_PASSWORD=***", "--env", "MODE=fast",
                   "--env", "EMPTY_TOKEN=", "--", "./t", "--env", "API_TOKEN=theirs"}));
  EXPECT_EQ(hide_secrets({"run", "--env"}), (Words{"run", "--env"}));
}

TEST(Secrets, RerunReadsSecretsFromEnvironment) {
  const Words hidden = {"proctor", "run", "--env=API_TOKEN=***", "--env", "MODE=***"};
  const auto set =
      fill_in_secrets(hidden, [](const std::string&) { return std::optional<std::string>("s"); });
  ASSERT_TRUE(set);
  EXPECT_EQ(*set, (Words{"proctor", "run", "--env=API_TOKEN=s", "--env", "MODE=***"}));
  const auto unset = fill_in_secrets(hidden, [](const std::string&) { return std::nullopt; });
  ASSERT_FALSE(unset);
  EXPECT_NE(unset.error().hint.find("Set API_TOKEN"), std::string::npos);
}

}  // namespace
}  // namespace proctor
