#include "stores/redis/held.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "stores/redis/completions.h"
#include "stores/redis/lost_takes.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostTaken = 4 << 20;  // bytes
// The most calls of one take. The first one looks at as many rows as there are places; where these
// wait in their lines, later calls continue behind them, and look at many.
constexpr int kMostRounds = 16;
// Words for each row, in answers and in arguments.
constexpr std::size_t kRowWords = 4;

std::string text_of(ConsumerNumber consumer) {
  return std::to_string(static_cast<std::uint32_t>(consumer));
}

class Held final : public HeldMessages {
 public:
  explicit Held(StoreContext& context) : context_(context) {}

  Result<void> append(ConsumerNumber consumer, std::span<const OutgoingMessage> messages) override {
    return core::contained([&] { append_now(consumer, messages); });
  }
  Result<std::vector<Arrival>> take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden,
                                    const LineOf& line_of) override {
    return core::contained(
        [&] { return take_now(consumer, max_messages, max_bytes, hidden, line_of); });
  }
  Result<std::vector<Place>> hold_behind(ConsumerNumber consumer,
                                         std::span<const Follower> followers,
                                         std::size_t most_bytes) override {
    return core::contained([&] { return hold_behind_now(consumer, followers, most_bytes); });
  }
  Result<std::vector<Bytes>> lines(ConsumerNumber consumer) override {
    return core::contained([&] {
      std::vector<Bytes> lines;
      Reply reply = context_.run_one(context_.scripts.lines, about(consumer), Loss::kNothingDone);
      for (Reply& line : reply.list) lines.push_back(std::move(line.bytes));
      return lines;
    });
  }
  Result<void> release(std::span<const RowTag> rows, milliseconds delay) override {
    return change("release", rows, delay);
  }
  Result<void> extend(std::span<const RowTag> rows, milliseconds hidden) override {
    return change("hide", rows, hidden);
  }
  Result<void> remove(std::span<const RowTag> rows) override {
    if (context_.names.cluster) return change("remove", rows, milliseconds(0));
    return core::contained([&] { remove_now(rows); });
  }
  Result<Depth> depth(ConsumerNumber consumer) override {
    return core::contained([&] {
      const Reply reply =
          context_.run_one(context_.scripts.depth, about(consumer), Loss::kNothingDone);
      Depth depth;
      depth.rows = static_cast<std::size_t>(reply.list.at(0).number);
      if (reply.list.size() > 1) depth.next_due = milliseconds(reply.list[1].number);
      return depth;
    });
  }
  int wake_fd() noexcept override { return -1; }

 private:
  Call about(ConsumerNumber consumer) const {
    Call call;
    call.keys = {context_.names.last_row(consumer)};
    call.arguments = {context_.names.prefix, text_of(consumer)};
    return call;
  }
  void append_now(ConsumerNumber consumer, std::span<const OutgoingMessage> messages);
  std::vector<Arrival> take_now(ConsumerNumber consumer, std::size_t max_messages,
                                std::size_t max_bytes, milliseconds hidden, const LineOf& line_of);
  void show_lost(ConsumerNumber consumer);
  Reply run_take(ConsumerNumber consumer, const Bytes& take, const Call& call);
  bool take_some(std::vector<Arrival>& taken, ConsumerNumber consumer, std::size_t looked_at,
                 std::size_t most, std::size_t most_bytes, milliseconds hidden,
                 const LineOf& line_of);
  std::vector<Arrival> look(ConsumerNumber consumer, std::size_t most, std::size_t most_bytes,
                            const LineOf& line_of);
  std::vector<Place> hold_behind_now(ConsumerNumber consumer, std::span<const Follower> followers,
                                     std::size_t most_bytes);
  void remove_now(std::span<const RowTag> rows);
  void change_now(const char* how, std::span<const RowTag> rows, milliseconds time);
  Result<void> change(const char* how, std::span<const RowTag> rows, milliseconds time);

  StoreContext& context_;
  LostTakes lost_{*context_.environment.clock};
};

// One call whatever its size: all or none.
void Held::append_now(ConsumerNumber consumer, std::span<const OutgoingMessage> messages) {
  if (messages.empty()) return;
  Call call = about(consumer);
  for (const OutgoingMessage& message : messages) {
    context_.need_room(bytes_of(message.payload, message.headers));
    for (const Bytes& word : words_of(consumer, message)) call.arguments.push_back(word);
  }
  context_.run_one(context_.scripts.append, call, Loss::kInDoubt);
}

// Rows that were not met before, each with its line.
std::vector<Arrival> Held::look(ConsumerNumber consumer, std::size_t most, std::size_t most_bytes,
                                const LineOf& line_of) {
  Call call = about(consumer);
  call.arguments.push_back(std::to_string(most));
  call.arguments.push_back(std::to_string(most_bytes));
  const Reply reply = context_.run_one(context_.scripts.look, call, Loss::kNothingDone);
  std::vector<Arrival> met;
  for (std::size_t at = 1; at + kRowWords <= reply.list.size(); at += kRowWords) {
    Arrival& row =
        met.emplace_back(arrival_at(reply.list, at, static_cast<std::uint32_t>(consumer)));
    row.line = line_of(row);
  }
  return met;
}

// Rows of takes whose answers were lost show again. All lanes are asked together.
void Held::show_lost(ConsumerNumber consumer) {
  const Bytes takes = lost_.hidden(consumer);
  if (takes.empty()) return;
  std::vector<Call> calls;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    calls.push_back(about(consumer));
    calls.back().arguments.append({std::to_string(lane), "0", takes});
  }
  while (!calls.empty()) {
    const auto cursors = context_.run(context_.scripts.show_lost, calls, Loss::kNothingDone);
    std::vector<Call> left;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (cursors[i].bytes == "0") continue;
      constexpr std::size_t kLane = 2;
      left.push_back(about(consumer));
      left.back().arguments.append({calls[i].arguments[kLane], cursors[i].bytes, takes});
    }
    calls = std::move(left);
  }
  lost_.shown(consumer, takes);
}

Reply Held::run_take(ConsumerNumber consumer, const Bytes& take, const Call& call) {
  try {
    return context_.run_one(context_.scripts.take, call, Loss::kInDoubt);
  } catch (const core::Failure& failed) {
    if (failed.error().kind == ErrorKind::kInDoubt) lost_.add(consumer, take);
    throw;
  }
}

// False where nothing more is due.
bool Held::take_some(std::vector<Arrival>& taken, ConsumerNumber consumer, std::size_t looked_at,
                     std::size_t most, std::size_t most_bytes, milliseconds hidden,
                     const LineOf& line_of) {
  std::vector<Arrival> met;
  if (line_of) met = look(consumer, looked_at, std::max(most_bytes, kMostBytes), line_of);
  Call call = about(consumer);
  const Bytes take = context_.instance.name_take();
  call.arguments.push_back(take);
  call.arguments.push_back(std::to_string(most));
  call.arguments.push_back(std::to_string(most_bytes));
  call.arguments.push_back(std::to_string(wait_of(hidden)));
  call.arguments.push_back(line_of ? "1" : "0");
  call.arguments.push_back(lost_.of(consumer));
  const std::size_t first = call.arguments.size() + 1;  // counted as the script does
  for (Arrival& row : met) {
    RowPlace place = *place_of(*row.row);
    call.arguments.push_back(std::to_string(place.lane));
    call.arguments.push_back(place.number_text());
    call.arguments.push_back(row.line ? "1" + *row.line : Bytes());
    if (row.line) place.lane = lane_of_line(*row.line);
    call.arguments.push_back(std::to_string(place.lane));
    set_place(row, place);
  }
  const Reply reply = run_take(consumer, take, call);
  const std::size_t before = taken.size();
  std::size_t given = 0;
  // Whether there were more than one call looks at.
  const bool more = reply.list.at(1).number != 0;
  for (std::size_t at = 2; at < reply.list.size();) {
    const std::int64_t said = reply.list[at].number;
    if (said < 0) {
      taken.push_back(std::move(met.at((static_cast<std::size_t>(-said) - first) / kRowWords)));
      at += 1;
    } else {
      taken.push_back(arrival_at(reply.list, at, static_cast<std::uint32_t>(consumer)));
      at += kRowWords;
    }
    given += taken.back().payload.size();
  }
  return more || !met.empty() || taken.size() - before == most || given >= most_bytes;
}

std::vector<Arrival> Held::take_now(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden,
                                    const LineOf& line_of) {
  context_.stay_known(Loss::kNothingDone);
  show_lost(consumer);
  std::vector<Arrival> taken;
  std::size_t bytes = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    if (taken.size() >= max_messages || (bytes >= max_bytes && !taken.empty())) break;
    const std::size_t most = std::min(max_messages - taken.size(), kMostKeys);
    const std::size_t most_bytes = std::min(max_bytes - std::min(bytes, max_bytes), kMostTaken);
    const std::size_t before = taken.size();
    bool more = false;
    try {
      const std::size_t looked_at = round == 0 ? most : kMostKeys;
      more = take_some(taken, consumer, looked_at, most, most_bytes, hidden, line_of);
    } catch (const core::Failure&) {
      // Rows that were taken already are hidden from all others.
      if (taken.empty()) throw;
      return taken;
    }
    for (std::size_t i = before; i < taken.size(); ++i) bytes += taken[i].payload.size();
    if (!more) break;
  }
  return taken;
}

std::vector<HeldMessages::Place> Held::hold_behind_now(ConsumerNumber consumer,
                                                       std::span<const Follower> followers,
                                                       std::size_t most_bytes) {
  std::vector<Place> places(followers.size(), Place::kFree);
  if (followers.empty()) return places;
  std::vector<Call> calls;
  std::vector<std::vector<std::size_t>> asked;
  std::map<BytesView, std::size_t> call_of;  // a line is not split: all of it is free or none
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    const bool much = calls.empty() || bytes > kMostBytes || asked.back().size() >= kMostKeys;
    if (much && !call_of.contains(*followers[i].arrival->line)) {
      calls.push_back(about(consumer));
      calls.back().arguments.push_back(std::to_string(most_bytes));
      asked.emplace_back();
      bytes = 0;
    }
    const auto at = call_of.try_emplace(*followers[i].arrival->line, calls.size() - 1).first;
    const Message& message = *followers[i].message;
    context_.need_room(bytes_of(message.payload(), message.headers()));
    NewRow row = row_of(message, followers[i].arrival);
    bytes += row.body.size();
    Call& call = calls[at->second];
    call.arguments.push_back(std::to_string(row.lane));
    call.arguments.push_back(row.head);
    call.arguments.push_back(row.body);
    asked[at->second].push_back(i);
  }
  const std::vector<Reply> replies =
      context_.run(context_.scripts.hold_behind, calls, Loss::kInDoubt);
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::size_t i = 0; i < asked[c].size(); ++i) {
      const char said = replies[c].bytes.at(i);
      places[asked[c][i]] = said == 'H' ? Place::kHeld : said == 'U' ? Place::kFull : Place::kFree;
    }
  }
  return places;
}

// Uses the short script as far as possible.
void Held::remove_now(std::span<const RowTag> rows) {
  if (rows.empty()) return;
  std::vector<Finish> acks(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    acks[i].to = Finish::To::kAckOnly;
    acks[i].ack = rows[i];
  }
  const Completions completions(context_.names, acks, {});
  std::vector<RowTag> harder;
  completions.each(
      context_.run(context_.scripts.complete_rows, completions.calls(), Loss::kInDoubt),
      [](std::size_t, Applied) {}, [&](std::size_t at) { harder.push_back(rows[at]); });
  if (!harder.empty()) change_now("remove", harder, milliseconds(0));
}

void Held::change_now(const char* how, std::span<const RowTag> rows, milliseconds time) {
  Parts parts(context_);
  const RowChange change{how, std::to_string(wait_of(time)), context_.instance.begins_takes()};
  for (const RowTag row : rows) {
    const auto place = place_of(row);
    if (!place) continue;
    add_change(parts, context_.names, *place, change);
  }
  context_.run(context_.scripts.change, parts.calls(), Loss::kInDoubt);
}

Result<void> Held::change(const char* how, std::span<const RowTag> rows, milliseconds time) {
  return core::contained([&] { change_now(how, rows, time); });
}

}  // namespace

void add_change(Parts& parts, const Names& names, const RowPlace& place, const RowChange& change) {
  const std::string key = names.last_row(ConsumerNumber{place.consumer});
  Call& call = parts.add(key, 0, [&](Call& begun) {
    begun.keys = {key};
    begun.arguments = {names.prefix, change.how, change.time, change.by};
  });
  call.arguments.push_back(std::to_string(place.consumer));
  call.arguments.push_back(std::to_string(place.lane));
  call.arguments.push_back(place.number_text());
}

std::unique_ptr<HeldMessages> make_held(StoreContext& context) {
  return std::make_unique<Held>(context);
}

}  // namespace semel::redis
