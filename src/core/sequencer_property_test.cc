// Random adds, takes with and without followers, releases, closings, withdrawals and drains,
// compared with a list that looks at everything every time.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/key_encoding.h"
#include "core/sequencer.h"
#include "tests/support/rounds.h"

namespace semel::core {
namespace {

struct WaitingMessage {
  int number;
  std::string lane, key;
  bool suspect;
  int place;  // in the order of all
};

class SequencerWorld {
 public:
  explicit SequencerWorld(std::uint64_t seed) : seed_(seed), random_(seed) {
    own_order_ = random_() % 2 == 0;
    suspects_ = random_() % 3 == 0;
  }

  void run() {
    for (int step = 0; step < 600 && !testing::Test::HasFatalFailure(); ++step) {
      const std::uint64_t what = random_() % 20;
      if (what < 8) {
        add();
      } else if (what < 14) {
        take(1 + random_() % 8, random_() % 2 == 0);
      } else if (what < 16) {
        release();
      } else if (what < 17) {
        put_back();
      } else if (what == 17) {
        closed_.empty() || random_() % 2 == 0 ? close() : reopen();
      } else if (what == 18) {
        withdraw();
      } else if (random_() % 10 == 0) {
        drain();
      } else if (random_() % 4 == 0) {
        withdraw_if();
      }
      check_counts();
    }
    finish();
  }
  int twins_waited = 0, together = 0, closings = 0, withdrawn = 0, followers = 0, put_backs = 0;

 private:
  void add() {
    WaitingMessage w;
    w.number = next_++;
    w.lane = any_lane();
    const bool keyed = own_order_ && w.lane[0] == '+';
    w.key = keyed ? "key " + std::to_string(random_() % 8) : w.lane.substr(1);
    w.suspect = suspects_ && random_() % 6 == 0;
    w.place = place_++;
    sequencer_.add(delivery_of(w));
    waiting_.push_back(std::move(w));
  }

  // Names of lanes here: '+' before an ordering key, '-' before the key of one that has none.
  std::string any_lane() {
    return (random_() % 2 == 0 ? "+lane " : "-lane ") + std::to_string(random_() % 4);
  }
  static LaneName lane_name(std::string_view lane) { return {lane.substr(1), lane[0] == '+'}; }

  static TrackedDelivery delivery_of(const WaitingMessage& w) {
    Message::Parts parts;
    parts.key.text = w.key;
    parts.key.id = encode_key(ConsumerNumber{1}, w.key);
    const LaneName lane = lane_name(w.lane);
    if (lane.is_ordering_key) parts.ordering_key = lane.key;
    parts.payload = std::to_string(w.number);
    Arrival arrival;
    arrival.suspect = w.suspect;
    return TrackedDelivery(Message(std::move(parts)), std::move(arrival));
  }

  void take(std::size_t max, bool with_followers) {
    const bool was_ready = sequencer_.ready();
    const std::vector<TrackedDelivery> batch = sequencer_.take(max, with_followers);
    ASSERT_EQ(was_ready, !batch.empty()) << "ready() told something else; seed " << seed_;
    ASSERT_LE(batch.size(), max) << "seed " << seed_;
    std::set<std::string> lanes;
    of_batch_.clear();
    for (const TrackedDelivery& delivery : batch) {
      ASSERT_EQ(delivery.arrival.suspect, batch.front().arrival.suspect) << "seed " << seed_;
      const LaneName name = LaneName::of(delivery.message);
      const bool first =
          lanes.insert((name.is_ordering_key ? "+" : "-") + std::string(name.key)).second;
      ASSERT_EQ(first, !delivery.follows) << "seed " << seed_;
      ASSERT_TRUE(first || with_followers) << "seed " << seed_;
      hand_out(delivery, batch.size());
    }
    if (batch.size() == max || (!batch.empty() && batch.front().arrival.suspect)) return;
    expect_nothing_left();
    if (with_followers) expect_no_follower_left(lanes);
  }

  void hand_out(const TrackedDelivery& delivery, std::size_t batch_size) {
    const int number = std::stoi(std::string(delivery.message.payload()));
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const WaitingMessage& w) { return w.number == number; });
    ASSERT_NE(found, waiting_.end()) << "given twice, or never added; seed " << seed_;
    const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const WaitingMessage& w) { return w.lane == found->lane; });
    ASSERT_EQ(first->number, number) << "out of the order of its key; seed " << seed_;
    const bool follows = delivery.follows;
    ASSERT_EQ(out_.contains(found->lane), follows) << "a key handed out twice; seed " << seed_;
    followers += follows ? 1 : 0;
    for (const auto& [lane, other] : out_) {
      ASSERT_NE(other.key, found->key) << "twins are out together; seed " << seed_;
      ASSERT_TRUE(!other.suspect || of_batch_.contains(other.number))
          << "something beside a suspect; seed " << seed_;
    }
    if (found->suspect && batch_size > 1) ++together;
    of_batch_.insert(number);
    if (!follows) first_of_[found->lane] = number;
    out_.emplace(found->lane, *found);
    keys_of_[found->lane].insert(found->key);
    waiting_.erase(found);
  }

  std::set<std::string> keys_out() const {
    std::set<std::string> keys;
    for (const auto& [lane, of_lane] : keys_of_) keys.insert(of_lane.begin(), of_lane.end());
    return keys;
  }

  // A batch that was not filled left nothing that could have been in it.
  void expect_nothing_left() {
    for (const auto& [lane, other] : out_) {
      if (other.suspect) return;
    }
    const std::set<std::string> keys = keys_out();
    std::set<std::string> lanes;
    for (const auto& [lane, other] : out_) lanes.insert(lane);
    for (const auto& [lane, other] : closed_) lanes.insert(lane);
    for (const WaitingMessage& w : waiting_) {
      if (!lanes.insert(w.lane).second) continue;
      if (keys.contains(w.key)) {
        ++twins_waited;
        continue;
      }
      // Twins at the head of two lanes: one of them must have gone.
      FAIL() << w.number << " could have been taken; seed " << seed_;
    }
  }

  // Nor did it leave a follower, except those that may not run with others.
  void expect_no_follower_left(const std::set<std::string>& lanes) {
    const std::set<std::string> keys = keys_out();
    std::set<std::string> seen;
    for (const WaitingMessage& w : waiting_) {
      if (!lanes.contains(w.lane) || !seen.insert(w.lane).second) continue;
      ASSERT_TRUE(w.suspect || keys.contains(w.key))
          << w.number << " could have followed; seed " << seed_;
    }
  }

  using Out = std::multimap<std::string, WaitingMessage>;

  Out::iterator any_out() {
    auto one = out_.begin();
    std::advance(one, static_cast<long>(random_() % out_.size()));
    return one;
  }
  // Until the last delivery of its batch has ended, none of a lane's keys is free.
  void no_more_out(Out::iterator one) {
    const std::string lane = one->first;
    out_.erase(one);
    if (!out_.contains(lane)) keys_of_.erase(lane);
  }

  // The first delivery of a key waits for its next attempt: the key stays closed, and it returns
  // first.
  void close() {
    if (out_.empty()) return;
    const auto one = out_.find(any_out()->first);
    if (one->second.number != first_of_.at(one->first)) return;
    sequencer_.close(lane_name(one->first));
    closed_.insert(*one);
    no_more_out(one);
    ++closings;
  }

  // The last delivery of a key did not run.
  void put_back() {
    if (out_.empty()) return;
    const auto one = std::prev(out_.upper_bound(any_out()->first));
    const WaitingMessage back = one->second;
    if (back.suspect) return;
    sequencer_.put_back(delivery_of(back));
    no_more_out(one);
    insert(back);
    ++put_backs;
  }

  void insert(const WaitingMessage& back) {
    const auto after = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const WaitingMessage& w) { return w.place > back.place; });
    waiting_.insert(after, back);
  }

  void reopen() {
    if (closed_.empty()) return;
    const WaitingMessage back = closed_.begin()->second;
    closed_.erase(closed_.begin());
    sequencer_.reopen(delivery_of(back));
    insert(back);
  }

  void expect(const std::vector<TrackedDelivery>& given, const std::vector<int>& numbers) {
    ASSERT_EQ(given.size(), numbers.size()) << "seed " << seed_;
    for (std::size_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(given[i].message.payload(), std::to_string(numbers[i])) << "seed " << seed_;
    }
  }

  std::vector<int> remove_if(const std::function<bool(const WaitingMessage&)>& which) {
    std::vector<int> numbers;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      if (which(*at)) {
        numbers.push_back(at->number);
        at = waiting_.erase(at);
      } else {
        ++at;
      }
    }
    return numbers;
  }

  void withdraw() {
    const std::string lane = any_lane();
    const bool has = out_.contains(lane) || closed_.contains(lane);
    const int odd = static_cast<int>(random_() % 3);  // 2: all
    const auto goes = [&](int number) { return odd == 2 || number % 2 == odd; };
    const auto expected =
        remove_if([&](const WaitingMessage& w) { return has && w.lane == lane && goes(w.number); });
    expect(sequencer_.withdraw(lane_name(lane),
                               [&](const TrackedDelivery& d) {
                                 return goes(std::stoi(std::string(d.message.payload())));
                               }),
           expected);
    withdrawn += static_cast<int>(expected.size());
  }

  void withdraw_if() {
    const int odd = static_cast<int>(random_() % 2);
    const auto expected = remove_if([&](const WaitingMessage& w) { return w.number % 2 == odd; });
    expect(sequencer_.withdraw_if([&](const TrackedDelivery& d) {
      return std::stoi(std::string(d.message.payload())) % 2 == odd;
    }),
           expected);
    for (WaitingMessage& w : waiting_) w.place = place_++;
  }

  void release() {
    if (out_.empty()) return;
    const auto one = out_.find(any_out()->first);
    sequencer_.release(lane_name(one->first));
    no_more_out(one);
  }

  void drain() {
    const std::vector<TrackedDelivery> rest = sequencer_.drain();
    ASSERT_EQ(rest.size(), waiting_.size()) << "seed " << seed_;
    auto expected = waiting_.begin();
    for (const TrackedDelivery& delivery : rest) {
      ASSERT_EQ(delivery.message.payload(), std::to_string(expected->number)) << "seed " << seed_;
      ++expected;
    }
    waiting_.clear();
  }

  void check_counts() {
    ASSERT_EQ(sequencer_.waiting(), waiting_.size()) << "seed " << seed_;
    ASSERT_EQ(sequencer_.running(), out_.size()) << "seed " << seed_;
  }

  // Nothing is lost: everything that was added comes out, once all that is out is released
  // repeatedly.
  void finish() {
    for (int round = 0; round < 10'000 && !testing::Test::HasFatalFailure(); ++round) {
      while (!closed_.empty()) reopen();
      while (!out_.empty()) release();
      if (waiting_.empty()) return;
      take(100, round % 2 == 0);
    }
    FAIL() << waiting_.size() << " never came; seed " << seed_;
  }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  bool own_order_, suspects_;
  Sequencer sequencer_;
  std::list<WaitingMessage> waiting_;
  Out out_;                              // for each lane in the order of its messages
  std::map<std::string, int> first_of_;  // of those handed out
  std::map<std::string, std::set<std::string>> keys_of_;
  std::map<std::string, WaitingMessage> closed_;
  std::set<int> of_batch_;
  int next_ = 0;
  int place_ = 0;
};

TEST(SequencerProperty, KeepsOrderAndGivesNoKeyTwice) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  int twins_waited = 0, together = 0, closings = 0, withdrawn = 0, followers = 0, put_backs = 0;
  const int runs = static_cast<int>(test::rounds(300, 50));
  for (int run = 0; run < runs; ++run) {
    SequencerWorld world(seed + static_cast<std::uint64_t>(run));
    world.run();
    if (HasFatalFailure()) return;
    twins_waited += world.twins_waited;
    together += world.together;
    closings += world.closings;
    withdrawn += world.withdrawn;
    followers += world.followers;
    put_backs += world.put_backs;
  }
  EXPECT_GT(twins_waited, runs / 4);
  EXPECT_GT(together, runs / 4);
  EXPECT_GT(closings, runs / 4);
  EXPECT_GT(withdrawn, runs / 4);
  EXPECT_GT(followers, runs / 4);
  EXPECT_GT(put_backs, runs / 4);
}

}  // namespace
}  // namespace semel::core
