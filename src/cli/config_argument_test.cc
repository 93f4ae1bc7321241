// Where a command takes its config: as an argument, by --config, or not where it was given.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/test_program.h"
#include "tests/support/temp_dir.h"

namespace semel::cli {
namespace {

class ConfigArgument : public testing::Test {
 protected:
  ConfigArgument() {
    test::write_file(config_,
                     "version: 1\nstore: { sqlite: { path: " + folder_.file("s.db") +
                         " } }\nconsumers:\n  - name: payments\n    source: { queue: {} }\n"
                         "    key: json:/id\n    handler: { exec: ./payment.sh }\n");
  }

  int run(std::vector<std::string> words) {
    ProgramRan ran = run_program(std::move(words), {add_records, add_dlq, add_store});
    err_ = std::move(ran.err);
    return ran.code;
  }

  const test::TempDir folder_;
  const std::string config_ = folder_.file("other.yaml");
  std::string err_;
};

TEST_F(ConfigArgument, IsTakenByTheListsOfRecordsAndLetters) {
  ASSERT_EQ(run({"store", "init", config_}), kOk) << err_;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"records", "list"}, {"dlq", "list"}, {"dlq", "groups"}}) {
    SCOPED_TRACE(command[1]);
    std::vector<std::string> words = command;
    words.push_back(config_);
    EXPECT_EQ(run(words), kOk) << err_;
    EXPECT_EQ(err_.find("error"), std::string::npos) << err_;
    words.back() = folder_.file("absent.yaml");
    EXPECT_NE(run(words), kOk) << "the file that is named is the one that is read";
    EXPECT_NE(err_.find("absent.yaml"), std::string::npos) << err_;
  }
}

TEST_F(ConfigArgument, ACommandWithAnArgumentOfItsOwnNamesTheFlag) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"records", "show", "p-1", "other.yaml"},
        {"dlq", "show", "7", "other.yaml"},
        {"dlq", "show", "other.yaml"}}) {
    SCOPED_TRACE(words[1]);
    EXPECT_EQ(run(words), kUsage);
    EXPECT_NE(err_.find("semel " + words[0] + " " + words[1] + " takes its config by a flag"),
              std::string::npos)
        << err_;
    EXPECT_NE(err_.find("-c other.yaml"), std::string::npos) << err_;
  }
}

TEST_F(ConfigArgument, AnotherArgumentTooManyIsNoConfig) {
  EXPECT_EQ(run({"records", "show", "p-1", "p-2"}), kUsage);
  EXPECT_EQ(err_.find("takes its config"), std::string::npos) << err_;
  EXPECT_EQ(run({"records", "list", config_, "more"}), kUsage);
  EXPECT_EQ(err_.find("takes its config"), std::string::npos)
      << "its config is an argument: " << err_;
  EXPECT_NE(err_.find("more"), std::string::npos) << err_;
  EXPECT_EQ(run({"records", "list", config_, "--limit", "many"}), kUsage);
  EXPECT_EQ(err_.find("takes its config"), std::string::npos) << err_;
}

}  // namespace
}  // namespace semel::cli
