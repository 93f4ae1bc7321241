#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "sources/sources.h"
#include "sources/test_doubles.h"
#include "tests/support/test_environment.h"

namespace semel::sources {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

class FileSourceTest : public testing::Test {
 protected:
  std::unique_ptr<Source> open(bool follow = false,
                               FileOptions::From from = FileOptions::From::kKept) {
    FileOptions options;
    options.path = path_;
    options.from = from;
    options.follow = follow;
    options.max_line = max_line_;
    options.patience = patience_;
    auto source = make_file_source(options, kConsumer, positions_, environment_.get());
    if (!source) {
      error_ = source.error();
      return nullptr;
    }
    return std::move(*source);
  }
  // Reads all lines, settles them and closes.
  Lines run() {
    auto source = open();
    if (!source) return {"not opened"};
    auto received = receive_all(*source);
    EXPECT_TRUE(received) << received.error().message;
    EXPECT_TRUE(received->at_end);
    notices_ = received->notices;
    EXPECT_TRUE(source->settle(settlements(received->arrivals)));
    EXPECT_TRUE(source->close(seconds(1)));
    return payloads(*received);
  }
  Received receive(Source& source) {
    auto received = receive_all(source);
    EXPECT_TRUE(received) << received.error().message;
    return received ? std::move(*received) : Received{};
  }
  bool wakes(Source& source, int within_ms = 5'000) {
    pollfd fd{source.wakeup().fd, POLLIN, 0};
    return ::poll(&fd, 1, within_ms) == 1;
  }

  test::TempDir dir_;
  test::TestEnvironment environment_;
  FakePositions positions_;
  std::string path_ = dir_.file("payments.jsonl");
  std::size_t max_line_ = 1 << 20;
  milliseconds patience_ = FileOptions{}.patience;
  Lines notices_;
  Error error_;
};

TEST_F(FileSourceTest, YieldsEachLineOnceWithItsPlace) {
  test::write_file(path_, "{\"id\":1}\n{\"id\":2}\n");
  auto source = open();
  ASSERT_TRUE(source);
  EXPECT_EQ(source->traits().name, "file");
  EXPECT_TRUE(source->traits().ends);
  EXPECT_TRUE(source->traits().replays);
  const Received received = receive(*source);
  EXPECT_EQ(payloads(received), (Lines{"{\"id\":1}", "{\"id\":2}"}));
  EXPECT_TRUE(received.at_end);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(received.arrivals[0].position, std::to_string(status.st_ino) + ":0");
  EXPECT_EQ(received.arrivals[1].position, std::to_string(status.st_ino) + ":9");
  EXPECT_EQ(received.arrivals[0].partition, std::filesystem::canonical(path_).string());
}

TEST_F(FileSourceTest, BlankLinesAndForeignEndingsAreNoMessages) {
  test::write_file(path_, "\xEF\xBB\xBF{\"a\":1}\r\n\r\n   \t\n\n{\"b\":2}\r\n{\"c\":3}");
  EXPECT_EQ(run(), (Lines{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"}));
}

TEST_F(FileSourceTest, BytesAreBytes) {
  const std::string binary("\x00\x01\xFF\xFE garbage \x00", 14);
  test::write_file(path_, "good\n" + binary + "\n" + std::string(200 << 10, '[') + "\nafter\n");
  const Lines lines = run();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], binary);
  EXPECT_EQ(lines[2].size(), 200U << 10);
  EXPECT_EQ(lines[3], "after");
}

TEST_F(FileSourceTest, GoesOnWhereItWasSettled) {
  test::write_file(path_, "1\n2\n3\n");
  EXPECT_EQ(run(), (Lines{"1", "2", "3"}));
  EXPECT_EQ(run(), Lines{});
  test::append_file(path_, "4\n");
  EXPECT_EQ(run(), Lines{"4"});
  EXPECT_EQ(notices_, Lines{});
}

TEST_F(FileSourceTest, FromStartReadsAllAgain) {
  test::write_file(path_, "1\n2\n");
  run();
  auto source = open(false, FileOptions::From::kStart);
  EXPECT_EQ(payloads(receive(*source)), (Lines{"1", "2"}));
}

TEST_F(FileSourceTest, WhatIsNotSettledComesAgainAndNothingBehindItIsSkipped) {
  test::write_file(path_, "1\n2\n3\n4\n");
  {
    auto source = open();
    const Received received = receive(*source);
    auto all = settlements(received.arrivals);
    all.erase(all.begin() + 1);
    ASSERT_TRUE(source->settle(all));
    ASSERT_TRUE(source->close(seconds(1)));
  }
  EXPECT_EQ(run(), (Lines{"2", "3", "4"}));
}

TEST_F(FileSourceTest, WithoutACloseThePositionIsThatOfTheLastSave) {
  test::write_file(path_, "1\n2\n3\n");
  {
    auto source = open();
    const Received received = receive(*source);
    auto all = settlements(received.arrivals);
    environment_.clock.advance(seconds(10));
    ASSERT_TRUE(source->settle(std::span(all).first(2)));
    EXPECT_EQ(positions_.saves, 2U) << "when it was opened, and now";
    ASSERT_TRUE(source->settle(std::span(all).last(1)));
    EXPECT_EQ(positions_.saves, 2U) << "not for every settlement";
  }
  EXPECT_EQ(run(), Lines{"3"});
}

TEST_F(FileSourceTest, AnIdleSourceSavesWhatWasSettledLast) {
  test::write_file(path_, "1\n");
  auto source = open(true);
  ASSERT_TRUE(source->settle(settlements(receive(*source).arrivals)));
  EXPECT_EQ(positions_.saves, 1U);
  const auto due = source->wakeup().due_in;
  ASSERT_TRUE(due);
  environment_.clock.advance(*due);
  EXPECT_EQ(receive(*source).arrivals.size(), 0U);
  EXPECT_EQ(positions_.saves, 2U);
  EXPECT_FALSE(source->wakeup().due_in) << "nothing left to do: no polling";
}

TEST_F(FileSourceTest, AStoreThatIsAwayCostsNoSettlement) {
  test::write_file(path_, "1\n2\n");
  auto source = open();
  const Received received = receive(*source);
  positions_.failing = true;
  environment_.clock.advance(seconds(10));
  EXPECT_TRUE(source->settle(settlements(received.arrivals)));
  EXPECT_EQ(positions_.saves, 2U);
  EXPECT_FALSE(source->close(seconds(1)));
  source.reset();
  positions_.failing = false;
  EXPECT_EQ(run(), (Lines{"1", "2"}));
}

TEST_F(FileSourceTest, AFileThatAnotherReadsByNowIsNotReadOn) {
  test::write_file(path_, "1\n2\n");
  auto source = open();
  const Received received = receive(*source);
  positions_.taken = true;
  environment_.clock.advance(seconds(10));
  EXPECT_TRUE(source->settle(settlements(received.arrivals)));
  const auto refused = receive_all(*source);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "R230");
  EXPECT_EQ(refused.error().kind, ErrorKind::kRejected) << "waiting mends nothing";
}

TEST_F(FileSourceTest, GivenBackLinesComeAgainAtOnce) {
  test::write_file(path_, "1\n2\n3\n");
  auto source = open();
  const Received received = receive(*source);
  EXPECT_FALSE(wakes(*source, 0));
  ASSERT_TRUE(source->settle(settlements(received.arrivals, Settlement::Kind::kRelease)));
  EXPECT_TRUE(wakes(*source));
  const Received again = receive(*source);
  EXPECT_EQ(payloads(again), (Lines{"1", "2", "3"}));
  EXPECT_TRUE(again.at_end);
  EXPECT_EQ(again.arrivals[1].position, received.arrivals[1].position);
  ASSERT_TRUE(source->settle(settlements(again.arrivals)));
  ASSERT_TRUE(source->close(seconds(1)));
  EXPECT_EQ(run(), Lines{});
}

TEST_F(FileSourceTest, LimitsArePassedByAtMostOneMessage) {
  test::write_file(path_, "11111\n22222\n33333\n44444\n");
  auto source = open();
  ReceiveLimits limits;
  limits.bytes = 6;
  EXPECT_EQ(source->receive(limits)->arrivals.size(), 2U);
  limits = {};
  limits.messages = 1;
  auto one = source->receive(limits);
  EXPECT_EQ(payloads(*one), Lines{"33333"});
  EXPECT_FALSE(one->at_end);
  EXPECT_EQ(source->wakeup().due_in, milliseconds(0));
  EXPECT_EQ(payloads(receive(*source)), Lines{"44444"});
}

TEST_F(FileSourceTest, ALineThatIsTooLongIsRefusedByItsPlaceAndTheNextOneIsRead) {
  max_line_ = 1000;
  test::write_file(path_,
                   "1\n" + std::string(5 << 20, 'x') + "\n" + std::string(998, 'y') + "\r\n3\n");
  auto source = open();
  const Received received = receive(*source);
  ASSERT_EQ(received.arrivals.size(), 4U);
  const Arrival& refused = received.arrivals[1];
  EXPECT_EQ(refused.refused, "too_large");
  EXPECT_NE(refused.refused_error.find(path_), std::string::npos) << refused.refused_error;
  EXPECT_NE(refused.refused_error.find(refused.position), std::string::npos);
  EXPECT_GT(refused.payload.size(), 1000U);
  EXPECT_LT(refused.payload.size(), 100'000U);
  EXPECT_FALSE(received.arrivals[2].refused);
  EXPECT_EQ(received.arrivals[3].payload, "3");
}

TEST_F(FileSourceTest, ThirtyMegabytesAreOneMessage) {
  max_line_ = FileOptions{}.max_line;
  test::write_file(path_, "1\n" + std::string(30 << 20, 'x') + "\n2\n");
  const Lines lines = run();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].size(), 30U << 20);
  EXPECT_EQ(run(), Lines{});
}

TEST_F(FileSourceTest, AnUnfinishedLineThatGoesOnIsReadAgainWhole) {
  test::write_file(path_, "1\n{\"id\":");
  EXPECT_EQ(run(), (Lines{"1", "{\"id\":"}));
  EXPECT_EQ(run(), Lines{});
  test::append_file(path_, "7}\n8\n");
  EXPECT_EQ(run(), (Lines{"{\"id\":7}", "8"}));
}

TEST_F(FileSourceTest, AnUnfinishedLineThatOnlyGetsItsEndingIsDone) {
  test::write_file(path_, "1\n2");
  EXPECT_EQ(run(), (Lines{"1", "2"}));
  test::append_file(path_, "\n3\n");
  EXPECT_EQ(run(), Lines{"3"});
}

TEST_F(FileSourceTest, ARewrittenFileIsReadFromItsStartAndSaidSo) {
  test::write_file(path_, "1\n2\n");
  run();
  test::write_file(path_, "3\n4\n5\n");
  EXPECT_EQ(run(), (Lines{"3", "4", "5"}));
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find("rewritten"), std::string::npos) << notices_[0];
}

TEST_F(FileSourceTest, ATruncatedFileIsReadFromItsStart) {
  test::write_file(path_, "1\n2\n");
  run();
  test::write_file(path_, "3\n");
  EXPECT_EQ(run(), Lines{"3"});
  EXPECT_EQ(notices_.size(), 1U);
}

TEST_F(FileSourceTest, AnotherFileUnderTheNameIsReadFromItsStart) {
  test::write_file(path_, "1\n2\n");
  run();
  test::write_file(path_ + ".new", "1\n2\n3\n");
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_EQ(run(), (Lines{"1", "2", "3"}));
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find(path_), std::string::npos);
}

TEST_F(FileSourceTest, WhatIsLeftOfARenamedFileIsReadFirst) {
  test::write_file(path_, "1\n2\n");
  run();
  test::append_file(path_, "3\n4");
  std::filesystem::rename(path_, path_ + ".1");
  test::write_file(path_, "5\n");
  EXPECT_EQ(run(), (Lines{"3", "4", "5"}));
  EXPECT_EQ(notices_.size(), 1U);
  EXPECT_EQ(run(), Lines{});
}

TEST_F(FileSourceTest, EachFileThatWasRotatedAwayBetweenTwoRunsIsRead) {
  test::write_file(path_, "1\n");
  run();
  std::filesystem::rename(path_, path_ + ".2");
  test::write_file(path_, "2\n3");
  std::filesystem::rename(path_, path_ + ".1");
  test::write_file(path_, "4\n");
  EXPECT_EQ(run(), (Lines{"2", "3", "4"}));
  EXPECT_EQ(run(), Lines{});
}

TEST_F(FileSourceTest, AReaderWhoseReservationAnotherHasEnds) {
  test::write_file(path_, "1\n2\n");
  auto source = open();
  ASSERT_TRUE(source->receive({.messages = 1}));
  positions_.lost = true;
  const auto received = source->receive({.messages = 1});
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, "R230");
  EXPECT_EQ(received.error().kind, ErrorKind::kRejected) << "waiting mends nothing";
  EXPECT_TRUE(source->close(seconds(1)));
}

// Lines that this reader settles meanwhile meet their records; the stored position is the other
// reader's.
TEST_F(FileSourceTest, APositionOfTheReaderThatTookOverStays) {
  test::write_file(path_, "1\n2\n");
  auto source = open();
  const Received received = receive(*source);
  ASSERT_EQ(received.arrivals.size(), 2U);
  positions_.lost = true;
  positions_.kept[path_] = "the other's";
  environment_.clock.advance(seconds(10));
  EXPECT_TRUE(source->settle(settlements(received.arrivals)));
  EXPECT_EQ(positions_.kept[path_], "the other's") << "it was due";
  EXPECT_TRUE(source->close(seconds(1)));
  EXPECT_EQ(positions_.kept[path_], "the other's");
}

TEST_F(FileSourceTest, ASecondReaderIsRefusedByTheFilesName) {
  test::write_file(path_, "1\n");
  auto first = open();
  patience_ = milliseconds(0);
  EXPECT_FALSE(open());
  EXPECT_EQ(error_.code, "R230");
  EXPECT_EQ(error_.kind, ErrorKind::kBlocked);
  EXPECT_NE(error_.message.find("payments.jsonl"), std::string::npos);
  ASSERT_TRUE(first->close(seconds(1)));
  EXPECT_TRUE(open());
}

TEST_F(FileSourceTest, AReaderThatIsAboutToGoIsWaitedFor) {
  test::write_file(path_, "1\n");
  positions_.refusals = 2;
  EXPECT_TRUE(open());
  EXPECT_EQ(positions_.refusals, 0U);
}

TEST_F(FileSourceTest, WhatIsNoFileOfLinesIsRefusedClearly) {
  EXPECT_FALSE(open());
  EXPECT_EQ(error_.code, "R231");
  EXPECT_EQ(error_.kind, ErrorKind::kRejected);
  EXPECT_NE(error_.message.find(path_), std::string::npos);

  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(open());
  EXPECT_EQ(error_.code, "R232");
  EXPECT_NE(error_.message.find("pipe"), std::string::npos) << error_.message;
  EXPECT_FALSE(open(true));
  std::filesystem::remove(path_);

  std::filesystem::create_directory(path_);
  EXPECT_FALSE(open(true));
  EXPECT_EQ(error_.code, "R232");
  EXPECT_NE(error_.message.find("folder"), std::string::npos) << error_.message;

  path_ = dir_.file("none/payments.jsonl");
  EXPECT_FALSE(open(true));
  EXPECT_EQ(error_.code, "R231");
  path_ = "";
  EXPECT_FALSE(open());
  EXPECT_EQ(error_.code, "R231");
}

TEST_F(FileSourceTest, AFileThatMayNotBeReadIsRefusedClearly) {
  test::write_file(path_, "1\n");
  ::chmod(path_.c_str(), 0);
  ::chmod(dir_.path().c_str(), 0755);
  // Root may read everything, so this test becomes another user.
  const bool root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  if (root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const bool opened = open() != nullptr;
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_FALSE(opened);
  EXPECT_EQ(error_.code, "R233");
}

TEST_F(FileSourceTest, PausedItYieldsNothing) {
  test::write_file(path_, "1\n");
  auto source = open();
  source->set_paused("", true);
  const Received nothing = receive(*source);
  EXPECT_TRUE(nothing.arrivals.empty());
  EXPECT_FALSE(nothing.at_end);
  source->set_paused("another", false);
  EXPECT_TRUE(receive(*source).arrivals.empty());
  source->set_paused(std::filesystem::canonical(path_).string(), false);
  EXPECT_TRUE(wakes(*source));
  EXPECT_EQ(receive(*source).arrivals.size(), 1U);
}

TEST_F(FileSourceTest, ManySmallFilesWorthOfPositionsStayApart) {
  test::write_file(path_, "1\n");
  run();
  const std::string other = dir_.file("refunds.jsonl");
  test::write_file(other, "a\n");
  path_ = other;
  EXPECT_EQ(run(), Lines{"a"});
}

}  // namespace
}  // namespace semel::sources
