#include "sources/file/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "system/descriptor.h"
#include "tests/support/temp_dir.h"

namespace semel::sources {
namespace {

using Step = LineReader::Step;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

class FileLineReaderTest : public testing::Test {
 protected:
  Step next() {
    std::size_t budget = kAll;
    return reader().next(budget);
  }
  LineReader& reader() {
    if (!reader_) {
      fd_ = system::Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
      reader_ = std::make_unique<LineReader>(fd_.get(), begin_, taken_);
    }
    return *reader_;
  }
  std::string line() {
    const BytesView view = reader().view();
    if (!view.empty()) return std::string(view);
    Bytes loaded;
    EXPECT_TRUE(load_line(fd_.get(), reader().span(), kAll, loaded));
    return loaded;
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("lines");
  std::uint64_t begin_ = 0;
  std::uint64_t taken_ = 0;
  system::Descriptor fd_;
  std::unique_ptr<LineReader> reader_;
};

TEST_F(FileLineReaderTest, LinesWithTheirPlaces) {
  test::write_file(path_, "one\n\nthree\n");
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "one\n");
  EXPECT_EQ(reader().span().begin, 0U);
  EXPECT_EQ(reader().span().end, 4U);
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "\n");
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "three\n");
  EXPECT_EQ(reader().span().begin, 5U);
  EXPECT_EQ(next(), Step::kEnd);
  EXPECT_FALSE(reader().take_rest());
}

TEST_F(FileLineReaderTest, GrowsWhileItIsRead) {
  test::write_file(path_, "one\ntw");
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(next(), Step::kEnd);
  test::append_file(path_, "o\nthree");
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "two\n");
  EXPECT_EQ(next(), Step::kEnd);
  test::append_file(path_, "\n");
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "three\n");
}

TEST_F(FileLineReaderTest, AnUnfinishedLineTakenOnceComesAgainOnlyWhenItGoesOn) {
  test::write_file(path_, "one\ntwo");
  ASSERT_EQ(next(), Step::kLine);
  ASSERT_EQ(next(), Step::kEnd);
  ASSERT_TRUE(reader().take_rest());
  EXPECT_EQ(line(), "two");
  ASSERT_EQ(next(), Step::kEnd);
  EXPECT_FALSE(reader().take_rest());
  test::append_file(path_, "\nthr");
  ASSERT_EQ(next(), Step::kEnd);
  ASSERT_TRUE(reader().take_rest());
  EXPECT_EQ(line(), "thr");
  test::append_file(path_, "ee\n");
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "three\n");
}

TEST_F(FileLineReaderTest, ALineManyTimesItsBuffer) {
  const std::string giant(3 << 20, 'g');
  test::write_file(path_, "small\n" + giant + "\nafter\n");
  ASSERT_EQ(next(), Step::kLine);
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_TRUE(reader().view().empty());
  EXPECT_EQ(line(), giant + "\n");
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "after\n");
  EXPECT_EQ(next(), Step::kEnd);
}

TEST_F(FileLineReaderTest, EveryLengthAroundTheBuffer) {
  constexpr std::size_t kBuffer = 256 << 10;
  std::string content;
  std::vector<std::string> lines;
  for (const std::size_t size : {kBuffer - 2, kBuffer - 1, kBuffer, kBuffer + 1, std::size_t{1},
                                 2 * kBuffer, 2 * kBuffer - 1}) {
    lines.push_back(std::string(size, static_cast<char>('a' + lines.size())) + "\n");
    content += lines.back();
  }
  test::write_file(path_, content);
  for (const std::string& expected : lines) {
    ASSERT_EQ(next(), Step::kLine);
    EXPECT_TRUE(line() == expected) << expected.size();
  }
  EXPECT_EQ(next(), Step::kEnd);
}

TEST_F(FileLineReaderTest, ReturnsFromTheMiddleOfALongLine) {
  test::write_file(path_, std::string(2 << 20, 'x') + "\n");
  std::size_t budget = 1 << 20;
  EXPECT_EQ(reader().next(budget), Step::kMore);
  EXPECT_EQ(budget, 0U);
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(reader().span().size(), (2U << 20) + 1);
}

TEST_F(FileLineReaderTest, NoticesTruncation) {
  test::write_file(path_, "one\ntwo\n");
  while (next() == Step::kLine) {
  }
  test::write_file(path_, "on");
  EXPECT_EQ(next(), Step::kChanged);
}

TEST_F(FileLineReaderTest, NoticesOtherContentOfTheSameLengthAndMore) {
  test::write_file(path_, "one\ntwo\n");
  while (next() == Step::kLine) {
  }
  test::write_file(path_, "ONE\ntwo\nthree\n");
  EXPECT_EQ(next(), Step::kChanged);
}

TEST_F(FileLineReaderTest, NoticesAChangeBeforeThePlaceItBeganAt) {
  test::write_file(path_, "one\ntwo\n");
  begin_ = taken_ = 4;
  ASSERT_EQ(next(), Step::kLine);
  EXPECT_EQ(line(), "two\n");
  test::write_file(path_, "0ne\ntwo\nthree\n");
  EXPECT_EQ(next(), Step::kChanged);
}

}  // namespace
}  // namespace semel::sources
