#include "tests/conformance/store_case.h"

#include "tests/support/finish_one.h"

#include <fmt/format.h>

#include <utility>

namespace semel::conformance {
namespace {

struct Describe {
  std::string operator()(const Acquired& a) const {
    return fmt::format("Acquired(attempt {}{})", a.attempt, a.taken_over ? ", taken over" : "");
  }
  std::string operator()(const Completed&) const { return "Completed"; }
  std::string operator()(const Busy& b) const {
    return fmt::format("Busy({} ms)", b.retry_after.count());
  }
  std::string operator()(const Waiting& w) const {
    return fmt::format("Waiting({} ms)", w.next_in.count());
  }
  std::string operator()(const Closed& c) const {
    return fmt::format("Closed({}, {}{})", c.parked ? "parked" : "dead", c.reason,
                       c.held ? ", held" : "");
  }
  std::string operator()(const Conflict&) const { return "Conflict"; }
};

Acquired acquired_of(const Claim& answer) {
  EXPECT_TRUE(is<Acquired>(answer)) << describe(answer);
  return is<Acquired>(answer) ? std::get<Acquired>(answer) : Acquired{};
}

}  // namespace

const char* to_string(Facet facet) noexcept {
  switch (facet) {
    case Facet::kTransactional:
      return "transactional";
    case Facet::kHeld:
      return "held";
    case Facet::kDeadLetters:
      return "dead_letters";
    case Facet::kRecords:
      return "records";
    case Facet::kPositions:
      return "positions";
    case Facet::kRuns:
      return "runs";
    case Facet::kGates:
      return "gates";
    case Facet::kLive:
      return "live";
    case Facet::kSteps:
      return "steps";
    case Facet::kAudit:
      return "audit";
  }
  return "";
}

bool is_there(const StoreFacets& facets, Facet facet) {
  switch (facet) {
    case Facet::kTransactional:
      return facets.transactional != nullptr;
    case Facet::kHeld:
      return facets.held != nullptr;
    case Facet::kDeadLetters:
      return facets.dead_letters != nullptr;
    case Facet::kRecords:
      return facets.records != nullptr;
    case Facet::kPositions:
      return facets.positions != nullptr;
    case Facet::kRuns:
      return facets.runs != nullptr;
    case Facet::kGates:
      return facets.gates != nullptr;
    case Facet::kLive:
      return facets.live != nullptr;
    case Facet::kSteps:
      return facets.steps != nullptr;
    case Facet::kAudit:
      return facets.audit != nullptr;
  }
  return false;
}

std::string describe(const Claim& claim) { return std::visit(Describe{}, claim); }

void StoreTest::SetUp() {
  place_ = GetParam().make();
  store_ = place_->open();
  ASSERT_NE(store_, nullptr);
  for (const Facet facet : kAllFacets) {
    ASSERT_TRUE(!has(facet) || is_there(store_->facets(), facet))
        << "its case does not declare that it lacks " << to_string(facet);
  }
  consumer_ = attach("payments");
}

void StoreTest::TearDown() {
  for (const bool full : {false, true}) {
    if (store_ == nullptr || store_->facets().records == nullptr) break;
    const auto findings = records().verify(full);
    ASSERT_TRUE(findings.has_value()) << findings.error().message;
    for (const StoreFinding& finding : *findings) {
      EXPECT_FALSE(finding.wrong) << finding.what << " " << finding.where << ": " << finding.detail;
    }
  }
  store_.reset();
}

void StoreTest::reopen() {
  if (!durable()) return;
  store_.reset();
  store_ = place_->open();
}

ConsumerNumber StoreTest::attach(const std::string& name, std::optional<milliseconds> ttl) {
  const auto number = store().attach({name, "recipe", false, ttl});
  EXPECT_TRUE(number.has_value()) << (number ? "" : number.error().message);
  return number.value_or(ConsumerNumber{});
}

Claim StoreTest::claim_on(Store& store, const Message& message, const ClaimOptions& options) {
  const Message* one = &message;
  auto claims = store.claim({&one, 1}, options);
  EXPECT_TRUE(claims.has_value()) << (claims ? "" : claims.error().message);
  if (!claims) return Busy{};
  EXPECT_EQ(claims->size(), 1U);
  return std::move(claims->at(0));
}

Acquired StoreTest::acquire(const Message& message) { return acquired_of(claim(message)); }

Claim StoreTest::claim_by(std::uint64_t number, const Message& message) {
  EXPECT_TRUE(place_->draw_only(number));
  Claim answer = claim(message);
  place_->draw_only(std::nullopt);
  return answer;
}

Acquired StoreTest::acquire_by(std::uint64_t number, const Message& message) {
  return acquired_of(claim_by(number, message));
}

Finish StoreTest::given(Finish finish) {
  if (!has(Facet::kHeld)) finish.keep = nullptr;
  return finish;
}

Applied StoreTest::finish_on(Store& store, const Finish& finish) {
  return test::finish_one(store, given(finish));
}

Applied StoreTest::renew(const Lease& lease, milliseconds by) {
  const auto applied = store().renew({&lease, 1}, by);
  EXPECT_TRUE(applied.has_value()) << (applied ? "" : applied.error().message);
  return applied ? applied->at(0) : Applied::kLeaseLost;
}

void StoreTest::complete(const Message& message, Bytes result) {
  ASSERT_EQ(finish(test::completed(acquire(message).lease, std::move(result))), Applied::kYes);
}

void StoreTest::bring_to(const Message& message, RecordState state) {
  const Lease lease = acquire(message).lease;
  switch (state) {
    case RecordState::kConsuming:
      return;
    case RecordState::kCompleted:
      ASSERT_EQ(finish(test::completed(lease)), Applied::kYes);
      return;
    case RecordState::kRetrying:
      ASSERT_EQ(finish(test::retrying(lease, 30s, &message)), Applied::kYes);
      return;
    case RecordState::kParked:
      ASSERT_EQ(finish(test::parked(lease, &message)), Applied::kYes);
      return;
    case RecordState::kDead:
      ASSERT_EQ(finish(test::dead(lease, &message)), Applied::kYes);
      return;
  }
}

std::vector<Arrival> StoreTest::take_for(ConsumerNumber consumer, std::size_t max,
                                         milliseconds hidden) {
  auto taken = held().take(consumer, max, 64 << 20, hidden);
  EXPECT_TRUE(taken.has_value()) << (taken ? "" : taken.error().message);
  return std::move(taken).value_or(std::vector<Arrival>());
}

void StoreTest::append(std::vector<OutgoingMessage> messages) {
  const auto appended = held().append(consumer_, messages);
  ASSERT_TRUE(appended.has_value()) << appended.error().message;
}

OutgoingMessage StoreTest::held_message(std::optional<Bytes> key, Bytes payload,
                                        milliseconds delay) {
  OutgoingMessage message;
  message.key = std::move(key);
  message.payload = std::move(payload);
  message.delay = delay;
  return message;
}

std::vector<DeadLetter> StoreTest::all_dead_letters() {
  DeadLetterFilter filter;
  filter.limit = 10'000;
  filter.payloads = true;
  auto letters = dead_letters().list(filter);
  EXPECT_TRUE(letters.has_value()) << (letters ? "" : letters.error().message);
  return std::move(letters).value_or(std::vector<DeadLetter>());
}

Finish letter_for(const Message& message, std::string reason) {
  Finish finish;
  finish.to = Finish::To::kDead;
  finish.keep = &message;
  finish.reason = std::move(reason);
  return finish;
}

Payloads payloads(const std::vector<Arrival>& arrivals) {
  Payloads result;
  for (const Arrival& arrival : arrivals) result.push_back(arrival.payload);
  return result;
}

}  // namespace semel::conformance
