// The store's own test program: the conformance suites, and what they cannot know of.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <semel/conformance/store_case.h>
#include <semel/guard.h>
#include <semel/spi/failpoints.h>

#include "directory_store.h"

namespace directory_store {
namespace {

using semel::conformance::StorePlace;
using std::chrono::milliseconds;

// Stands still until it is moved: a test on a busy machine takes longer than what it measures.
class StandingClock final : public semel::Clock {
 public:
  std::chrono::steady_clock::time_point now() noexcept override {
    return std::chrono::steady_clock::time_point(milliseconds(moved_));
  }
  semel::StoreTime store_time() const { return started_ + milliseconds(moved_ + wrong_); }
  void advance(milliseconds by) { moved_ += by.count(); }
  // As if somebody had set the machine's clock.
  void set_wrong(milliseconds by) { wrong_ = by.count(); }

 private:
  const semel::StoreTime started_ =
      std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
  std::atomic<std::int64_t> moved_ = 0, wrong_ = 0;
};

class DirectoryPlace final : public StorePlace {
 public:
  DirectoryPlace() {
    std::string path = std::filesystem::temp_directory_path() / "directory-store-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~DirectoryPlace() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<semel::Store> open() override { return open(nullptr); }
  std::unique_ptr<semel::Store> open(semel::Failpoints* failpoints) {
    environment_.failpoints = failpoints;
    auto store =
        directory_store::open({path_, &environment_, [this] { return clock_.store_time(); }});
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? *std::move(store) : nullptr;
  }
  void advance(milliseconds by) override { clock_.advance(by); }

  StandingClock& clock() { return clock_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  StandingClock clock_;
  semel::Environment environment_{&clock_, semel::system_environment().random, nullptr};
};

// Kills the process when it passes a point for the n-th time.
class Killer final : public semel::Failpoints {
 public:
  Killer(std::string_view point, int nth) : point_(point), left_(nth) {}
  void hit(std::string_view point) noexcept override {
    if (point == point_ && --left_ == 0) std::raise(SIGKILL);
  }

 private:
  const std::string_view point_;
  std::atomic<int> left_;
};

// The work of a consumer: its effect is a character in a file.
semel::Result<semel::Outcome> work_once(semel::Store& store, const std::string& effects) {
  semel::Guard guard(store, {.consumer = "payments", .ttl = std::chrono::hours(1)});
  return guard.run_once("p-1", semel::fingerprint_of("5"),
                        [&] { std::ofstream(effects, std::ios::app) << '+'; });
}

TEST(Killed, AnywhereItsEffectHappensAtLeastOnceAndIsKnownAfterwards) {
  struct Cell {
    std::string_view point;
    int nth;  // the first is the consumer's, the second the claim's, the third the finish's
    std::uintmax_t effects;
  };
  namespace failpoint = semel::failpoint;
  for (const Cell& cell :
       {Cell{failpoint::kBegun, 1, 1},
        {failpoint::kCommitBefore, 2, 1},
        {"directory.changed", 2, 1},
        {failpoint::kCommitAfter, 2, 1},
        {failpoint::kClaimed, 1, 1},
        // The effect has happened, and its record is not there yet: it happens again.
        {failpoint::kFinished, 1, 2},
        {failpoint::kCommitBefore, 3, 2},
        {"directory.changed", 3, 1},
        {failpoint::kCommitAfter, 3, 1}}) {
    SCOPED_TRACE(std::string(cell.point) + " " + std::to_string(cell.nth));
    DirectoryPlace place;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Killer killer(cell.point, cell.nth);
      const auto store = place.open(&killer);
      (void)work_once(*store, place.file("effects"));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the fault fired";
    const auto store = place.open();
    place.advance(std::chrono::minutes(2));  // its lease is over
    const auto outcome = work_once(*store, place.file("effects"));
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    const bool again = outcome->kind == semel::Outcome::Kind::kDone;
    EXPECT_TRUE(again || outcome->kind == semel::Outcome::Kind::kDuplicate);
    EXPECT_EQ(std::filesystem::file_size(place.file("effects")), cell.effects);
    EXPECT_EQ(work_once(*store, place.file("effects"))->kind, semel::Outcome::Kind::kDuplicate);
  }
}

// Messages whose keys are those bytes.
std::vector<semel::Message> messages_of(semel::ConsumerNumber number, std::size_t count) {
  std::vector<semel::Message> messages;
  for (std::size_t i = 0; i < count; ++i) {
    semel::Message::Parts parts;
    parts.key.text = std::to_string(i);
    parts.key.id.bytes[3] = static_cast<unsigned char>(static_cast<std::uint32_t>(number) << 2U);
    parts.key.id.bytes.back() = static_cast<unsigned char>(i);
    EXPECT_EQ(parts.key.id.consumer(), number);
    messages.emplace_back(parts);
  }
  return messages;
}

// How many of `messages` are completed.
std::size_t count_completed(semel::Store& store, const std::vector<semel::Message>& messages) {
  std::size_t completed = 0;
  for (const semel::Message& message : messages) {
    const semel::Message* const one = &message;
    const auto claims = store.claim({&one, 1}, {});
    EXPECT_TRUE(claims.has_value());
    completed += claims && std::holds_alternative<semel::Completed>(claims->front()) ? 1U : 0U;
  }
  return completed;
}

// Claims the messages and completes them in one batch.
void complete_all(semel::Store& store, const std::vector<semel::Message>& messages) {
  std::vector<const semel::Message*> pointers;
  for (const semel::Message& message : messages) pointers.push_back(&message);
  const auto claims = store.claim(pointers, {});
  std::vector<semel::Finish> finishes;
  for (const semel::Claim& claim : *claims) {
    finishes.emplace_back().lease = std::get<semel::Acquired>(claim).lease;
  }
  EXPECT_TRUE(store.finish(finishes).has_value());
}

TEST(Killed, AnywhereABatchIsAsItWasOrAsItIsToBe) {
  constexpr std::size_t kMessages = 3;
  struct Cell {
    std::string_view point;
    int nth;  // behind those of the consumer's commit and of the claims'
    std::size_t completed;
  };
  namespace failpoint = semel::failpoint;
  for (const Cell& cell : {Cell{failpoint::kFinished, 1, 0},
                           {failpoint::kCommitBefore, 3, 0},
                           {"directory.changed", 6, kMessages},
                           {"directory.committed", 2, kMessages},
                           {"directory.changed", 7, kMessages},
                           {"directory.changed", 9, kMessages},
                           {failpoint::kCommitAfter, 3, kMessages}}) {
    SCOPED_TRACE(std::string(cell.point) + " " + std::to_string(cell.nth));
    DirectoryPlace place;
    // Another process that has it open meanwhile.
    const auto other = place.open();
    const auto number = other->attach({"payments", {}, false, {}}).value();
    const auto messages = messages_of(number, kMessages);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Killer killer(cell.point, cell.nth);
      const auto store = place.open(&killer);
      (void)store->attach({"payments", {}, false, {}});
      complete_all(*store, messages);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the fault fired";
    EXPECT_EQ(count_completed(*other, messages), cell.completed);
    EXPECT_EQ(count_completed(*place.open(), messages), cell.completed);
    EXPECT_FALSE(std::filesystem::exists(place.file("commit")));
  }
}

TEST(Damaged, ARecordIsNoNewKey) {
  DirectoryPlace place;
  const auto store = place.open();
  ASSERT_TRUE(work_once(*store, place.file("effects")).has_value());
  for (const auto& file : std::filesystem::directory_iterator(place.file(""))) {
    if (!file.path().filename().string().starts_with("record-")) continue;
    std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary).put('?');
  }
  const auto outcome = work_once(*store, place.file("effects"));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, semel::ErrorKind::kUnavailable);
  EXPECT_EQ(std::filesystem::file_size(place.file("effects")), 1U);
}

TEST(OfAnotherVersion, ADirectoryIsNotOpenedAndSaysWhy) {
  DirectoryPlace place;
  ASSERT_TRUE(place.open()->attach({"payments", {}, false, {}}).has_value());
  const std::string file = place.file("consumer-1");
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  ASSERT_TRUE(text.str().starts_with("semel directory-store, version 2\n"));
  for (const auto& [first_line, why] :
       {std::pair<std::string, std::string>{"semel directory-store, version 3\n", "version 3"},
        {"", "has no version"}}) {
    std::ofstream(file, std::ios::binary)
        << first_line << text.str().substr(text.str().find('\n') + 1);
    const auto refused = open({place.file("")});
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("consumer-1"), std::string::npos);
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }
}

TEST(SetWrong, AClockThatWasSetBackWhileNobodyLookedForgetsNothing) {
  DirectoryPlace place;
  {
    const auto store = place.open();
    ASSERT_TRUE(work_once(*store, place.file("effects")).has_value());
    ASSERT_TRUE(store->purge(std::chrono::seconds(1)).has_value());
  }
  place.clock().set_wrong(-std::chrono::hours(24));
  const auto store = place.open();
  place.advance(std::chrono::hours(2));
  const auto refused = store->purge(std::chrono::seconds(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, semel::ErrorKind::kUnavailable);
  place.advance(std::chrono::hours(24));
  EXPECT_EQ(store->purge(std::chrono::seconds(1))->records, 1U) << "it is past that time";
}

TEST(SetWrong, AClockThatJumpedForgetsNothing) {
  DirectoryPlace place;
  const auto store = place.open();
  ASSERT_TRUE(work_once(*store, place.file("effects")).has_value());
  place.clock().set_wrong(std::chrono::hours(24));
  const auto refused = store->purge(std::chrono::seconds(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, semel::ErrorKind::kUnavailable);
  place.clock().set_wrong(milliseconds(0));
  place.advance(std::chrono::hours(24));
  EXPECT_EQ(store->purge(std::chrono::seconds(1))->records, 1U);
}

std::unique_ptr<StorePlace> make_place() { return std::make_unique<DirectoryPlace>(); }

}  // namespace
}  // namespace directory_store

int main(int argc, char** argv) {
  using semel::conformance::kAllFacets;
  return semel::conformance::run_store_suites(
      argc, argv,
      {{.name = "directory",
        .make = directory_store::make_place,
        // Store is all that it implements.
        .lacks = {std::begin(kAllFacets), std::end(kAllFacets)}}});
}
