#include "stores/sqlite/claims.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <semel/spi/record_machine.h>

namespace semel::sqlite {
void sort_by_id(std::span<const Message* const> messages, std::vector<std::uint32_t>& order) {
  order.resize(messages.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::memcmp(messages[a]->key().id.bytes.data(), messages[b]->key().id.bytes.data(),
                       KeyId::kSize) < 0;
  });
}

Claim answer_of(Tables& tables, const Finished& found, const Message& message, bool want_result) {
  if (!spi::same_fingerprint(found.fingerprint, message.fingerprint())) {
    return Conflict{found.fingerprint, message.fingerprint()};
  }
  Completed completed;
  completed.completed_at = found.completed_at;
  if (want_result) completed.result = tables.result_of(found);
  return completed;
}

std::vector<Claim> LeaseClaims::claim(std::span<const Message* const> messages,
                                      const ClaimOptions& options, std::int64_t instance,
                                      StoreTime now) {
  std::vector<Claim> answers(messages.size());
  sort_by_id(messages, order_);
  // Tokens are assigned in the order of the request; unused ones are never used.
  const auto first =
      static_cast<std::uint64_t>(tables_.meta.take_tokens(tables_.facts, messages.size()));
  open_.clear();
  claimed_.clear();
  for (const std::uint32_t at : order_) {
    const Message& message = *messages[at];
    const KeyId& id = message.key().id;
    if (tables_.generations.having(id) != nullptr) {
      answers[at] = answer_of(tables_, tables_.generations.found(), message, options.want_result);
      continue;
    }
    const spi::ClaimRequest request{id, message.fingerprint(), static_cast<Token>(first + at),
                                    spi::draw_nonce(*environment_.random), options.lease};
    std::optional<spi::Record> record;
    Claim fresh = spi::decide_claim(record, request, now);
    open_.push_back({at, request, std::move(fresh)});
    claimed_.push_back({id, *std::move(record), message.key().text});
    if (open_.size() == LiveRows::kTogether) add(answers, instance, now);
  }
  add(answers, instance, now);
  return answers;
}

void LeaseClaims::add(std::vector<Claim>& answers, std::int64_t instance, StoreTime now) {
  const bool many = open_.size() == LiveRows::kTogether;
  const bool all =
      many && tables_.live.add_claimed(
                  std::span<const LiveRows::Claimed, LiveRows::kTogether>(claimed_), instance, now);
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Open& open = open_[i];
    answers[open.at] =
        all ? std::move(open.fresh) : claim_one(open, claimed_[i], instance, many, now);
  }
  open_.clear();
  claimed_.clear();
}

Claim LeaseClaims::claim_one(Open& open, const LiveRows::Claimed& claimed, std::int64_t instance,
                             bool added, StoreTime now) {
  if (!added && tables_.live.add_claimed(claimed.id, claimed.record, claimed.key, instance, now)) {
    return std::move(open.fresh);
  }
  std::optional<LiveRow> row = tables_.live.find(claimed.id);
  if (row->record.token == open.request.token) return std::move(open.fresh);
  if (auto before = spi::acquired_before(row->record, open.request, now)) {
    tables_.live.renew(claimed.id, open.request.nonce, row->record.lease_until);
    return *before;
  }
  std::optional<spi::Record> record = row->record;
  Claim answer = spi::decide_claim(record, open.request, now);
  if (!std::holds_alternative<Acquired>(answer)) return answer;
  row->record = *std::move(record);
  row->key = claimed.key;
  row->holder = instance;
  tables_.live.save(claimed.id, *row, now);
  return answer;
}

std::vector<Claim> UnitClaims::claim(std::span<const Message* const> messages,
                                     const UnitOptions& options, StoreTime now) {
  std::vector<Claim> answers(messages.size());
  sort_by_id(messages, order_);
  const bool any_live = tables_.live.any();
  if (options.inbox) next_inbox_ = tables_.inbox.next();
  used_ = messages.size();
  next_ = 0;
  if (claimed_.size() < used_) claimed_.resize(used_);
  for (std::size_t at = 0; at < used_; ++at) {
    claimed_[at].id = KeyId{};
    claimed_[at].finished = true;
  }
  for (const std::uint32_t at : order_) {
    answers[at] = claim_one(at, *messages[at], options, any_live, now);
  }
  return answers;
}

Claim UnitClaims::claim_one(std::size_t at, const Message& message, const UnitOptions& options,
                            bool any_live, StoreTime now) {
  const KeyId& id = message.key().id;
  Generation& generation = tables_.generations.active(tables_.ttls.of(id.consumer()), now);
  const auto inbox = options.inbox ? std::optional(next_inbox_) : std::nullopt;
  if (!generation.insert(id, message.fingerprint(), now, inbox)) {
    return answer_of(tables_, *generation.find(id), message, options.want_result);
  }
  std::optional<LiveRow> live = any_live ? tables_.live.find(id) : std::nullopt;
  if (live) {
    std::optional<spi::Record> record = live->record;
    Claim answer = spi::decide_claim(record, {id, message.fingerprint(), {}, {}, {}}, now);
    auto* const acquired = std::get_if<Acquired>(&answer);
    if (acquired == nullptr) {
      generation.erase(id);
      return answer;
    }
    Claimed& claimed = remember(at, message, generation, now);
    live->record = *std::move(record);
    live->holder.reset();
    claimed.inbox = inbox;
    if (live->inbox) {
      generation.set_detail(id, std::nullopt, live->inbox);
      claimed.inbox = live->inbox;
    } else if (inbox) {
      next_inbox_ = tables_.inbox.next();
    }
    claimed.live = std::move(live);
    return answer;
  }
  if (tables_.generations.having_but(id, &generation) != nullptr) {
    const Finished found = tables_.generations.found();
    generation.erase(id);
    return answer_of(tables_, found, message, options.want_result);
  }
  remember(at, message, generation, now).inbox = inbox;
  if (inbox) next_inbox_ = tables_.inbox.next();
  Acquired acquired;
  acquired.lease.key = id;
  return acquired;
}

UnitClaims::Claimed& UnitClaims::remember(std::size_t at, const Message& message,
                                          Generation& generation, StoreTime now) {
  Claimed& claimed = claimed_[at];
  claimed.id = message.key().id;
  claimed.fingerprint = message.fingerprint();
  claimed.key = message.key().text;
  claimed.generation = &generation;
  claimed.live.reset();
  claimed.at = now;
  claimed.finished = false;
  return claimed;
}

UnitClaims::Claimed* UnitClaims::find(const KeyId& id) noexcept {
  for (std::size_t i = 0; i < used_; ++i) {
    const std::size_t at = (next_ + i) % used_;
    if (claimed_[at].id == id) {
      next_ = at + 1;
      return &claimed_[at];
    }
  }
  return nullptr;
}

Applied UnitClaims::finish(const Finish& finish, StoreTime now) {
  const Applied applied = finish_one(finish, now);
  if (applied == Applied::kYes) finish_writer_.acts().send(finish, now);
  return applied;
}

Applied UnitClaims::finish_one(const Finish& finish, StoreTime now) {
  Claimed* const claimed = finish.lease ? find(finish.lease->key) : nullptr;
  if (claimed == nullptr) return finish_writer_.apply(finish, now);
  if (claimed->finished) return Applied::kLeaseLost;
  claimed->finished = true;
  LiveRow* const live = claimed->live ? &*claimed->live : nullptr;
  if (finish.to == Finish::To::kCompleted) {
    finish_writer_.completed_in(*claimed->generation, claimed->id, live, claimed->inbox, finish,
                                now);
    return Applied::kYes;
  }
  claimed->generation->erase(claimed->id);
  if (finish.to == Finish::To::kNotStarted) {
    // The record of an earlier attempt stays as it was before the claim.
    finish_writer_.acts().release(finish, now);
    return Applied::kYes;
  }
  LiveRow row = live != nullptr ? *live : LiveRow{};
  if (live == nullptr) {
    row.record.fingerprint = claimed->fingerprint;
    row.record.first_seen = claimed->at;
    row.record.attempt = 1;
    row.key = claimed->key;
  }
  // The transaction is the fence: this record is the unit's, whatever nonce the caller passes.
  row.record.state = RecordState::kConsuming;
  row.record.nonce = finish.lease->nonce;
  return finish_writer_.apply(row, claimed->inbox, finish, now);
}

bool UnitClaims::unfinished() const noexcept {
  return std::any_of(claimed_.begin(), claimed_.begin() + static_cast<std::ptrdiff_t>(used_),
                     [](const Claimed& claimed) { return !claimed.finished; });
}

}  // namespace semel::sqlite
