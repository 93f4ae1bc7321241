// ClaimMemory: remembers claims for the API, so that a repeated call whose answer was lost gets the
// same answer.
//
// It decides nothing: a remembered claim is returned again only if the store still accepts its
// nonce. If it was forgotten, the client waits for the end of the lease.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <semel/bytes.h>
#include <semel/spi/claim.h>
#include <semel/spi/finish.h>
#include <semel/spi/lease.h>

#include "system/mutex.h"

namespace semel::admin {

// Remembers the newest values, up to a number of keys. One thread at a time.
template <class Value>
class NewestValues {
 public:
  explicit NewestValues(std::size_t most) : most_(most) {}

  void put(Bytes key, Value value) {
    const auto [at, fresh] = values_.insert_or_assign(std::move(key), std::move(value));
    if (!fresh) return;
    order_.push_back(at->first);
    for (; order_.size() > most_; order_.pop_front()) values_.erase(order_.front());
  }
  std::optional<Value> find(const Bytes& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  std::size_t size() const noexcept { return values_.size(); }

 private:
  const std::size_t most_;
  std::unordered_map<Bytes, Value> values_;
  std::deque<Bytes> order_;  // oldest first
};

// Thread-safe.
class ClaimMemory {
 public:
  // Several seconds of claims at the highest rate.
  static constexpr std::size_t kMost = 200'000;

  explicit ClaimMemory(std::size_t most = kMost) : given_(most), ended_(most) {}

  // Questions that the store is being asked, until this is destroyed.
  class Asking {
   public:
    Asking(ClaimMemory& memory, std::span<const Bytes> questions);
    ~Asking();
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    ClaimMemory& memory_;
    const std::span<const Bytes> questions_;
  };

  // Identifies a caller's request, as named by the client, and a key in it.
  static Bytes question(std::string_view caller, std::string_view request, const KeyId& key);

  void note_given(const Bytes& question, const Acquired& claim) SEMEL_EXCLUDES(mutex_);
  std::optional<Acquired> given(const Bytes& question) const SEMEL_EXCLUDES(mutex_);
  // So many calls may wait for others: each holds a thread that renewals need.
  static constexpr std::size_t kMostWaiting = 1;
  // Waits until nobody asks the question; false where that takes longer, or others wait.
  bool wait_for_others(const Bytes& question, std::chrono::steady_clock::time_point until) const
      SEMEL_EXCLUDES(mutex_);
  // How many do so now.
  std::size_t waiting() const SEMEL_EXCLUDES(mutex_);

  void note_ended(const KeyId& key, const Nonce& nonce, Finish::To to) SEMEL_EXCLUDES(mutex_);
  bool was_ended(const KeyId& key, const Nonce& nonce, Finish::To to) const SEMEL_EXCLUDES(mutex_);

 private:
  mutable system::Mutex mutex_;
  mutable system::CondVar asked_;
  std::unordered_map<Bytes, std::size_t> asking_ SEMEL_GUARDED_BY(mutex_);
  mutable std::size_t waiting_ SEMEL_GUARDED_BY(mutex_) = 0;
  NewestValues<Acquired> given_ SEMEL_GUARDED_BY(mutex_);
  NewestValues<Finish::To> ended_ SEMEL_GUARDED_BY(mutex_);  // by key id and nonce
};

}  // namespace semel::admin
