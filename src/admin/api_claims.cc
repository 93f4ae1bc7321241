// Claims of clients without a driver for the store: the lease protocol over HTTP.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/reason.h>

#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/claim_body.h"
#include "admin/claim_memory.h"
#include "admin/departed_consumers.h"
#include "admin/problem.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/overloaded.h"
#include "base/printable.h"
#include "operate/views.h"

namespace semel::admin {

namespace {

using std::chrono::milliseconds;
using Places = std::vector<std::size_t>;  // indexes of items of a request

constexpr int kMostTries = 3;
constexpr milliseconds kAskPausedAgain{1'000};
// How long a call waits for an earlier one of the same name; less than the patience of its route.
constexpr milliseconds kEarlierCallWaits{8'000};
// The results in one answer; beyond this size only the sizes of results are given.
constexpr std::size_t kMostResultBytes = std::size_t{16} << 20;

// Calls the store, again if it asks for a new transaction.
template <class T>
Result<T> call_store(const std::function<Result<T>()>& call) {
  for (int tries = 1;; ++tries) {
    auto answer = call();
    if (answer || answer.error().kind != ErrorKind::kRetryTransaction || tries == kMostTries) {
      return answer;
    }
  }
}

Error not_answered_yet() {
  return {ErrorKind::kUnavailable, "R345", "an earlier call of this request has no answer yet",
          "ask the same again"};
}

void write_claim(json::Writer& writer, const Claim& claim, milliseconds lease,
                 std::size_t& result_bytes) {
  std::visit(
      Overloaded{
          [&](const Acquired& one) {
            writer.member("outcome", "new");
            writer.member("nonce", digest::hex(digest::view(one.lease.nonce.bytes)));
            writer.member("token", static_cast<std::uint64_t>(one.lease.token));
            writer.member("attempt", one.attempt).member("taken_over", one.taken_over);
            writer.member("lease_ms", lease.count());
          },
          [&](const Completed& one) {
            writer.member("outcome", "duplicate");
            if (one.result.empty()) return;
            result_bytes += one.result.size();
            if (result_bytes <= kMostResultBytes) {
              writer.bytes("result", one.result);
            } else {
              writer.member("result_bytes", one.result.size());
            }
          },
          [&](const Busy& one) {
            writer.member("outcome", "busy").member("retry_after_ms", one.retry_after.count());
          },
          [&](const Waiting& one) {
            writer.member("outcome", "retry").member("retry_after_ms", one.next_in.count());
          },
          [&](const Closed& one) {
            writer.member("outcome", one.parked ? "parked" : "dead").member("reason", one.reason);
          },
          [&](const Conflict&) { writer.member("outcome", "conflict"); }},
      claim);
}

// A consumer and the items of a call about its keys.
class ClaimBatch {
 public:
  ClaimBatch(const ApiCall& call, const ApiSources& sources, const operate::StoreAccess& access,
             const config::ConsumerConfig& consumer, ConsumerNumber number, const ClaimsBody& body)
      : call_(call),
        memory_(*sources.claims),
        access_(access),
        consumer_(consumer),
        body_(body),
        lease_(body.lease.value_or(consumer.dedup.lease)) {
    ids_.reserve(body.items.size());
    for (const ClaimItem& item : body.items) ids_.push_back(consumer.key.id_of(number, item.key));
  }

  HttpResponse claim();
  HttpResponse renew();
  HttpResponse finish();

 private:
  // Calls `use` with the items that have no fault, in rounds in which each key occurs only once.
  // `first`: whether this is the first round. Ends at the first error.
  Result<void> each_round(const std::function<Result<void>(const Places& now, bool first)>& use);
  Result<void> claim_round(const Places& now, bool first);
  Result<void> ask_store(const Places& now, bool named);
  Result<void> give_again(const Places& now);
  Lease lease_of(std::size_t at) const { return {ids_[at], Token{}, body_.items[at].nonce}; }
  Bytes question_of(std::size_t at) const {
    return ClaimMemory::question(call_.caller.name, body_.request, ids_[at]);
  }
  // The answer to a call, with the output of `write` for each item that has no fault.
  HttpResponse answer(const char* document,
                      const std::function<void(json::Writer&, std::size_t at)>& write) const;

  const ApiCall& call_;
  ClaimMemory& memory_;
  const operate::StoreAccess& access_;
  const config::ConsumerConfig& consumer_;
  const ClaimsBody& body_;
  const milliseconds lease_;
  std::vector<KeyId> ids_;
  std::vector<Claim> claims_;
};

Result<void> ClaimBatch::each_round(
    const std::function<Result<void>(const Places& now, bool first)>& use) {
  Places open;
  for (std::size_t at = 0; at < ids_.size(); ++at) {
    if (body_.items[at].fault.empty()) open.push_back(at);
  }
  for (bool first = true; !open.empty(); first = false) {
    std::unordered_set<KeyId> keys;
    Places now, behind;
    for (const std::size_t at : open) (keys.insert(ids_[at]).second ? now : behind).push_back(at);
    if (auto used = use(now, first); !used) return used;
    open = std::move(behind);
  }
  return {};
}

HttpResponse ClaimBatch::answer(
    const char* document, const std::function<void(json::Writer&, std::size_t at)>& write) const {
  json::Writer writer = operate::document(document);
  writer.member("consumer", consumer_.name).name("claims").begin_array();
  for (std::size_t at = 0; at < body_.items.size(); ++at) {
    const ClaimItem& item = body_.items[at];
    writer.begin_object().member("key", item.key);
    if (item.fault.empty()) {
      write(writer, at);
    } else {
      writer.member("outcome", "invalid").member("reason", item.fault);
    }
    writer.end_object();
  }
  writer.end_array().end_object();
  return json_answer(writer.text());
}

Result<void> ClaimBatch::claim_round(const Places& now, bool first) {
  if (!first || body_.request.empty()) return ask_store(now, false);
  std::vector<Bytes> questions;
  for (const std::size_t at : now) questions.push_back(question_of(at));
  {
    const ClaimMemory::Asking asking(memory_, questions);
    if (auto asked = ask_store(now, true); !asked) return asked;
  }
  return give_again(now);
}

Result<void> ClaimBatch::ask_store(const Places& now, bool named) {
  std::vector<Message> messages;
  std::vector<const Message*> pointers;
  messages.reserve(now.size());
  for (const std::size_t at : now) {
    Message::Parts parts;
    parts.key = {body_.items[at].key, ids_[at]};
    parts.fingerprint = body_.items[at].fingerprint;
    pointers.push_back(&messages.emplace_back(std::move(parts)));
  }
  ClaimOptions options;
  options.lease = lease_;
  options.want_result = true;
  // The claimer may run on another machine and survive a power cut of this one.
  options.durability = Durability::kPowerLoss;
  options.outlives_process = true;
  auto answers =
      call_store<std::vector<Claim>>([&] { return access_.store.claim(pointers, options); });
  if (!answers) return failure(std::move(answers.error()));
  for (std::size_t i = 0; i < now.size(); ++i) {
    claims_[now[i]] = std::move((*answers)[i]);
    const auto* acquired = std::get_if<Acquired>(&claims_[now[i]]);
    if (acquired != nullptr && named) memory_.note_given(question_of(now[i]), *acquired);
  }
  return {};
}

// Returns the claims that this same request was given before and still holds. Its first call may
// not have its answer yet.
Result<void> ClaimBatch::give_again(const Places& now) {
  std::vector<Acquired> given;
  std::vector<Lease> leases;
  Places places;
  const auto until = std::chrono::steady_clock::now() + kEarlierCallWaits;
  for (const std::size_t at : now) {
    if (!std::holds_alternative<Busy>(claims_[at])) continue;
    const Bytes question = question_of(at);
    if (!memory_.wait_for_others(question, until)) return failure(not_answered_yet());
    const auto before = memory_.given(question);
    if (!before) continue;
    given.push_back(*before);
    leases.push_back(before->lease);
    places.push_back(at);
  }
  if (leases.empty()) return {};
  auto renewed =
      call_store<std::vector<Applied>>([&] { return access_.store.renew(leases, lease_); });
  if (!renewed) return failure(std::move(renewed.error()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if ((*renewed)[i] == Applied::kYes) claims_[places[i]] = given[i];
  }
  return {};
}

HttpResponse ClaimBatch::claim() {
  claims_.assign(body_.items.size(), Busy{kAskPausedAgain});
  const auto gate = access_.facets.gates == nullptr || body_.items.empty()
                        ? Result<std::optional<ShutGate>>(std::nullopt)
                        : access_.facets.gates->state(ids_.front().consumer());
  if (!gate) return problem(gate.error());
  if (!*gate) {
    const auto claimed =
        each_round([this](const Places& now, bool first) { return claim_round(now, first); });
    if (!claimed) return problem(claimed.error());
  }
  std::size_t result_bytes = 0;
  return answer("claims", [&](json::Writer& writer, std::size_t at) {
    write_claim(writer, claims_[at], lease_, result_bytes);
    if (*gate) writer.member("reason", "paused");
  });
}

HttpResponse ClaimBatch::renew() {
  std::vector<bool> renewed(body_.items.size());
  const auto done = each_round([&](const Places& now, bool) -> Result<void> {
    std::vector<Lease> leases;
    for (const std::size_t at : now) leases.push_back(lease_of(at));
    const auto applied =
        call_store<std::vector<Applied>>([&] { return access_.store.renew(leases, lease_); });
    if (!applied) return failure(applied.error());
    for (std::size_t i = 0; i < now.size(); ++i) renewed[now[i]] = (*applied)[i] == Applied::kYes;
    return {};
  });
  if (!done) return problem(done.error());
  return answer("claims_renewed", [&](json::Writer& writer, std::size_t at) {
    writer.member("outcome", renewed[at] ? "renewed" : "lease_lost");
  });
}

HttpResponse ClaimBatch::finish() {
  std::vector<bool> ended(body_.items.size());
  const auto done = each_round([&](const Places& now, bool) -> Result<void> {
    std::vector<Finish> finishes(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      const ClaimItem& item = body_.items[now[i]];
      finishes[i].to = item.to;
      finishes[i].lease = lease_of(now[i]);
      finishes[i].result = item.to == Finish::To::kCompleted ? item.result : Bytes();
      finishes[i].delay = item.after;
      finishes[i].error = item.error;
      const bool failed = item.to == Finish::To::kRetrying || item.to == Finish::To::kDead;
      if (failed) finishes[i].reason = reason::kHandlerNative;
    }
    const auto applied =
        call_store<std::vector<Applied>>([&] { return access_.store.finish(finishes); });
    if (!applied) return failure(applied.error());
    for (std::size_t i = 0; i < now.size(); ++i) {
      const ClaimItem& item = body_.items[now[i]];
      if ((*applied)[i] == Applied::kYes) memory_.note_ended(ids_[now[i]], item.nonce, item.to);
      ended[now[i]] =
          (*applied)[i] == Applied::kYes || memory_.was_ended(ids_[now[i]], item.nonce, item.to);
    }
    return {};
  });
  if (!done) return problem(done.error());
  return answer("claims_finished", [&](json::Writer& writer, std::size_t at) {
    writer.member("outcome", ended[at] ? word_of_end(body_.items[at].to) : "lease_lost");
  });
}

HttpResponse gives_no_claims(const std::string& name) {
  return not_found(fmt::format("there is no consumer \"{}\" with source: {{ claims: {{}} }}",
                               printable_text(name)),
                   "GET /api/v1/consumers");
}

HttpResponse is_departed(const std::string& name) {
  return not_found(fmt::format("a reload has removed the consumer \"{}\": it gives no new claims",
                               printable_text(name)),
                   "claims that are out may be renewed and ended");
}

HttpResponse with_claims(const ApiCall& call, const ApiSources& sources, ClaimCall asked,
                         HttpResponse (ClaimBatch::*run)()) {
  const config::ConsumerConfig* consumer = sources.config->find(call.path[0]);
  std::shared_ptr<const config::ConsumerConfig> departed;
  if (consumer == nullptr || !consumer->is_claimed()) {
    if (sources.departed != nullptr) departed = sources.departed->find(call.path[0]);
    consumer = departed.get();
    if (consumer == nullptr) return gives_no_claims(call.path[0]);
    if (asked == ClaimCall::kClaim) return is_departed(call.path[0]);
  }
  auto body = claims_body(call, asked, consumer->limits.key);
  if (!body) return std::move(body.error());
  for (ClaimItem& item : body->items) {
    if (!item.fault.empty() || item.result.size() <= consumer->limits.result) continue;
    item.fault = fmt::format("the result has {} bytes, the limit is {}", item.result.size(),
                             consumer->limits.result);
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    const auto number = access.facets.records->consumer(consumer->name);
    if (!number) return problem(number.error());
    if (!*number) return not_found("the store does not know the consumer yet");
    return (ClaimBatch(call, sources, access, *consumer, **number, *body).*run)();
  });
}

}  // namespace

namespace api {

HttpResponse claim_keys(const ApiCall& call, const ApiSources& sources) {
  return with_claims(call, sources, ClaimCall::kClaim, &ClaimBatch::claim);
}

HttpResponse renew_claims(const ApiCall& call, const ApiSources& sources) {
  return with_claims(call, sources, ClaimCall::kRenew, &ClaimBatch::renew);
}

HttpResponse finish_claims(const ApiCall& call, const ApiSources& sources) {
  return with_claims(call, sources, ClaimCall::kFinish, &ClaimBatch::finish);
}

}  // namespace api

}  // namespace semel::admin
