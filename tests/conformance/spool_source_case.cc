// The source that the example runner-own-source shows joins the suite: it is copied.
#include <fmt/format.h>

#include <filesystem>

#include "examples/runner-own-source/spool_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/temp_dir.h"

namespace semel::conformance {
namespace {

class SpoolPlace final : public SourcePlace {
 public:
  explicit SpoolPlace(bool follow) : follow_(follow) { std::filesystem::create_directory(spool_); }
  void add(const std::vector<Bytes>& payloads) override {
    for (const Bytes& payload : payloads) {
      const std::string name = fmt::format("{:09}", ++added_);
      test::write_file(spool_ + "/." + name, payload);
      std::filesystem::rename(spool_ + "/." + name, spool_ + "/" + name);
    }
  }
  void finish() override {}
  std::unique_ptr<Source> open() override { return std::make_unique<SpoolSource>(spool_, follow_); }
  void advance(milliseconds) override {}

 private:
  test::TempDir folder_;
  const std::string spool_ = folder_.file("spool");
  const bool follow_;
  int added_ = 0;
};

std::function<std::unique_ptr<SourcePlace>()> spool_place(bool follow) {
  return [follow] { return std::unique_ptr<SourcePlace>(new SpoolPlace(follow)); };
}

INSTANTIATE_TEST_SUITE_P(Spool, SourceSuite,
                         testing::Values(SourceCase{"spool", spool_place(false), true},
                                         SourceCase{"spool_followed", spool_place(true)}),
                         testing::PrintToStringParamName());

TEST(SpoolSource, WhatIsNoWholeFileIsNoMessage) {
  const test::TempDir folder;
  const std::string spool = folder.file("spool");
  std::filesystem::create_directories(spool + "/a-folder");
  test::write_file(spool + "/.being-written", "{\"id\":");
  test::write_file(spool + "/b", "{}");
  // It opens, and its first read fails.
  std::filesystem::create_symlink("/proc/self/mem", spool + "/c");
  SpoolSource source(spool, false);
  const auto first = source.receive({});
  ASSERT_TRUE(first.has_value()) << first.error().message;
  ASSERT_EQ(first->arrivals.size(), 1U);
  EXPECT_EQ(first->arrivals[0].payload, "{}");
  EXPECT_FALSE(first->at_end);
  const auto unread = source.receive({});
  ASSERT_FALSE(unread.has_value()) << "a cut payload is no message";
  EXPECT_EQ(unread.error().kind, ErrorKind::kUnavailable);
  std::filesystem::remove(spool + "/c");
  const auto rest = source.receive({});
  ASSERT_TRUE(rest.has_value()) << rest.error().message;
  EXPECT_TRUE(rest->arrivals.empty());
  EXPECT_TRUE(rest->at_end);
}

}  // namespace
}  // namespace semel::conformance
