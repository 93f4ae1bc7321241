#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "sources/sources.h"
#include "sources/test_doubles.h"
#include "system/descriptor.h"

namespace semel::sources {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

class StdinSourceTest : public testing::Test {
 protected:
  StdinSourceTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_ = system::Descriptor(ends[0]);
    write_ = system::Descriptor(ends[1]);
    source_ = make_stdin_source(read_.get());
  }
  void type(std::string_view text) {
    ASSERT_EQ(::write(write_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() { write_ = system::Descriptor(); }
  bool wakes(int within_ms = 5'000) {
    const Wakeup wakeup = source_->wakeup();
    if (wakeup.due_in == milliseconds(0)) return true;
    pollfd fd{wakeup.fd, POLLIN, 0};
    return ::poll(&fd, 1, within_ms) == 1;
  }
  Received receive() {
    auto received = receive_all(*source_);
    EXPECT_TRUE(received) << received.error().message;
    return received ? std::move(*received) : Received{};
  }

  system::Descriptor read_;
  system::Descriptor write_;
  std::unique_ptr<Source> source_;
};

TEST_F(StdinSourceTest, LinesAsTheyCome) {
  EXPECT_FALSE(source_->traits().replays);
  EXPECT_TRUE(source_->traits().ends);
  EXPECT_TRUE(receive().arrivals.empty());
  EXPECT_FALSE(wakes(0));
  type("1\r\n\n2\n3");
  EXPECT_TRUE(wakes());
  const Received some = receive();
  EXPECT_EQ(payloads(some), (Lines{"1", "2"}));
  EXPECT_FALSE(some.at_end);
  EXPECT_EQ(some.arrivals[1].position, "3");
  EXPECT_EQ(some.arrivals[1].partition, "stdin");
  EXPECT_FALSE(wakes(0));
  end();
  EXPECT_TRUE(wakes());
  const Received rest = receive();
  EXPECT_EQ(payloads(rest), Lines{"3"});
  EXPECT_TRUE(rest.at_end);
  EXPECT_FALSE(wakes(0)) << "an ended source must not be polled in a circle";
}

TEST_F(StdinSourceTest, BlankLinesAndForeignEndingsAreNoMessages) {
  type("\xEF\xBB\xBF{\"a\":1}\r\n\r\n   \t\n\n\xEF\xBB\xBF{\"b\":2}\r\n{\"c\":3}\r");
  end();
  EXPECT_EQ(payloads(receive()), (Lines{"{\"a\":1}", "\xEF\xBB\xBF{\"b\":2}", "{\"c\":3}"}))
      << "a mark is one before the first line only";
}

TEST_F(StdinSourceTest, GivenBackLinesComeAgain) {
  type("1\n2\n");
  end();
  const Received received = receive();
  EXPECT_TRUE(received.at_end);
  ASSERT_TRUE(source_->settle(settlements(received.arrivals, Settlement::Kind::kRelease)));
  EXPECT_TRUE(wakes());
  const Received again = receive();
  EXPECT_EQ(payloads(again), (Lines{"1", "2"}));
  EXPECT_TRUE(again.at_end);
  ASSERT_TRUE(source_->settle(settlements(again.arrivals)));
  ASSERT_TRUE(source_->settle(settlements(again.arrivals, Settlement::Kind::kRelease)));
  EXPECT_TRUE(receive().arrivals.empty());
}

TEST_F(StdinSourceTest, MoreThanAPipeHolds) {
  constexpr int kLines = 50'000;
  std::thread writer([this] {
    std::string all;
    for (int i = 0; i < kLines; ++i) all += std::to_string(i) + "\n";
    for (std::string_view left = all; !left.empty();) {
      const ssize_t written = ::write(write_.get(), left.data(), left.size());
      if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
    }
    end();
  });
  int next = 0;
  for (bool at_end = false; !at_end;) {
    ASSERT_TRUE(wakes());
    auto received = source_->receive({});
    ASSERT_TRUE(received);
    EXPECT_LE(received->arrivals.size(), ReceiveLimits{}.messages);
    for (const Arrival& arrival : received->arrivals) {
      EXPECT_EQ(arrival.payload, std::to_string(next++));
    }
    ASSERT_TRUE(source_->settle(settlements(received->arrivals)));
    at_end = received->at_end;
  }
  EXPECT_EQ(next, kLines);
  writer.join();
}

TEST_F(StdinSourceTest, ALineThatIsTooLongIsRefusedInSmallMemory) {
  std::thread writer([this] {
    const std::string part(1 << 20, 'x');
    for (int i = 0; i < 70; ++i) {
      for (std::string_view left = part; !left.empty();) {
        const ssize_t written = ::write(write_.get(), left.data(), left.size());
        if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
      }
    }
    type("\nnext\n");
    end();
  });
  std::vector<Arrival> all;
  for (bool at_end = false; !at_end;) {
    ASSERT_TRUE(wakes());
    auto received = source_->receive({});
    ASSERT_TRUE(received);
    for (Arrival& arrival : received->arrivals) all.push_back(std::move(arrival));
    at_end = received->at_end;
  }
  writer.join();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].refused, "too_large");
  EXPECT_NE(all[0].refused_error.find("line 1"), std::string::npos) << all[0].refused_error;
  EXPECT_GT(all[0].payload.size(), 0U);
  EXPECT_LT(all[0].payload.size(), 100'000U);
  EXPECT_EQ(all[1].payload, "next");
}

TEST_F(StdinSourceTest, APlainFileIsReadToItsEnd) {
  test::TempDir dir;
  test::write_file(dir.file("lines"), "1\n2\n");
  const system::Descriptor file(::open(dir.file("lines").c_str(), O_RDONLY | O_CLOEXEC));
  source_ = make_stdin_source(file.get());
  EXPECT_TRUE(wakes(0));
  const Received received = receive();
  EXPECT_EQ(payloads(received), (Lines{"1", "2"}));
  EXPECT_TRUE(received.at_end);
}

TEST_F(StdinSourceTest, PausedItIsNotPolledInACircle) {
  type("1\n");
  source_->set_paused("", true);
  EXPECT_TRUE(receive().arrivals.empty());
  EXPECT_FALSE(wakes(0));
  source_->set_paused("", false);
  EXPECT_TRUE(wakes());
  EXPECT_EQ(payloads(receive()), Lines{"1"});
}

TEST_F(StdinSourceTest, TheDescriptorsFlagsStay) {
  const int before = ::fcntl(read_.get(), F_GETFL);
  type("1\n");
  receive();
  EXPECT_EQ(::fcntl(read_.get(), F_GETFL), before);
}

TEST_F(StdinSourceTest, WhatCannotBeReadIsAnError) {
  source_ = make_stdin_source(write_.get());
  type("x\n");
  auto received = source_->receive({});
  // The writing end of a pipe is never readable.
  EXPECT_TRUE(received && received->arrivals.empty());
  const system::Descriptor folder(::open("/", O_RDONLY | O_CLOEXEC));
  source_ = make_stdin_source(folder.get());
  received = source_->receive({});
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().kind, ErrorKind::kRejected);
}

}  // namespace
}  // namespace semel::sources
