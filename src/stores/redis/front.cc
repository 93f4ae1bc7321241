// Completed keys of a consumer, each a value that expires: looked up together, and written by a
// thread of its own, so that no call waits for it.
#include <semel/redis.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "clients/redis/error_table.h"
#include "clients/redis/router.h"
#include "stores/redis/facts.h"
#include "system/mutex.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

// The most entries waiting to be written; beyond it older ones are dropped.
constexpr std::size_t kMostWaiting = 10'000;
constexpr std::size_t kMostTogether = 500;

Error in_front(Error error) {
  error.hint = "messages are handled without it; look at front.redis of the consumer";
  return error;
}

// Another type under the name: it is not ours, and no reason to stop asking.
bool is_other_kind(const Reply& reply) { return word_of(reply.bytes) == "WRONGTYPE"; }

class RedisFront final : public FrontWindow {
 public:
  RedisFront(Target target, RedisFrontOptions options, Environment& environment)
      : target_(std::move(target)),
        options_(std::move(options)),
        environment_(environment),
        ttl_(std::to_string(std::max<std::int64_t>(options_.ttl.count(), 1))),
        thread_([this] { put_all(); }) {}

  ~RedisFront() override {
    {
      const system::MutexLock lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  Result<std::vector<Bytes>> look(std::span<const FrontName> names) override {
    {
      const system::MutexLock lock(mutex_);
      if (refused_) return failure(*std::exchange(refused_, std::nullopt));
    }
    return told([&] { return look_now(names); });
  }

  void keep(std::span<const FrontEntry> entries) noexcept override {
    {
      const system::MutexLock lock(mutex_);
      waiting_.insert(waiting_.end(), entries.begin(), entries.end());
      while (waiting_.size() > kMostWaiting) waiting_.pop_front();
    }
    wake_.notify_one();
  }

  Result<void> check() override {
    return told([&] {
      const std::string name = options_.prefix + "check";
      router().ask({"SET", name, "1", "PX", ttl_}, Loss::kNothingDone);
      // A refusal from before this check counts no more, even if it is reported later.
      const system::MutexLock lock(mutex_);
      refused_.reset();
      ++checks_;
    });
  }

 private:
  template <class Work>
  auto told(Work work) -> Result<std::invoke_result_t<Work>> {
    auto done = core::contained(work);
    if (!done) return failure(in_front(std::move(done.error())));
    return done;
  }

  std::string name_of(const FrontName& name) const {
    return options_.prefix + std::string(digest::view(name));
  }

  // Whether it is a Cluster is known once it has answered.
  Router& router() SEMEL_EXCLUDES(connecting_) {
    const system::MutexLock lock(connecting_);
    if (!router_) {
      StoreContext::Settings place{target_, options_.prefix, false, options_.connections, {}};
      (void)look_at(place, true, *environment_.random);
      router_.emplace(target_, options_.connections, place.cluster, Confirm{},
                      *environment_.random);
    }
    return *router_;
  }

  std::vector<Bytes> look_now(std::span<const FrontName> names) {
    std::vector<std::string> full;
    full.reserve(names.size());
    for (const FrontName& name : names) full.push_back(name_of(name));
    // Fetches only enough bytes to see that a value is not a mark.
    static const std::string most = std::to_string(sizeof(FrontMark));
    std::vector<Question> questions;
    questions.reserve(full.size());
    for (const std::string& name : full) {
      questions.push_back({name, {"GETRANGE", name, "0", most}});
    }
    std::vector<Reply> replies = router().ask_all(questions, Loss::kNothingDone);
    std::vector<Bytes> found(names.size());
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (!replies[i].is_error()) {
        found[i] = std::move(replies[i].bytes);
      } else if (!is_other_kind(replies[i])) {
        throw failure_of(replies[i]);
      }
    }
    return found;
  }

  void put_all() SEMEL_EXCLUDES(mutex_) {
    system::RelockableLock lock(mutex_);
    for (;;) {
      wake_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMostTogether));
      const std::vector<FrontEntry> entries(waiting_.begin(), waiting_.begin() + count);
      waiting_.erase(waiting_.begin(), waiting_.begin() + count);
      const auto checks = checks_;
      lock.unlock();
      auto put = core::contained([&] { put_now(entries); });
      lock.lock();
      if (put) continue;
      // They are dropped, as are the waiting ones: the next look reports the failure.
      waiting_.clear();
      if (checks == checks_) refused_ = in_front(std::move(put.error()));
    }
  }

  void put_now(std::span<const FrontEntry> entries) {
    std::vector<std::string> full;
    full.reserve(entries.size());
    for (const FrontEntry& entry : entries) full.push_back(name_of(entry.name));
    std::vector<Question> questions;
    questions.reserve(full.size());
    for (std::size_t i = 0; i < full.size(); ++i) {
      questions.push_back({full[i], {"SET", full[i], digest::view(entries[i].mark), "PX", ttl_}});
    }
    for (const Reply& reply : router().ask_all(questions, Loss::kNothingDone)) {
      if (reply.is_error()) throw failure_of(reply);
    }
  }

  const Target target_;
  const RedisFrontOptions options_;
  Environment& environment_;
  const std::string ttl_;
  system::Mutex connecting_;
  std::optional<Router> router_ SEMEL_GUARDED_BY(connecting_);

  system::Mutex mutex_;
  system::CondVar wake_;
  std::deque<FrontEntry> waiting_ SEMEL_GUARDED_BY(mutex_);
  std::optional<Error> refused_ SEMEL_GUARDED_BY(mutex_);  // the last refusal of a write
  std::uint64_t checks_ SEMEL_GUARDED_BY(mutex_) = 0;      // successful ones
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<FrontWindow>> open_front(RedisFrontOptions options) {
  return core::contained([&]() -> std::unique_ptr<FrontWindow> {
    Target target = target_of(options.url);
    target.connect_timeout = target.answer_timeout = options.timeout;
    Environment& environment =
        options.environment != nullptr ? *options.environment : system_environment();
    return std::make_unique<RedisFront>(std::move(target), std::move(options), environment);
  });
}

}  // namespace semel::redis

namespace semel {

Result<std::unique_ptr<FrontWindow>> open_redis_front(RedisFrontOptions options) {
  return redis::open_front(std::move(options));
}

}  // namespace semel
