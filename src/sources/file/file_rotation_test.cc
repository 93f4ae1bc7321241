// A followed file that is rotated: what is read of which file, and for how long.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "sources/file/file_position.h"
#include "sources/file/rotation.h"
#include "sources/file/test_follow.h"
#include "tests/support/no_descriptors.h"

namespace semel::sources {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FileRotationTest : public FileFollowTest {
 protected:
  // Renames the file, and those that were renamed before, as logrotate does, and begins another.
  void rotate(std::string_view content) {
    shift(1);
    test::write_file(path_, content);
  }
  // Waits until the file system's clock has gone on since the last write.
  void pass_write_time(const std::string& name) {
    const std::string probe = dir_.file("probe");
    do {
      test::write_file(probe, "now");
    } while (std::filesystem::last_write_time(probe) <= std::filesystem::last_write_time(name));
  }
  void rotate_later(std::string_view content) {
    pass_write_time(path_);
    rotate(content);
  }
  std::string rotated(int number) const { return path_ + "." + std::to_string(number); }
  // Passes all times that the source waits for, and returns what comes meanwhile.
  Lines give_up_rotated() {
    Lines all;
    while (const auto due = source_->wakeup().due_in) {
      environment_.clock.advance(*due);
      for (std::string& line : lines()) all.push_back(std::move(line));
    }
    return all;
  }

  // Makes the file's inode that of the oldest position, as if the file system had given it again.
  void give_inode_of_first(Bytes& kept) {
    auto positions = decode(kept);
    ASSERT_TRUE(positions);
    ASSERT_EQ(positions->size(), 2U);
    positions->front().inode = inode_of(path_);
    kept = encode(*positions);
  }

 private:
  void shift(int number) {
    if (std::filesystem::exists(rotated(number))) shift(number + 1);
    std::filesystem::rename(number == 1 ? path_ : rotated(number - 1), rotated(number));
  }
};

// Descriptors of this process.
std::size_t descriptors() {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++found;
  }
  return found;
}

bool has_birth_time(const std::string& path) {
  struct statx found {};
  return ::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &found) == 0 &&
         (found.stx_mask & STATX_BTIME) != 0;
}

// By inotify, of all sources of this process.
std::size_t watches() {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    const std::string info = test::read_file(entry.path().string());
    for (std::size_t at = 0; (at = info.find("inotify wd:", at)) != std::string::npos; ++at)
      ++found;
  }
  return found;
}

TEST_F(FileRotationTest, AFileThatIsDoneIsWatchedNoMore) {
  const std::size_t before = watches();
  test::write_file(path_, "0\n");
  open();
  EXPECT_EQ(lines(), Lines{"0"});
  ASSERT_EQ(watches(), before + 2) << "the folder and the file";
  for (int i = 0; i < 4; ++i) {
    rotate("1\n");
    EXPECT_EQ(lines(), Lines{"1"});
    settle_all();
    EXPECT_EQ(give_up_rotated(), Lines{});
    EXPECT_EQ(watches(), before + 3) << "the last rotated one may grow";
  }
  std::filesystem::remove(rotated(1));
  EXPECT_EQ(lines(), Lines{});
  EXPECT_EQ(watches(), before + 2);
  close();
  EXPECT_EQ(watches(), before);
}

TEST_F(FileRotationTest, ATruncatedFileIsStillWatchedOnceItsOldLinesAreSettled) {
  test::write_file(path_, "1\n2\n");
  open();
  EXPECT_EQ(lines(), (Lines{"1", "2"}));
  test::write_file(path_, "3\n");
  EXPECT_EQ(lines(), Lines{"3"});
  settle_all();
  EXPECT_EQ(lines(), Lines{});
  EXPECT_FALSE(wakes(0));
  test::append_file(path_, "4\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), Lines{"4"});
}

TEST_F(FileRotationTest, TheNoticeOfATruncatedRotatedFileSaysThatItIsNotRead) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate("2\n");
  EXPECT_EQ(lines(), Lines{"2"});
  test::write_file(rotated(1), "3\n");
  EXPECT_EQ(lines(), Lines{});
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find("what is in it now is not read"), std::string::npos) << notices_[0];
}

TEST_F(FileRotationTest, TheNoticeOfATruncatedFileThatLostItsNameSaysThatItIsNotRead) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  std::filesystem::rename(path_, rotated(1));
  test::write_file(rotated(1), "3\n");
  EXPECT_EQ(lines(), Lines{});
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find("what is in it now is not read"), std::string::npos) << notices_[0];
}

TEST_F(FileRotationTest, ARotatedFileIsReadAsLongAsItsWriterWrites) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate("");
  EXPECT_EQ(lines(), Lines{});
  for (int i = 0; i < 5; ++i) {
    environment_.clock.advance(seconds(4));
    test::append_file(rotated(1), "half");
    EXPECT_EQ(lines(), Lines{}) << "its writer is about to write the rest";
    environment_.clock.advance(seconds(4));
    test::append_file(rotated(1), " and half\n");
    EXPECT_EQ(lines(), Lines{"half and half"});
  }
  EXPECT_EQ(notices_, Lines{});
}

TEST_F(FileRotationTest, ARotatedFileThatGrowsAfterItWasGivenUpIsReadOnAndSaidSoOnce) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate("2\n");
  test::append_file(rotated(1), "ha");
  EXPECT_EQ(lines(), Lines{"2"});
  EXPECT_EQ(give_up_rotated(), Lines{"ha"});
  settle_all();
  EXPECT_EQ(lines(), Lines{});
  EXPECT_FALSE(wakes(0));
  test::append_file(rotated(1), "lf\n3\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), (Lines{"half", "3"}));
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find("went on growing"), std::string::npos) << notices_[0];
  settle_all();
  EXPECT_EQ(give_up_rotated(), Lines{});
  test::append_file(rotated(1), "4\n5\n");
  EXPECT_EQ(lines(), (Lines{"4", "5"}));
  EXPECT_EQ(notices_, Lines{});
  open_.pop_back();
  settle_all();
  close();
  open();
  EXPECT_EQ(lines(), Lines{"5"}) << "what is not settled of it comes again";
}

TEST_F(FileRotationTest, TheLastRotatedFileIsLookedAtUntilAnotherOneIsGivenUp) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate("2\n");
  EXPECT_EQ(lines(), Lines{"2"});
  settle_all();
  EXPECT_EQ(give_up_rotated(), Lines{});
  rotate("3\n");
  EXPECT_EQ(lines(), Lines{"3"});
  test::append_file(rotated(2), "late\n");
  EXPECT_EQ(lines(), Lines{"late"});
  settle_all();
  EXPECT_EQ(give_up_rotated(), Lines{});
  test::append_file(rotated(1), "later\n");
  EXPECT_EQ(lines(), Lines{"later"});
}

TEST_F(FileRotationTest, AnInodeThatANewFileHasAgainCostsNoLaterPosition) {
  test::write_file(path_, "1\n2\n");
  open();
  EXPECT_EQ(lines(), (Lines{"1", "2"}));
  open_.pop_back();
  settle_all();
  rotate("3\n4\n");
  EXPECT_EQ(lines(), (Lines{"3", "4"}));
  open_.pop_back();
  settle_all();
  close();
  std::filesystem::remove(rotated(1));
  rotate("5\n6\n");
  give_inode_of_first(positions_.kept[path_]);
  open();
  EXPECT_EQ(lines(), (Lines{"4", "5", "6"}));
  ASSERT_EQ(notices_.size(), 2U);
  EXPECT_NE(notices_[0].find("is gone"), std::string::npos) << notices_[0];
  EXPECT_NE(notices_[1].find(rotated(1)), std::string::npos) << notices_[1];
}

TEST_F(FileRotationTest, RotationsThatWereNotSeenLoseNoFile) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate_later("2\n");
  rotate_later("3\n");
  rotate_later("4\n");
  EXPECT_EQ(lines(), (Lines{"2", "3", "4"}));
  ASSERT_EQ(notices_.size(), 3U);
  EXPECT_NE(notices_[1].find(rotated(2)), std::string::npos) << notices_[1];
  EXPECT_NE(notices_[2].find(rotated(1)), std::string::npos) << notices_[2];
  test::append_file(rotated(2), "late\n");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(lines(), Lines{"late"});
  settle_all();
  EXPECT_EQ(give_up_rotated(), Lines{});
  rotate_later("5\n");
  EXPECT_EQ(lines(), Lines{"5"});
  settle_all();
  close();
  open();
  EXPECT_EQ(lines(), Lines{});
}

TEST_F(FileRotationTest, RotationsBetweenTwoRunsLoseNoFile) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  settle_all();
  close();
  test::append_file(path_, "2\n");
  rotate_later("3\n");
  rotate_later("4\n");
  open();
  EXPECT_EQ(lines(), (Lines{"2", "3", "4"}));
  open_.erase(open_.begin());
  settle_all();
  close();
  open();
  EXPECT_EQ(lines(), Lines{"2"});
}

TEST_F(FileRotationTest, AFileThatWasBegunAndRemovedDuringAPauseIsReadToo) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  source_->set_paused("", true);
  rotate("2\n");
  EXPECT_EQ(lines(), Lines{});
  rotate("3\n");
  std::filesystem::remove(rotated(1));
  EXPECT_EQ(lines(), Lines{});
  source_->set_paused("", false);
  EXPECT_EQ(lines(), (Lines{"2", "3"}));
}

TEST_F(FileRotationTest, WhatIsNoRotatedFileIsNotRead) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate_later("3\n");
  test::write_file(dir_.file("refunds.jsonl.1"), "other\n");
  test::write_file(path_ + ".7.gz", "packed\n");
  test::write_file(rotated(8), "old\n");
  std::filesystem::last_write_time(
      rotated(8), std::filesystem::last_write_time(rotated(1)) - std::chrono::hours(1));
  std::filesystem::create_directory(rotated(9));
  std::filesystem::create_symlink(rotated(8), path_ + ".10");
  const std::vector<std::string> unclear{rotated(5), dir_.file("payments-2.jsonl"),
                                         dir_.file("payments-eu.jsonl")};
  std::filesystem::copy_file(rotated(1), unclear[0]);
  test::write_file(unclear[1], "shard\n");
  test::write_file(unclear[2], "europe\n");
  rotate_later("4\n");
  EXPECT_EQ(lines(), (Lines{"3", "4"}));
  for (const std::string& name : unclear) {
    EXPECT_EQ(std::count_if(notices_.begin(), notices_.end(),
                            [&](const std::string& notice) {
                              return notice.starts_with(name + " may have been");
                            }),
              1)
        << name;
  }
  EXPECT_EQ(notices_.size(), unclear.size() + 2);
}

TEST_F(FileRotationTest, AFileInBetweenIsReadWhereTheWriterOfTheOlderOneWasLate) {
  test::write_file(path_, "1\n");
  if (!has_birth_time(path_)) GTEST_SKIP() << "this file system has no birth times";
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate_later("2\n");
  rotate_later("3\n");
  pass_write_time(rotated(1));
  test::append_file(rotated(2), "late\n");
  EXPECT_EQ(lines(), (Lines{"late", "2", "3"}));
  ASSERT_EQ(notices_.size(), 2U);
  EXPECT_TRUE(notices_[1].starts_with(rotated(1))) << notices_[1];
}

TEST_F(FileRotationTest, WhereTheLastFileIsRemovedARotatedOneIsKnownByItsNumber) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  rotate_later("2\n");
  std::filesystem::remove(rotated(1));
  test::write_file(dir_.file("payments-eu.jsonl"), "europe\n");
  rotate_later("3\n");
  EXPECT_EQ(lines(), (Lines{"2", "3"}));
  EXPECT_EQ(notices_.size(), 3U);
}

TEST_F(FileRotationTest, AnOlderFileThatIsStillWrittenToIsNotReadAgain) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  settle_all();
  rotate_later("");
  EXPECT_EQ(lines(), Lines{});
  EXPECT_EQ(give_up_rotated(), Lines{});
  close();
  test::append_file(rotated(1), "2\n");
  open();
  rotate_later("3\n");
  EXPECT_EQ(lines(), Lines{"3"});
}

TEST_F(FileRotationTest, HoweverManyFilesWereNotSeenFewAreOpenAndAllAreReadInOrder) {
  constexpr int kFiles = 60;
  test::write_file(path_, "0\n");
  open();
  EXPECT_EQ(lines(), Lines{"0"});
  settle_all();
  const std::size_t before = descriptors();
  Lines expected;
  for (int i = 1; i <= kFiles; ++i) {
    rotate_later(std::to_string(i) + "\n");
    expected.push_back(std::to_string(i));
  }
  Lines all = lines();
  EXPECT_LT(descriptors(), before + kFiles / 2);
  settle_all();
  // A later rotation changes the names of those that wait.
  rotate_later("last\n");
  expected.emplace_back("last");
  for (int round = 0; round < kFiles && all.size() < expected.size(); ++round) {
    for (std::string& line : give_up_rotated()) all.push_back(std::move(line));
    EXPECT_LT(descriptors(), before + kFiles / 2);
    settle_all();
    for (std::string& line : lines()) all.push_back(std::move(line));
    settle_all();
  }
  EXPECT_EQ(all, expected);
}

TEST_F(FileRotationTest, FilesThatWaitAreReadInTheNextRunToo) {
  constexpr int kFiles = 40;
  test::write_file(path_, "0\n");
  open();
  EXPECT_EQ(lines(), Lines{"0"});
  settle_all();
  Lines expected;
  for (int i = 1; i <= kFiles; ++i) {
    rotate_later(std::to_string(i) + "\n");
    expected.push_back(std::to_string(i));
  }
  EXPECT_FALSE(lines().empty());
  Lines all;
  for (int run = 0; run < kFiles && all.size() < expected.size(); ++run) {
    close();
    const std::size_t before = descriptors();
    open();
    EXPECT_LT(descriptors(), before + kFiles / 2 + 5) << "the folder is watched too";
    for (std::string& line : lines()) all.push_back(std::move(line));
    settle_all();
    for (std::string& line : give_up_rotated()) all.push_back(std::move(line));
    settle_all();
  }
  EXPECT_EQ(all, expected);
}

TEST_F(FileRotationTest, WithoutADescriptorLeftTheFilesThatWereNotSeenWait) {
  test::write_file(path_, "0\n");
  open();
  EXPECT_EQ(lines(), Lines{"0"});
  settle_all();
  for (int i = 1; i <= 4; ++i) rotate_later(std::to_string(i) + "\n");
  {
    // One for the new file, two for a look into the folder.
    const test::NoDescriptors few(3);
    EXPECT_EQ(lines(), Lines{"1"});
    ASSERT_FALSE(notices_.empty());
    EXPECT_NE(notices_.back().find("wait until they can be opened"), std::string::npos)
        << notices_.back();
    EXPECT_TRUE(source_->wakeup().due_in) << "it tries again by itself";
  }
  EXPECT_EQ(lines(), (Lines{"2", "3", "4"}));
}

class RotationDuringALookTest : public FileRotationTest {
 protected:
  // Looks for what was not seen. `meanwhile` is called when the look is at a file.
  UnseenFiles look(const std::function<void(const struct stat&)>& meanwhile) {
    auto before = open_file(rotated(2));
    auto present = open_file(path_);
    if (!before || !*before || !present || !*present) {
      ADD_FAILURE() << "no such file";
      return {};
    }
    auto found = find_unseen(path_, **before, **present, [&](const struct stat& file) {
      meanwhile(file);
      return (*before)->same_as(file);
    });
    EXPECT_TRUE(found) << found.error().message;
    return found ? std::move(*found) : UnseenFiles();
  }
  void SetUp() override {
    test::write_file(path_, "1\n");
    rotate_later("2\n");
    rotate_later("3\n");
    unseen_ = inode_of(rotated(1));
  }

  std::uint64_t unseen_ = 0;
};

TEST_F(RotationDuringALookTest, AFileThatIsRenamedMeanwhileIsFound) {
  bool rotated_once = false;
  const UnseenFiles found = look([&](const struct stat& file) {
    if (file.st_ino == unseen_ && !std::exchange(rotated_once, true)) rotate_later("4\n");
  });
  EXPECT_TRUE(rotated_once);
  ASSERT_EQ(found.files.size(), 1U);
  EXPECT_EQ(found.files[0].st_ino, unseen_);
  EXPECT_EQ(found.notices.size(), 1U);
}

TEST_F(RotationDuringALookTest, WhereFilesAreRenamedInEachLookThatIsSaid) {
  int looks = 0;
  const UnseenFiles found = look([&](const struct stat& file) {
    if (file.st_ino != unseen_) return;
    ++looks;
    rotate_later("4\n");
  });
  EXPECT_GT(looks, 1);
  EXPECT_LT(looks, 10);
  ASSERT_FALSE(found.notices.empty());
  EXPECT_NE(found.notices[0].find("in each look"), std::string::npos) << found.notices[0];
}

TEST_F(FileRotationTest, WhereTheLastFileIsGoneTheNewestRotatedOneIsNamed) {
  test::write_file(path_, "1\n");
  open();
  EXPECT_EQ(lines(), Lines{"1"});
  settle_all();
  close();
  rotate_later("2\n");
  rotate_later("3\n");
  std::filesystem::remove(rotated(2));
  open();
  EXPECT_EQ(lines(), Lines{"3"});
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find(rotated(1)), std::string::npos) << notices_[0];
}

}  // namespace
}  // namespace semel::sources
