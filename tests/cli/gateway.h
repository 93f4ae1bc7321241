// A service that is paid for each call: what counts effects where no record can reach.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "tests/support/http_server.h"

namespace semel::test {

// Does its work for each call to /charge, unless it honours keys and remembers this one.
class Gateway {
 public:
  enum class Keys { kHonoured, kIgnored };
  enum class Answer {
    kCharged,   // the work is done, and said to be
    kHeld,      // done, and said when release() is called
    kNever,     // done, and never said
    kDropped,   // done, and the connection closed
    kHalf,      // done, and half of the answer said
    kSeeOther,  // done, and said so by 303
    kProxied,   // done, and the proxy before it lost the answer: 503, with Retry-After
    kBusy,      // 409, and nothing done
    kLater,     // 429
    kBroken,    // 500
    kAway,      // 503, and nothing done
    kMoved,     // 307
    kDeclined,  // 422
  };

  explicit Gateway(Keys keys = Keys::kHonoured) : keys_(keys) {
    server_.on("/charge",
               [this](const HttpRequest& request, std::size_t) { return answer(request); });
  }

  // The answers to the next calls, from any caller; after these: charged.
  void next(std::deque<Answer> answers) {
    const std::scoped_lock lock(mutex_);
    next_ = std::move(answers);
  }
  void release() { server_.release(); }
  std::string url() const { return server_.url("/charge"); }

  int calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  // Under one key, as it came: between quotes.
  int calls(const std::string& key) const { return counted(calls_of_, key); }
  int effects(const std::string& key) const { return counted(effects_of_, key); }
  int effects() const {
    const std::scoped_lock lock(mutex_);
    int all = 0;
    for (const auto& [key, times] : effects_of_) all += times;
    return all;
  }
  // All keys, as a service does after a while.
  void forget() {
    const std::scoped_lock lock(mutex_);
    done_.clear();
  }
  // The newest call's.
  std::string header(std::string_view name) const { return server_.requests().back().header(name); }

 private:
  int counted(const std::map<std::string, int>& counts, const std::string& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = counts.find("\"" + key + "\"");
    return found == counts.end() ? 0 : found->second;
  }

  HttpReply answer(const HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    const std::string key = request.header("idempotency-key");
    ++calls_;
    ++calls_of_[key];
    Answer answer = Answer::kCharged;
    if (!next_.empty()) {
      answer = next_.front();
      next_.pop_front();
    }
    switch (answer) {
      case Answer::kBusy:
        return reply(409);
      case Answer::kLater:
        return reply(429);
      case Answer::kBroken:
        return reply(500);
      case Answer::kAway:
        return reply(503);
      case Answer::kMoved:
        return reply(307, "", "Location: /elsewhere\r\n");
      case Answer::kDeclined:
        return reply(422, "no such card");
      default:
        break;
    }
    if (keys_ == Keys::kIgnored || !done_.contains(key)) {
      ++effects_of_[key];
      done_.insert(key);
    }
    HttpReply charged = reply(200, "charged");
    if (answer == Answer::kHeld) charged.after_requests = kUntilReleased;
    if (answer == Answer::kNever) return raw("", HttpReply::Then::kHang);
    if (answer == Answer::kDropped) return raw("");
    if (answer == Answer::kSeeOther) return reply(303, "", "Location: /thanks\r\n");
    if (answer == Answer::kProxied) {
      return reply(503, "upstream connect error or disconnect/reset before headers",
                   "Retry-After: 1\r\n");
    }
    if (answer == Answer::kHalf) return raw(charged.bytes.substr(0, charged.bytes.size() - 3));
    return charged;
  }

  static constexpr std::size_t kUntilReleased = 1'000'000;

  const Keys keys_;
  mutable std::mutex mutex_;
  std::deque<Answer> next_;
  int calls_ = 0;
  std::map<std::string, int> calls_of_;
  std::map<std::string, int> effects_of_;
  std::set<std::string> done_;
  HttpServer server_;
};

}  // namespace semel::test
