// A file source that follows: growth, rotation and truncation while it runs.
#include <gtest/gtest.h>

#include <filesystem>

#include "sources/file/test_follow.h"

namespace semel::sources {
namespace {

using std::chrono::seconds;

TEST_F(FileFollowTest, WaitsForWholeLines) {
  test::write_file(path_, "1\n2");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  EXPECT_FALSE(wakes(0));
  test::append_file(path_, "2\n3\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), (Lines{"22", "3"}));
  EXPECT_FALSE(wakes(0));
}

TEST_F(FileFollowTest, WaitsForAFileThatIsNotThereYet) {
  open();
  EXPECT_EQ(lines(), Lines{});
  test::write_file(path_, "1\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), Lines{"1"});
  EXPECT_EQ(notices_, Lines{});
}

TEST_F(FileFollowTest, ARotatedFileIsReadToItsEndWhateverIsStillWrittenToIt) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  std::filesystem::rename(path_, path_ + ".1");
  test::append_file(path_ + ".1", "2\n");
  test::write_file(path_, "4\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), (Lines{"2", "4"}));
  EXPECT_EQ(notices_.size(), 1U);
  test::append_file(path_ + ".1", "3\nend");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), Lines{"3"});
  test::append_file(path_, "5\n");
  EXPECT_EQ(lines(), Lines{"5"});
  const auto due = source_->wakeup().due_in;
  ASSERT_TRUE(due) << "the old file is given up some time";
  environment_.clock.advance(*due);
  EXPECT_EQ(lines(), Lines{"end"});
  settle_all();
  environment_.clock.advance(seconds(1));
  EXPECT_EQ(lines(), Lines{});
  EXPECT_FALSE(source_->wakeup().due_in);
  close();
  open();
  EXPECT_EQ(lines(), Lines{});
}

TEST_F(FileFollowTest, TwoRotationsInARow) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  for (const char* const name : {"2\n", "3\n"}) {
    std::filesystem::rename(path_, path_ + "." + name[0]);
    test::write_file(path_, name);
    EXPECT_EQ(lines().size(), 1U);
  }
  settle_all();
  close();
  open();
  EXPECT_EQ(lines(), Lines{}) << "the position is that of the newest file";
}

TEST_F(FileFollowTest, WhatIsNotSettledOfARotatedFileComesAgainAfterARestart) {
  test::write_file(path_, "1\n2\n");
  open();
  EXPECT_EQ(lines(), (Lines{"1", "2"}));
  ASSERT_TRUE(source_->settle(settlements(open_)));
  test::append_file(path_, "3\n");
  std::filesystem::rename(path_, path_ + ".1");
  test::write_file(path_, "4\n");
  EXPECT_EQ(lines(), (Lines{"3", "4"}));
  open_.erase(open_.begin(), open_.begin() + 3);
  settle_all();  // only the new file's line
  close();
  open();
  EXPECT_EQ(lines(), Lines{"3"});
}

TEST_F(FileFollowTest, ATruncatedFileIsReadFromItsStart) {
  test::write_file(path_, "1\n2\n3\n");
  open();
  EXPECT_EQ(lines().size(), 3U);
  test::write_file(path_, "4\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), Lines{"4"});
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find("truncated"), std::string::npos);
  test::append_file(path_, "5\n");
  EXPECT_EQ(lines(), Lines{"5"});
  settle_all();
  close();
  open();
  EXPECT_EQ(lines(), Lines{});
}

// The same line is at the same place as before, so only the source that saw the truncation can
// know.
TEST_F(FileFollowTest, ATruncationThatWasSeenOutlivesARestart) {
  test::write_file(path_, "1\n2\n3\n");
  open();
  EXPECT_EQ(lines().size(), 3U);
  ASSERT_TRUE(source_->settle(settlements(open_)));
  environment_.clock.advance(seconds(10));
  EXPECT_EQ(lines(), Lines{});
  test::write_file(path_, "");
  EXPECT_EQ(lines(), Lines{});
  test::write_file(path_, "8\n9\n3\n");
  close();
  open();
  EXPECT_EQ(lines(), (Lines{"8", "9", "3"}));
}

TEST_F(FileFollowTest, AGivenBackLineThatIsThereNoMoreIsSaidSo) {
  test::write_file(path_, "1\n2\n");
  open();
  EXPECT_EQ(lines().size(), 2U);
  test::write_file(path_, "3\n");
  ASSERT_TRUE(source_->settle(settlements(open_, Settlement::Kind::kRelease)));
  open_.clear();
  EXPECT_EQ(lines(), Lines{"3"});
  EXPECT_GE(notices_.size(), 3U);
  settle_all();
  close();
  open();
  EXPECT_EQ(lines(), Lines{});
}

TEST_F(FileFollowTest, ARemovedFileIsReadToItsEndAndWaitedFor) {
  test::write_file(path_, "1\n2\n");
  open();
  std::filesystem::remove(path_);
  EXPECT_EQ(lines(), (Lines{"1", "2"}));
  EXPECT_EQ(lines(), Lines{});
  test::write_file(path_, "3\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), Lines{"3"});
}

TEST_F(FileFollowTest, SomethingElseUnderTheNameIsTroubleThatPasses) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  auto received = source_->receive({});
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(received.error().code, "R232");
  std::filesystem::remove(path_);
  test::write_file(path_, "2\n");
  EXPECT_EQ(lines(), Lines{"2"});
}

}  // namespace
}  // namespace semel::sources
