// Nothing is lost or skipped: random readers that are killed, and random histories.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "sources/file/file_position.h"
#include "sources/file/test_follow.h"
#include "tests/support/child_process.h"
#include "tests/support/rounds.h"
#include "tests/support/waiting.h"

namespace semel::sources {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// For ever appends lines to the ledger and then settles them, in random portions.
int settle_for_ever(const std::string& path, const std::string& positions_path,
                    const std::string& ledger, std::uint64_t seed,
                    test::ChildProcess::Voice& voice) {
  PositionsOnDisk positions(positions_path);
  test::TestEnvironment environment(seed);
  FileOptions options;
  options.path = path;
  auto source = make_file_source(options, kConsumer, positions, environment.get());
  if (!source) return 1;
  voice.ready();
  ReceiveLimits limits;
  for (;;) {
    limits.messages = 1 + environment.random.below(20);
    auto received = (*source)->receive(limits);
    if (!received) return 2;
    std::string done;
    for (const Arrival& arrival : received->arrivals) done += arrival.payload + "\n";
    test::append_file(ledger, done);
    environment.clock.advance(milliseconds(environment.random.below(1'000)));
    if (!(*source)->settle(settlements(received->arrivals))) return 3;
    if (received->arrivals.empty()) voice.say("end");
  }
}

// Follows the file until it is killed. Time stands still: no file is given up.
int follow_for_ever(const std::string& path, const std::string& positions_path,
                    const std::string& ledger, test::ChildProcess::Voice& voice) {
  PositionsOnDisk positions(positions_path);
  test::TestEnvironment environment;
  FileOptions options;
  options.path = path;
  auto source = make_file_source(options, kConsumer, positions, environment.get());
  if (!source) return 1;
  voice.ready();
  for (;;) {
    auto received = (*source)->receive({});
    if (!received) return 2;
    std::string done;
    for (const Arrival& arrival : received->arrivals) done += arrival.payload + "\n";
    test::append_file(ledger, done);
    if (!(*source)->settle(settlements(received->arrivals))) return 3;
    const Wakeup wakeup = (*source)->wakeup();
    pollfd fd{wakeup.fd, POLLIN, 0};
    if (received->arrivals.empty()) ::poll(&fd, 1, -1);
  }
}

// A followed file whose reader is killed while it is rotated.
class FileCrashRotated : public testing::Test {
 protected:
  void start() {
    child_.emplace(test::ChildProcess::fork([&](auto& voice) {
      return follow_for_ever(path_, dir_.file("positions"), dir_.file("ledger"), voice);
    }));
    ASSERT_TRUE(child_->wait_ready());
  }
  void kill() {
    child_->kill();
    child_.reset();
  }
  void wait_for(const std::string& last) {
    ASSERT_TRUE(test::comes_true([&] { return ledger().contains(last); })) << last;
  }
  std::set<std::string> ledger() {
    std::set<std::string> all;
    if (!std::filesystem::exists(dir_.file("ledger"))) return all;
    std::istringstream text(test::read_file(dir_.file("ledger")));
    for (std::string line; std::getline(text, line);) all.insert(line);
    return all;
  }
  // Makes the file's inode that of the oldest position, as if the file system had given it again.
  void give_inode_of_first() {
    auto positions = decode(test::read_file(dir_.file("positions")));
    ASSERT_TRUE(positions);
    ASSERT_EQ(positions->size(), 2U);
    positions->front().inode = inode_of(path_);
    test::write_file(dir_.file("positions"), encode(*positions));
  }
  void rotate(const std::string& old, const std::string& content) {
    std::filesystem::rename(path_, path_ + old);
    test::write_file(path_, content);
  }

  test::TempDir dir_;
  const std::string path_ = dir_.file("lines");
  std::optional<test::ChildProcess> child_;
};

TEST_F(FileCrashRotated, AReusedInodeCostsNoLaterFile) {
  test::write_file(path_, "1\n2\n");
  start();
  wait_for("2");
  rotate(".1", "3\n");
  wait_for("3");
  kill();
  test::append_file(path_, "4\n");
  std::filesystem::remove(path_ + ".1");
  rotate(".1", "5\n");
  give_inode_of_first();
  start();
  wait_for("5");
  EXPECT_EQ(ledger(), (std::set<std::string>{"1", "2", "3", "4", "5"}));
}

TEST_F(FileCrashRotated, RotationsThatNoReaderSawLoseNoFile) {
  test::write_file(path_, "1\n");
  start();
  wait_for("1");
  kill();
  rotate(".1", "2\n");
  rotate(".2", "3\n");
  rotate(".3", "4\n");
  start();
  wait_for("4");
  EXPECT_EQ(ledger(), (std::set<std::string>{"1", "2", "3", "4"}));
}

TEST(FileCrash, KilledReadersLoseNothing) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed);
  test::SeededRandom random(seed);
  test::TempDir dir;
  const std::string path = dir.file("lines");
  constexpr int kLines = 20'000;
  std::string content;
  for (int i = 0; i < kLines; ++i) content += std::to_string(i) + "\n";
  test::write_file(path, content);
  int kills = 0;
  for (bool ended = false; !ended;) {
    auto child = test::ChildProcess::fork([&, mine = random.next()](auto& voice) {
      return settle_for_ever(path, dir.file("positions"), dir.file("ledger"), mine, voice);
    });
    ASSERT_TRUE(child.wait_ready());
    const auto said =
        child.line(kills >= 10 ? milliseconds(60'000) : milliseconds(random.below(10)));
    // On a busy machine the first reader may have read all lines.
    ended = kills > 0 && said == "end";
    child.kill();
    ++kills;
  }
  std::vector<bool> seen(kLines, false);
  std::size_t number = 0;
  const std::string ledger = test::read_file(dir.file("ledger"));
  for (std::size_t begin = 0; begin < ledger.size();) {
    const std::size_t end = ledger.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    number = std::stoul(ledger.substr(begin, end - begin));
    ASSERT_LT(number, seen.size());
    seen[number] = true;
    begin = end + 1;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
  EXPECT_GT(kills, 1);
}

TEST(FileCrash, SettledByAnotherThreadWhileItIsRead) {
  test::TempDir dir;
  const std::string path = dir.file("lines");
  constexpr std::size_t kLines = 20'000;
  std::string content;
  for (std::size_t i = 0; i < kLines; ++i) content += std::to_string(i) + "\n";
  test::write_file(path, content);
  FakePositions positions;
  FileOptions options;
  options.path = path;
  options.follow = false;
  auto source = make_file_source(options, kConsumer, positions);
  ASSERT_TRUE(source);
  std::mutex mutex;
  std::vector<Arrival> handed_over;
  std::atomic<std::size_t> acked{0};
  std::thread settler([&] {
    for (std::size_t turn = 0; acked < kLines; ++turn) {
      std::vector<Arrival> mine;
      {
        std::lock_guard lock(mutex);
        mine.swap(handed_over);
      }
      // Some lines are given back, and come again to be acknowledged later.
      const auto kind = turn % 3 == 0 ? Settlement::Kind::kRelease : Settlement::Kind::kAck;
      ASSERT_TRUE((*source)->settle(settlements(mine, kind)));
      if (kind == Settlement::Kind::kAck) acked += mine.size();
    }
  });
  while (acked < kLines) {
    auto received = (*source)->receive({});
    ASSERT_TRUE(received);
    std::lock_guard lock(mutex);
    std::move(received->arrivals.begin(), received->arrivals.end(),
              std::back_inserter(handed_over));
  }
  settler.join();
  ASSERT_TRUE((*source)->close(seconds(1)));
  source->reset();
  source = make_file_source(options, kConsumer, positions);
  ASSERT_TRUE(source);
  EXPECT_TRUE(receive_all(**source)->arrivals.empty());
}

// A random history of one file, which is written, rotated, received, settled, given back, closed
// and dropped.
class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) { open(); }

  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
        return append();
      case 3:
      case 4:
      case 5:
        return receive(1 + random_.below(30));
      case 6:
      case 7:
        return settle(Settlement::Kind::kAck);
      case 8:
        return settle(Settlement::Kind::kRelease);
      case 9:
        return rotate();
      case 10:
        clock_.clock.advance(milliseconds(random_.below(4'000)));
        return;
      default:
        return reopen(random_.below(2) == 0);
    }
  }

  // In the end everything is received and settled.
  void finish() {
    if (unfinished_) append_text("\n");
    // Rotated files that wait are read a few at a time.
    for (int round = 0; round < 4 + rotations_; ++round) {
      while (receive(1'000), !out_.empty()) {
        for (Arrival& arrival : out_) settled_.insert(arrival.payload);
        ASSERT_TRUE(source_->settle(settlements(out_)));
        out_.clear();
      }
      clock_.clock.advance(seconds(10));
    }
    EXPECT_EQ(settled_, written_);
  }

 private:
  void append_text(const std::string& text) { test::append_file(path_, text); }
  void append() {
    std::string text;
    for (std::uint64_t i = random_.below(8); i-- > 0;) {
      const std::string line = std::to_string(next_++) + std::string(random_.below(300), '.');
      written_.insert(line);
      text += line + (random_.below(5) == 0 ? "\r\n" : "\n");
      if (random_.below(8) == 0) text += "\n";
    }
    if (unfinished_) text = "\n" + text;
    unfinished_ = false;
    if (random_.below(4) == 0) {
      const std::string line = std::to_string(next_++) + "unfinished";
      written_.insert(line);
      text += line;
      unfinished_ = true;
    }
    append_text(text);
  }
  void rotate() {
    if (unfinished_) append_text("\n");
    unfinished_ = false;
    std::filesystem::rename(path_, path_ + "." + std::to_string(++rotations_));
    test::write_file(path_, "");
  }
  void receive(std::size_t messages) {
    ReceiveLimits limits;
    limits.messages = messages;
    auto received = source_->receive(limits);
    ASSERT_TRUE(received) << received.error().message;
    for (Arrival& arrival : received->arrivals) {
      ASSERT_TRUE(written_.contains(arrival.payload)) << arrival.payload;
      out_.push_back(std::move(arrival));
    }
  }
  void settle(Settlement::Kind kind) {
    std::vector<Arrival> some;
    for (std::size_t i = 0; i < out_.size();) {
      if (random_.below(3) == 0) {
        ++i;
        continue;
      }
      if (kind == Settlement::Kind::kAck) settled_.insert(out_[i].payload);
      some.push_back(std::move(out_[i]));
      out_.erase(out_.begin() + i);
    }
    ASSERT_TRUE(source_->settle(settlements(some, kind)));
  }
  void open() {
    if (!std::filesystem::exists(path_)) test::write_file(path_, "");
    FileOptions options;
    options.path = path_;
    auto source = make_file_source(options, kConsumer, positions_, clock_.get());
    ASSERT_TRUE(source) << source.error().message;
    source_ = std::move(*source);
  }
  void reopen(bool cleanly) {
    if (cleanly) {
      ASSERT_TRUE(source_->close(seconds(1)));
    }
    source_.reset();
    out_.clear();
    open();
  }

  test::TempDir dir_;
  test::TestEnvironment clock_;
  test::SeededRandom random_;
  FakePositions positions_;
  std::string path_ = dir_.file("lines");
  std::unique_ptr<Source> source_;
  std::vector<Arrival> out_;
  std::set<std::string> written_;
  std::set<std::string> settled_;
  std::uint64_t next_ = 0;
  int rotations_ = 0;
  bool unfinished_ = false;
};

TEST(FileCrash, RandomHistoriesLoseNothing) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed);
  for (std::uint64_t round = 0; round < test::rounds(20); ++round) {
    History history(seed + round);
    for (int i = 0; i < 300 && !testing::Test::HasFatalFailure(); ++i) history.step();
    history.finish();
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace semel::sources
