// Long random runs over everything that changes rows: the stored data is consistent at any time,
// and in the end every message exists that was not ended.
#include <fmt/format.h>

#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>

#include <map>
#include <set>

#include "stores/redis/dead_letters.h"
#include "stores/redis/store_context.h"
#include "stores/redis/test_place.h"
#include "tests/support/test_environment.h"

namespace semel::redis {
namespace {

constexpr int kMoves = 700;

// The inconsistencies of the rows under a prefix; empty where there are none.
constexpr const char* kCheck = R"lua(
local wrong, flags_of = {}, {}
local function has(flags, flag) return math.floor(flags / flag) % 2 == 1 end
local function tell(text) wrong[#wrong + 1] = text end
for _, heads in ipairs(redis.call('KEYS', ARGV[1] .. '{h*}m')) do
  local at = string.sub(heads, 1, -2)
  local lines, bytes_of, count = {}, {}, 0
  local all = redis.call('HGETALL', heads)
  for i = 1, #all, 2 do
    local number, head = all[i], all[i + 1]
    local flags = string.byte(head, 2)
    local bytes = struct.unpack('>I4', head, 25)
    local place = struct.unpack('>I6', head, 9)
    local size = struct.unpack('>I4', head, 73)
    local line = string.sub(head, 77, 76 + size)
    if redis.call('HEXISTS', at .. 'b', number) == 0 then tell(number .. ' has no body') end
    local places = 0
    for _, set in ipairs({ 'd', 'n' }) do
      if redis.call('ZSCORE', at .. set, number) then places = places + 1 end
    end
    local parked = redis.call('SISMEMBER', at .. 'p', number)
    if parked ~= (has(flags, 8) and 1 or 0) then tell(number .. ' is parked by half') end
    local hides = has(flags, 8) or has(flags, 4)
    if places ~= (hides and 0 or 1) then
      tell(number .. ' with ' .. flags .. ' stands in ' .. places .. ' queues')
    end
    if has(flags, 32) then
      if tonumber(redis.call('ZSCORE', at .. 'l' .. line, number) or '0') ~= place then
        tell(number .. ' is not at its place')
      end
      lines[line] = (lines[line] or 0) + 1
      bytes_of[line] = (bytes_of[line] or 0) + bytes
      if has(flags, 4) and redis.call('ZRANGE', at .. 'l' .. line, 0, 0)[1] == number then
        tell(number .. ' is behind nobody')
      end
    elseif has(flags, 4) then
      tell(number .. ' is behind without a line')
    end
    count = count + 1
  end
  if redis.call('HLEN', at .. 'b') ~= count then tell(at .. ' has bodies too many') end
  local in_queues = redis.call('ZCARD', at .. 'd') + redis.call('ZCARD', at .. 'n')
  if in_queues > count then tell(at .. ' has queue entries too many') end
  local told = redis.call('HGETALL', at .. 's')
  for i = 1, #told, 2 do
    if bytes_of[told[i]] ~= tonumber(told[i + 1]) then tell('bytes of line ' .. told[i]) end
    if redis.call('ZCARD', at .. 'l' .. told[i]) ~= lines[told[i]] then tell('line ' .. told[i]) end
    lines[told[i]] = nil
  end
  if next(lines) then tell('a line that is not told of') end
end
for _, index in ipairs(redis.call('KEYS', ARGV[1] .. '{h*}o')) do
  local all = redis.call('HGETALL', index)
  for i = 1, #all, 2 do
    local heads = string.gsub(index, '%.%d+}o$', '.' .. string.byte(all[i + 1]) .. '}m')
    local head = redis.call('HGET', heads, string.sub(all[i + 1], 2))
    if not head or string.sub(head, 53, 72) ~= all[i] then tell('a link that leads nowhere') end
  end
end
return table.concat(wrong, '; ')
)lua";

class HeldAtRandom : public testing::Test {
 protected:
  // One message from its sending to its end.
  struct Sent {
    Bytes payload;
    bool dead = false;
    bool parked = false;
  };

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  HeldMessages& held() { return *place_.store().facets().held; }
  static std::optional<Bytes> line_of(const Arrival& arrival) {
    if (arrival.payload[0] == '-') return std::nullopt;
    return arrival.payload.substr(0, 1);
  }
  void send();
  void take();
  void end_one();
  void complete_together();
  void give_back();
  void follow();
  void lose_the_hand();
  void open_parked();
  void end_all();
  Finish ending_of(const Message& m, const Lease& lease, const Arrival& arrival);
  void check(int step) {
    const std::string wrong = place_.server().run({"EVAL", kCheck, "0", place_.prefix()});
    ASSERT_EQ(wrong, "") << "step " << step;
    std::size_t waiting = 0;
    for (const auto& [payload, sent] : sent_) waiting += sent.dead || sent.parked ? 0U : 1U;
    ASSERT_EQ(held().depth(place_.consumer()).value().rows, waiting) << "step " << step;
  }

  const std::uint64_t seed_ = test::test_seed();
  test::SeededRandom random_{seed_};
  TestPlace place_{shared()};
  StoreContext context_{system_environment(),
                        {target_of(shared().url()), place_.prefix(), false, 1, {}},
                        kServerClock};
  std::map<Bytes, Sent> sent_;  // by payload, which is the key as well; none of them ended
  std::vector<Arrival> hand_;
  int number_ = 0;
};

void HeldAtRandom::send() {
  std::vector<OutgoingMessage> messages(1 + below(3));
  for (OutgoingMessage& message : messages) {
    message.payload = fmt::format("{}{}", "-ab"[below(3)], ++number_);
    if (below(2) == 0) message.key = message.payload;
    message.delay = milliseconds(below(3));
    sent_[message.payload] = {message.payload};
  }
  ASSERT_TRUE(held().append(place_.consumer(), messages).has_value());
}

void HeldAtRandom::take() {
  auto taken = held().take(place_.consumer(), 1 + below(5), 1 << 20, 60s, line_of);
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  for (Arrival& arrival : *taken) {
    for (const Arrival& other : hand_) ASSERT_NE(other.payload, arrival.payload) << "had twice";
    hand_.push_back(std::move(arrival));
  }
}

Finish HeldAtRandom::ending_of(const Message& m, const Lease& lease, const Arrival& arrival) {
  Finish finish;
  Sent& sent = sent_.at(arrival.payload);
  switch (below(6)) {
    case 0:
    case 1:
      finish = test::completed(lease);
      sent_.erase(arrival.payload);
      break;
    case 2:
      finish = test::parked(lease, &m);
      sent.parked = true;
      break;
    case 3:
      finish = test::dead(lease, below(2) == 0 ? &m : nullptr);
      sent.dead = true;
      break;
    case 4:
      finish = test::not_started(lease);
      break;
    default:
      finish = test::retrying(lease, milliseconds(below(2)), below(2) == 0 ? &m : nullptr);
  }
  finish.ack = arrival.row;
  finish.arrival = &arrival;
  return finish;
}

// The first taken message of its line.
void HeldAtRandom::end_one() {
  if (hand_.empty()) return;
  const Arrival arrival = hand_.front();
  hand_.erase(hand_.begin());
  const Message m = place_.message(arrival.payload);
  const Message whole = test::make_message(place_.consumer(), m.key().text, arrival.payload);
  const auto claim = place_.try_claim(whole);
  ASSERT_TRUE(claim.has_value()) << claim.error().message;
  if (const auto* acquired = std::get_if<Acquired>(&*claim)) {
    ASSERT_EQ(place_.finish(ending_of(whole, acquired->lease, arrival)).value(), Applied::kYes);
  } else {
    ASSERT_TRUE(held().release({&*arrival.row, 1}, 1ms).has_value());
  }
}

// As many of the taken ones as possible, in one call.
void HeldAtRandom::complete_together() {
  std::vector<Finish> batch;
  while (!hand_.empty()) {
    const Arrival arrival = hand_.front();
    const Message m = test::make_message(place_.consumer(), arrival.payload, arrival.payload);
    const auto claim = place_.try_claim(m);
    ASSERT_TRUE(claim.has_value()) << claim.error().message;
    const auto* acquired = std::get_if<Acquired>(&*claim);
    if (acquired == nullptr) break;
    Finish& done = batch.emplace_back(test::completed(acquired->lease));
    done.ack = arrival.row;
    sent_.erase(arrival.payload);
    hand_.erase(hand_.begin());
  }
  const auto applied = place_.store().finish(batch);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  ASSERT_EQ(*applied, std::vector(batch.size(), Applied::kYes));
}

void HeldAtRandom::give_back() {
  if (hand_.empty()) return;
  for (const Arrival& arrival : hand_) {
    ASSERT_TRUE(held().release({&*arrival.row, 1}, milliseconds(below(2))).has_value());
  }
  hand_.clear();
}

void HeldAtRandom::follow() {
  Arrival arrival;
  arrival.payload = fmt::format("{}{}", "ab"[below(2)], ++number_);
  arrival.line = arrival.payload.substr(0, 1);
  const Message m = test::make_message(place_.consumer(), arrival.payload, arrival.payload);
  const Follower follower{&m, &arrival};
  const auto places = held().hold_behind(place_.consumer(), {&follower, 1}, 1 << 20);
  ASSERT_TRUE(places.has_value()) << places.error().message;
  if (places->front() == HeldMessages::Place::kHeld) sent_[arrival.payload] = {arrival.payload};
}

// The process dies, and another continues.
void HeldAtRandom::lose_the_hand() {
  RunMarkers& runs = *place_.store().facets().runs;
  ASSERT_TRUE(runs.begin(place_.consumer(), 1).has_value());
  end_sessions(place_.server(), place_.prefix());
  place_.open();
  ASSERT_TRUE(place_.store().facets().runs->sweep().value());
  hand_.clear();
}

void HeldAtRandom::open_parked() {
  for (auto& [payload, sent] : sent_) {
    if (!sent.parked && !sent.dead) continue;
    ASSERT_TRUE(unlock_record(context_, place_.message(payload).key().id)) << payload;
    sent.parked = sent.dead = false;
  }
}

void HeldAtRandom::end_all() {
  open_parked();
  give_back();
  for (int round = 0; round < 5000 && !sent_.empty(); ++round) {
    take();
    for (const Arrival& arrival : hand_) {
      const Message m = test::make_message(place_.consumer(), arrival.payload, arrival.payload);
      const auto claim = place_.try_claim(m, 1ms);
      ASSERT_TRUE(claim.has_value());
      const auto* acquired = std::get_if<Acquired>(&*claim);
      if (acquired == nullptr) continue;
      Finish done = test::completed(acquired->lease);
      done.ack = arrival.row;
      ASSERT_EQ(place_.finish(done).value(), Applied::kYes);
      sent_.erase(arrival.payload);
    }
    std::erase_if(hand_, [&](const Arrival& a) { return !sent_.contains(a.payload); });
    give_back();
  }
  EXPECT_TRUE(sent_.empty()) << sent_.size() << " never came, as " << sent_.begin()->first;
}

TEST_F(HeldAtRandom, WhatIsOnTheServerAgreesWithItself) {
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed_);
  for (int i = 0; i < kMoves && !HasFatalFailure(); ++i) {
    switch (below(13)) {
      case 0:
      case 1:
        send();
        break;
      case 2:
        follow();
        break;
      case 3:
        give_back();
        break;
      case 4:
        if (below(5) == 0) lose_the_hand();
        break;
      case 5:
        if (below(5) == 0) open_parked();
        break;
      case 6:
      case 7:
        take();
        break;
      case 8:
        complete_together();
        break;
      default:
        end_one();
    }
    if (!HasFatalFailure()) check(i);
  }
  if (HasFatalFailure()) return;
  end_all();
  check(kMoves);
}

}  // namespace
}  // namespace semel::redis
