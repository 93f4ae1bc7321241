#include "admin/claim_memory.h"

#include "base/digest.h"

namespace semel::admin {

namespace {

constexpr std::string_view kQuestionDomain = "semel.claim.request";

Bytes claim_name(const KeyId& key, const Nonce& nonce) {
  return Bytes(key.view()) + Bytes(digest::view(nonce.bytes));
}

}  // namespace

Bytes ClaimMemory::question(std::string_view caller, std::string_view request, const KeyId& key) {
  const BytesView parts[] = {caller, request, key.view()};
  return Bytes(digest::view(digest::shortened(digest::sha256_parts(kQuestionDomain, parts))));
}

ClaimMemory::Asking::Asking(ClaimMemory& memory, std::span<const Bytes> questions)
    : memory_(memory), questions_(questions) {
  const system::MutexLock lock(memory_.mutex_);
  for (const Bytes& one : questions_) ++memory_.asking_[one];
}

ClaimMemory::Asking::~Asking() {
  const system::MutexLock lock(memory_.mutex_);
  for (const Bytes& one : questions_) {
    const auto found = memory_.asking_.find(one);
    if (--found->second == 0) memory_.asking_.erase(found);
  }
  memory_.asked_.notify_all();
}

bool ClaimMemory::wait_for_others(const Bytes& question,
                                  std::chrono::steady_clock::time_point until) const {
  const system::MutexLock lock(mutex_);
  if (waiting_ == kMostWaiting) return !asking_.contains(question);
  ++waiting_;
  const bool answered = asked_.wait_until(
      mutex_, until, [&]() SEMEL_REQUIRES(mutex_) { return !asking_.contains(question); });
  --waiting_;
  return answered;
}

std::size_t ClaimMemory::waiting() const {
  const system::MutexLock lock(mutex_);
  return waiting_;
}

void ClaimMemory::note_given(const Bytes& question, const Acquired& claim) {
  const system::MutexLock lock(mutex_);
  given_.put(question, claim);
}

std::optional<Acquired> ClaimMemory::given(const Bytes& question) const {
  const system::MutexLock lock(mutex_);
  return given_.find(question);
}

void ClaimMemory::note_ended(const KeyId& key, const Nonce& nonce, Finish::To to) {
  const system::MutexLock lock(mutex_);
  ended_.put(claim_name(key, nonce), to);
}

bool ClaimMemory::was_ended(const KeyId& key, const Nonce& nonce, Finish::To to) const {
  const system::MutexLock lock(mutex_);
  return ended_.find(claim_name(key, nonce)) == to;
}

}  // namespace semel::admin
