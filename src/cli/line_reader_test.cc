#include "cli/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace semel::cli {
namespace {

class InputLineReaderTest : public ::testing::Test {
 protected:
  InputLineReaderTest() { EXPECT_EQ(::pipe(ends_), 0); }
  ~InputLineReaderTest() override {
    ::close(ends_[0]);
    if (!closed_) ::close(ends_[1]);
  }
  void write(const std::string& text) {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    ::close(ends_[1]);
    closed_ = true;
  }
  int ends_[2] = {-1, -1};
  bool closed_ = false;
};

TEST_F(InputLineReaderTest, LinesComeWithoutTheirEnds) {
  write(
      "\xEF\xBB\xBF"
      "a\n\nb\r\n\xEF\xBB\xBF"
      "c\nlast\r");
  end();
  LineReader reader(ends_[0], 1 << 20);
  for (const char* line : {"a", "", "b",
                           "\xEF\xBB\xBF"
                           "c",
                           "last"})
    EXPECT_EQ(reader.next().value(), line);
  EXPECT_EQ(reader.next().value(), std::nullopt);
  EXPECT_EQ(reader.next().value(), std::nullopt);
}

TEST_F(InputLineReaderTest, ItSaysWhenTheNextOneIsNotThereYet) {
  LineReader reader(ends_[0], 1 << 20);
  EXPECT_TRUE(reader.would_wait());
  write("a\nb\n");
  EXPECT_FALSE(reader.would_wait());
  EXPECT_EQ(reader.next().value(), "a");
  EXPECT_FALSE(reader.would_wait()) << "b was read with a";
  EXPECT_EQ(reader.next().value(), "b");
  EXPECT_TRUE(reader.would_wait());
  end();
  EXPECT_FALSE(reader.would_wait()) << "the end need not be waited for";
}

TEST_F(InputLineReaderTest, ALineHasABound) {
  LineReader reader(ends_[0], 1 << 10);
  write(std::string(2 << 10, 'x'));
  const auto line = reader.next();
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().kind, ErrorKind::kLimit);
}

TEST_F(InputLineReaderTest, BytesAreBytes) {
  write(std::string("a\0b\xff\r\n", 6));
  end();
  LineReader reader(ends_[0], 1 << 10);
  EXPECT_EQ(reader.next().value(), std::string("a\0b\xff", 4));
}

}  // namespace
}  // namespace semel::cli
