// A followed file that is rotated: what is read of which file, and for how long.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sources/file/test_follow.h"

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
  std::string rotated(int number) const { return path_ + "." + std::to_string(number); }
  void give_up_rotated() {
    const auto due = source_->wakeup().due_in;
    ASSERT_TRUE(due);
    environment_.clock.advance(*due);
  }

 private:
  void shift(int number) {
    if (std::filesystem::exists(rotated(number))) shift(number + 1);
    std::filesystem::rename(number == 1 ? path_ : rotated(number - 1), rotated(number));
  }
};

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
    environment_.clock.advance(seconds(10));
    EXPECT_EQ(lines(), Lines{});
  }
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

}  // namespace
}  // namespace semel::sources
