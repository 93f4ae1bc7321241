// Where a command takes its config: as an argument, by --config, or not where it was given.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"

namespace semel::cli {
namespace {

namespace fs = std::filesystem;

class ConfigArgument : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "semel-config-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    config_ = folder_ / "other.yaml";
    std::ofstream(config_) << "version: 1\nstore: { sqlite: { path: " << (folder_ / "s.db").string()
                           << " } }\nconsumers:\n  - name: payments\n    source: { queue: {} }\n"
                              "    key: json:/id\n    handler: { exec: ./payment.sh }\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  int run(std::vector<std::string> words) {
    words.insert(words.begin(), "semel");
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Program program;
    add_records(program);
    add_dlq(program);
    add_store(program);
    const int code = program.run(static_cast<int>(arguments.size()), arguments.data());
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  fs::path folder_;
  fs::path config_;
  std::string out_;
  std::string err_;
};

TEST_F(ConfigArgument, IsTakenByTheListsOfRecordsAndLetters) {
  const std::string config = config_.string();
  ASSERT_EQ(run({"store", "init", config}), kOk) << err_;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"records", "list"}, {"dlq", "list"}, {"dlq", "groups"}}) {
    SCOPED_TRACE(command[1]);
    std::vector<std::string> words = command;
    words.push_back(config);
    EXPECT_EQ(run(words), kOk) << err_;
    EXPECT_EQ(err_.find("error"), std::string::npos) << err_;
    words.back() = (folder_ / "absent.yaml").string();
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
  EXPECT_EQ(run({"records", "list", config_.string(), "more"}), kUsage);
  EXPECT_EQ(err_.find("takes its config"), std::string::npos)
      << "its config is an argument: " << err_;
  EXPECT_NE(err_.find("more"), std::string::npos) << err_;
  EXPECT_EQ(run({"records", "list", config_.string(), "--limit", "many"}), kUsage);
  EXPECT_EQ(err_.find("takes its config"), std::string::npos) << err_;
}

}  // namespace
}  // namespace semel::cli
