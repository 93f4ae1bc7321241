// A file that is written, rotated and followed, for the tests of what happens to it meanwhile.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sources/sources.h"
#include "sources/test_doubles.h"
#include "tests/support/test_environment.h"

namespace semel::sources {

using Lines = std::vector<std::string>;

inline std::uint64_t inode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

class FileFollowTest : public testing::Test {
 protected:
  void open() {
    source_.reset();
    FileOptions options;
    options.path = path_;
    auto source = make_file_source(options, kConsumer, positions_, environment_.get());
    ASSERT_TRUE(source) << source.error().message;
    source_ = std::move(*source);
    EXPECT_FALSE(source_->traits().ends);
  }
  Lines lines() {
    auto received = receive_all(*source_);
    EXPECT_TRUE(received) << received.error().message;
    if (!received) return {};
    EXPECT_FALSE(received->at_end);
    notices_ = received->notices;
    for (Arrival& arrival : received->arrivals) open_.push_back(std::move(arrival));
    Lines all;
    for (std::size_t i = open_.size() - received->arrivals.size(); i < open_.size(); ++i) {
      all.push_back(open_[i].payload);
    }
    return all;
  }
  void settle_all() {
    ASSERT_TRUE(source_->settle(settlements(open_)));
    open_.clear();
  }
  void close() {
    ASSERT_TRUE(source_->close(std::chrono::seconds(1)));
    source_.reset();
    open_.clear();
  }
  // Waits until the kernel reports a change, never for a fixed time.
  bool wakes(int within_ms = 10'000) {
    pollfd fd{source_->wakeup().fd, POLLIN, 0};
    return ::poll(&fd, 1, within_ms) == 1;
  }

  test::TempDir dir_;
  test::TestEnvironment environment_;
  FakePositions positions_;
  std::string path_ = dir_.file("payments.jsonl");
  std::unique_ptr<Source> source_;
  std::vector<Arrival> open_;
  Lines notices_;
};

}  // namespace semel::sources
