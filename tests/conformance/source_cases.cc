// The sources join the suite.
#include <semel/memory.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "sources/sources.h"
#include "tests/conformance/source_case.h"
#include "tests/support/memory_source.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {
namespace {

constexpr std::size_t kPipe = 60'000;  // holds this much without a reader

std::unique_ptr<Source> opened(Result<std::unique_ptr<Source>> source) {
  EXPECT_TRUE(source.has_value()) << (source ? "" : source.error().message);
  return source ? std::move(*source) : nullptr;
}

// A store to keep what a source needs kept; its clock is moved by hand.
class WithStore : public SourcePlace {
 public:
  WithStore() {
    MemoryOptions options;
    options.environment = &environment_.get();
    store_ = make_memory_store(options);
    consumer_ = store_->attach({"payments", "recipe", false, {}}).value();
  }
  void advance(milliseconds by) override { environment_.clock.advance(by); }

 protected:
  test::TestEnvironment environment_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

class FilePlace final : public WithStore {
 public:
  explicit FilePlace(bool follow) : follow_(follow) {}
  void add(const std::vector<Bytes>& payloads) override {
    Bytes lines;
    for (const Bytes& payload : payloads) lines += payload + "\n";
    test::append_file(path_, lines);
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    sources::FileOptions options;
    options.path = path_;
    options.follow = follow_;
    return opened(sources::make_file_source(options, consumer_, *store_->facets().positions));
  }

 private:
  test::TempDir folder_;
  std::string path_ = folder_.file("messages.jsonl");
  bool follow_;
};

class HeldPlace final : public WithStore {
 public:
  void add(const std::vector<Bytes>& payloads) override {
    std::vector<OutgoingMessage> rows(payloads.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].payload = payloads[i];
    EXPECT_TRUE(store_->facets().held->append(consumer_, rows).has_value());
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    return sources::make_held_source(*store_->facets().held, consumer_, kHiddenFor);
  }
};

class StdinPlace final : public SourcePlace {
 public:
  StdinPlace() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) std::abort();
  }
  ~StdinPlace() override {
    ::close(ends_[0]);
    finish();
    std::signal(SIGPIPE, before_);
  }
  void add(const std::vector<Bytes>& payloads) override {
    Bytes lines;
    for (const Bytes& payload : payloads) lines += payload + "\n";
    if (writer_.joinable()) writer_.join();
    if (lines.size() < kPipe) return write(lines);
    // A pipe is narrower than this.
    writer_ = std::jthread([this, lines] { write(lines); });
  }
  void finish() override {
    if (writer_.joinable()) writer_.join();
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  std::unique_ptr<Source> open() override { return sources::make_stdin_source(ends_[0]); }
  void advance(milliseconds) override {}

 private:
  void write(const Bytes& lines) {
    for (std::size_t at = 0; at < lines.size();) {
      const ssize_t written = ::write(ends_[1], lines.data() + at, lines.size() - at);
      if (written <= 0) return;
      at += static_cast<std::size_t>(written);
    }
  }

  void (*const before_)(int) = std::signal(SIGPIPE, SIG_IGN);  // a test may end before its writer
  std::array<int, 2> ends_{};
  std::jthread writer_;
};

// The tests' own source: what stands on it must be able to trust it.
class TopicPlace final : public SourcePlace {
 public:
  void add(const std::vector<Bytes>& payloads) override {
    for (const Bytes& payload : payloads) topic_.add(payload);
  }
  void finish() override { topic_.finish(); }
  std::unique_ptr<Source> open() override {
    return std::make_unique<test::MemorySource>(topic_,
                                                test::MemorySourceOptions{true, true, &clock_});
  }
  void advance(milliseconds by) override { clock_.advance(by); }

 private:
  test::ManualClock clock_;
  test::MemoryTopic topic_;
};

template <class Place, class... Args>
std::function<std::unique_ptr<SourcePlace>()> place_of(Args... args) {
  return [=] { return std::unique_ptr<SourcePlace>(new Place(args...)); };
}

INSTANTIATE_TEST_SUITE_P(Sources, SourceSuite,
                         testing::Values(SourceCase{"file", place_of<FilePlace>(false), true},
                                         SourceCase{"file_followed", place_of<FilePlace>(true)},
                                         SourceCase{"held", place_of<HeldPlace>()},
                                         SourceCase{"stdin", place_of<StdinPlace>()},
                                         SourceCase{"topic", place_of<TopicPlace>()}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
