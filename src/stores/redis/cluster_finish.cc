#include "stores/redis/cluster_finish.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/failpoints.h"
#include "stores/redis/byte_reader.h"
#include "stores/redis/cluster_script.h"
#include "stores/redis/finisher.h"
#include "stores/redis/held.h"
#include "stores/redis/parts.h"

namespace semel::redis {
namespace {

// A row to be parked becomes visible after this long if no one parks it.
constexpr std::chrono::milliseconds kUntilParked{60'000};

bool is_held(const Finish& finish) {
  return finish.to == Finish::To::kRetrying || finish.to == Finish::To::kParked;
}

// The delivery only met its record, and nothing was done.
bool met_only(const Finish& finish) {
  return finish.to == Finish::To::kAckOnly && finish.outgoing.empty();
}

}  // namespace

// One entry of a batch in progress.
struct ClusterFinish::Ending {
  const Finish* finish = nullptr;
  std::size_t place = 0;  // in the batch
  bool leased = false;
  bool over = false;  // nothing is left to do
  Applied applied = Applied::kYes;
  std::string record;  // its name
  Bytes extra, ack;
  std::string rows;  // a name in the slot of its rows
  // From the answer of the marking.
  std::uint64_t till = 0;
  std::uint64_t first = 0;
  bool may_have_row = false;
  Bytes print, text;
  // The kept row or letter, or the one to keep.
  Bytes body;
  Bytes row;
  Bytes letter;         // empty where it was there before
  bool buried = false;  // there is a letter of its record
  std::vector<RowPlace> sent;
  // How its row is settled; see ClusterScripts::settle.
  const char* how = nullptr;
  Bytes id() const { return leased ? Bytes(finish->lease->key.view()) : Bytes(); }
};

std::vector<Applied> ClusterFinish::end(std::span<const Finish> batch, const Ttl& ttl) {
  std::vector<Applied> answers(batch.size(), Applied::kYes);
  std::vector<Ending> endings;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Finish& one = batch[i];
    Ending& ending = endings.emplace_back();
    ending.finish = &one;
    ending.place = i;
    ending.leased = is_leased(one);
    ending.extra = extra_of(one, false);
    ending.ack = ack_of(one);
    ConsumerNumber consumer{};
    if (const auto place = one.ack ? place_of(*one.ack) : std::nullopt) {
      consumer = ConsumerNumber{place->consumer};
    } else if (one.keep != nullptr) {
      consumer = one.keep->key().id.consumer();
    }
    if (ending.leased) {
      ending.record = context_.names.record(one.lease->key);
      consumer = one.lease->key.consumer();
    }
    ending.rows = context_.names.last_row(consumer);
  }
  // A record that is named twice is ended twice: the second time starts from the first one's
  // result.
  for (bool ended_some = false; !endings.empty(); ended_some = true) {
    std::vector<Ending> now, later;
    std::set<std::string> named;
    for (Ending& one : endings) {
      const bool again = one.leased && !named.insert(one.record).second;
      (again ? later : now).push_back(std::move(one));
    }
    try {
      end_some(now, ttl);
    } catch (const core::Failure& failed) {
      if (ended_some) throw in_doubt(failed);
      throw;
    }
    for (const Ending& one : now) answers[one.place] = one.applied;
    endings = std::move(later);
  }
  return answers;
}

void ClusterFinish::end_some(std::vector<Ending>& endings, const Ttl& ttl) {
  mark(endings);
  failpoint::hit(context_.environment, failpoint::kMarked);
  hold(endings);
  find_bodies(endings);
  write_dead_letter(endings);
  send(endings);
  failpoint::hit(context_.environment, failpoint::kKept);
  write(endings, ttl);
  failpoint::hit(context_.environment, failpoint::kRecorded);
  try {
    settle(endings);
    acknowledge(endings);
  } catch (const core::Failure& failed) {
    throw in_doubt(failed);  // the records are written
  }
}

void ClusterFinish::mark(std::vector<Ending>& endings) {
  Parts parts(context_);
  std::vector<Ending*> asked;
  for (Ending& one : endings) {
    const bool keeps = is_held(*one.finish) || one.finish->to == Finish::To::kDead ||
                       !one.finish->outgoing.empty();
    if (!one.leased || !keeps) continue;
    const bool parked = one.finish->to == Finish::To::kParked;
    Call& call = parts.add(one.record, 0, [](Call&) {});
    call.keys.push_back(one.record);
    call.arguments.push_back(nonce_of(*one.finish->lease));
    call.arguments.push_back(is_held(*one.finish) && !one.extra.empty() ? "1" : "0");
    call.arguments.push_back(
        std::to_string(parked ? kUntilParked.count() : wait_of(one.finish->delay)));
    asked.push_back(&one);
  }
  // Idempotent.
  auto replies = context_.run(context_.on_cluster->mark, parts.calls(), Loss::kNothingDone);
  parts.each_reply(replies, [&](std::size_t at, const Reply& said) {
    Ending& one = *asked[at];
    if (said.bytes.empty()) {
      one.applied = Applied::kLeaseLost;
      one.over = true;
      return;
    }
    ByteReader cut(said.bytes);
    one.till = cut.number(6);
    one.first = cut.number(6);
    one.may_have_row = cut.number(1) != 0;
    one.print = Bytes(cut.bytes(Fingerprint{}.bytes.size()));
    one.text = cut.rest();
  });
}

void ClusterFinish::hold(std::vector<Ending>& endings) {
  Parts parts(context_);
  std::vector<Ending*> asked;
  for (Ending& one : endings) {
    const bool something = !one.extra.empty() || one.may_have_row;
    const bool held = one.leased ? is_held(*one.finish) : one.finish->to == Finish::To::kRetrying;
    if (one.over || !held || !something) continue;
    Call& call = parts.add(one.rows, weight_of(*one.finish), [&](Call& begun) {
      begun.keys = {one.rows};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back(one.id());
    call.arguments.push_back(std::to_string(one.leased ? static_cast<std::int64_t>(one.till)
                                                       : wait_of(one.finish->delay)));
    call.arguments.push_back(std::to_string(one.first));
    call.arguments.push_back(one.text);
    call.arguments.push_back(one.print);
    call.arguments.push_back(one.extra);
    asked.push_back(&one);
  }
  auto replies = context_.run(context_.on_cluster->hold, parts.calls(), Loss::kInDoubt);
  parts.each_reply(replies, [&](std::size_t at, Reply& said) {
    asked[at]->row = std::move(said.bytes);
    if (!asked[at]->leased) asked[at]->over = true;
  });
}

// For dead entries that are given without their message: the body of the row held for them.
void ClusterFinish::find_bodies(std::vector<Ending>& endings) {
  Parts parts(context_);
  std::vector<Ending*> asked;
  for (Ending& one : endings) {
    const bool dead = one.leased && one.finish->to == Finish::To::kDead;
    if (one.over || !dead || one.finish->keep != nullptr) continue;
    if (one.ack.empty() && !one.may_have_row) continue;
    Call& call = parts.add(one.rows, 0, [&](Call& begun) {
      begun.keys = {one.rows};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back(one.may_have_row ? one.id() : Bytes());
    call.arguments.push_back(one.ack);
    asked.push_back(&one);
  }
  auto replies = context_.run(context_.on_cluster->bodies, parts.calls(), Loss::kNothingDone);
  parts.each_reply(replies,
                   [&](std::size_t at, Reply& said) { asked[at]->body = std::move(said.bytes); });
}

void ClusterFinish::write_dead_letter(std::vector<Ending>& endings) {
  Parts parts(context_);
  std::vector<Ending*> asked;
  for (Ending& one : endings) {
    const Finish::To to = one.finish->to;
    const bool dead = to == Finish::To::kDead || (!one.leased && to == Finish::To::kParked);
    if (one.over || !dead || (one.finish->keep == nullptr && one.body.empty())) continue;
    const std::size_t weight = weight_of(*one.finish) + one.body.size();
    Call& call = parts.add(context_.names.letters, weight, [&](Call& begun) {
      begun.keys = {context_.names.letters};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back(one.id());
    call.arguments.push_back(one.leased ? std::to_string(one.first) : Bytes());
    call.arguments.push_back(one.text);
    call.arguments.push_back(one.print);
    call.arguments.push_back(one.body);
    call.arguments.push_back(one.extra);
    asked.push_back(&one);
  }
  auto replies =
      context_.run(context_.on_cluster->write_dead_letter, parts.calls(), Loss::kInDoubt);
  parts.each_reply(replies, [&](std::size_t at, Reply& said) {
    asked[at]->letter = std::move(said.bytes);
    asked[at]->buried = asked[at]->leased && !asked[at]->text.empty();
  });
}

// One call for each queue: all or none of its messages are sent.
void ClusterFinish::send(std::vector<Ending>& endings) {
  std::map<ConsumerNumber, Call> calls;
  std::map<ConsumerNumber, std::vector<Ending*>> senders;
  for (Ending& one : endings) {
    if (one.over && one.leased) continue;
    for (const Outgoing& outgoing : one.finish->outgoing) {
      Call& call = calls[outgoing.to];
      if (call.keys.empty()) {
        call.keys = {context_.names.last_row(outgoing.to)};
        call.arguments = {context_.names.prefix,
                          std::to_string(static_cast<std::uint32_t>(outgoing.to))};
      }
      for (const Bytes& word : words_of(outgoing.to, outgoing.message)) {
        call.arguments.push_back(word);
      }
      senders[outgoing.to].push_back(&one);
    }
  }
  for (const auto& [consumer, call] : calls) {
    const Reply reply = context_.run_one(context_.scripts.append, call, Loss::kInDoubt);
    for (std::size_t i = 0; i < senders[consumer].size(); ++i) {
      senders[consumer][i]->sent.push_back(
          place_at(reply.list, 2 * i, static_cast<std::uint32_t>(consumer)));
    }
  }
}

void ClusterFinish::write(std::vector<Ending>& endings, const Ttl& ttl) {
  Parts parts(context_);
  std::vector<Ending*> asked;
  for (Ending& one : endings) {
    if (one.over || !one.leased) continue;
    const bool retry = one.finish->to == Finish::To::kRetrying;
    Call& call = parts.add(one.record, weight_of(*one.finish),
                           [](Call& begun) { begun.arguments.push_back(BytesView()); });
    call.keys.push_back(one.record);
    call.arguments.push_back(nonce_of(*one.finish->lease));
    call.arguments.push_back(ending_letter(one.finish->to));
    call.arguments.push_back(std::to_string(finish_flags(*one.finish)));
    call.arguments.push_back(retry ? std::to_string(one.till) : "0");
    call.arguments.push_back(ttl(*one.finish));
    call.arguments.push_back(ending_of(*one.finish));
    call.arguments.push_back(one.buried ? "L" : one.row.empty() ? "0" : "1");
    asked.push_back(&one);
  }
  const auto replies = context_.run(context_.on_cluster->write, parts.calls(), Loss::kInDoubt);
  parts.each_letter(replies, [&](std::size_t at, char said) {
    Ending& one = *asked[at];
    if (said == '0') one.applied = Applied::kLeaseLost;
    one.may_have_row = said == kHasRow;
  });
}

void ClusterFinish::settle(std::vector<Ending>& endings) {
  Parts parts(context_);
  std::vector<Ending> parked;
  Call unburied;
  unburied.keys = {context_.names.letters};
  unburied.arguments = {context_.names.prefix};
  for (Ending& one : endings) {
    const Finish::To to = one.finish->to;
    if (one.over) continue;
    const bool lost = one.applied == Applied::kLeaseLost;
    const bool ended = to == Finish::To::kCompleted || to == Finish::To::kDead;
    if (lost && !one.letter.empty()) unburied.arguments.push_back(one.letter);
    if (lost) {
      if (!one.row.empty()) one.how = "show";
    } else if (to == Finish::To::kNotStarted) {
      if (!one.ack.empty()) one.how = "back";
    } else if (one.leased && to == Finish::To::kParked) {
      if (!one.row.empty()) one.how = "park";
    } else if (one.leased && ended) {
      if (!one.ack.empty() || one.may_have_row) one.how = "go";
    } else if (!one.leased && !met_only(*one.finish)) {
      if (!one.ack.empty()) one.how = "go";
    }
    if (one.how == nullptr) continue;
    // A row that is found by its record has another number by now than the one that was taken.
    const bool by_record = one.how[0] == 's' || one.how[0] == 'p';
    Call& call = parts.add(one.rows, 0, [&](Call& begun) {
      begun.keys = {one.rows};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back(one.how);
    call.arguments.push_back(by_record || one.may_have_row ? one.id() : Bytes());
    call.arguments.push_back(by_record ? Bytes() : one.ack);
    call.arguments.push_back(by_record ? one.row : Bytes());
    if (one.how[0] != 'p') continue;
    parked.push_back(one);
    parked.back().ack.clear();
  }
  drop_left(context_.run(context_.on_cluster->settle, parts.calls(), Loss::kInDoubt));
  unpark(parked);
  take_back(endings);
  if (unburied.arguments.size() > 1) {
    context_.run_one(context_.on_cluster->unbury, unburied, Loss::kInDoubt);
  }
}

// Rows that are still held for records that have ended. Such a record may have been forgotten or
// unlocked, and be retrying, since it was written: its present row is needed then. So the record is
// looked at once more, and where it is over still, exactly the row that was found before goes, if
// nobody has touched it. An unlock of a dead record that comes in between holds its row again.
void ClusterFinish::drop_left(const std::vector<Reply>& settled) {
  constexpr std::size_t kWords = 3;
  std::vector<Ending> left;
  for (const Reply& reply : settled) {
    for (std::size_t at = 1; at + kWords <= reply.list.size(); at += kWords) {
      KeyId id;
      std::ranges::copy(reply.list[at].bytes, id.bytes.begin());
      Ending& one = left.emplace_back();
      one.record = context_.names.record(id);
      one.rows = context_.names.last_row(id.consumer());
      one.ack = reply.list[at + 1].bytes;
      one.row = reply.list[at + 2].bytes;
    }
  }
  if (left.empty()) return;
  const std::vector<Bytes> states = states_of(left);
  Parts parts(context_);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const char state = states[i].empty() ? ' ' : states[i].front();
    if (state != 'D' && state != 'X') continue;
    Call& call = parts.add(left[i].rows, 0, [&](Call& begun) {
      begun.keys = {left[i].rows};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back("drop");
    call.arguments.push_back(BytesView());
    call.arguments.push_back(left[i].ack);
    call.arguments.push_back(left[i].row);
  }
  context_.run(context_.on_cluster->settle, parts.calls(), Loss::kInDoubt);
}

// Takes back outgoing messages of entries whose lease was lost after all.
void ClusterFinish::take_back(const std::vector<Ending>& endings) {
  Parts parts(context_);
  for (const Ending& one : endings) {
    if (one.applied != Applied::kLeaseLost) continue;
    for (const RowPlace& place : one.sent)
      add_change(parts, context_.names, place, {"remove", "0", {}});
  }
  context_.run(context_.scripts.change, parts.calls(), Loss::kInDoubt);
}

void ClusterFinish::acknowledge(std::vector<Ending>& endings) {
  Parts parts(context_);
  std::vector<Ending*> asked;
  for (Ending& one : endings) {
    if (one.leased || !met_only(*one.finish) || one.ack.empty()) continue;
    Call& call = parts.add(one.rows, 0, [&](Call& begun) {
      begun.keys = {one.rows};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back(one.ack);
    asked.push_back(&one);
  }
  std::vector<Ending> met;
  auto replies = context_.run(context_.on_cluster->ack, parts.calls(), Loss::kInDoubt);
  parts.each_reply(replies, [&](std::size_t at, const Reply& said) {
    KeyId id;
    if (said.bytes.size() != id.bytes.size()) return;
    std::copy(said.bytes.begin(), said.bytes.end(), id.bytes.begin());
    asked[at]->record = context_.names.record(id);
    met.push_back(*asked[at]);
  });
  if (!met.empty()) settle_met(met);
}

// In the format of ClusterScripts::peek.
std::vector<Bytes> ClusterFinish::states_of(std::span<const Ending> endings) {
  Parts records(context_);
  for (const Ending& one : endings) {
    records.add(one.record, 0, [](Call&) {}).keys.push_back(one.record);
  }
  auto told = context_.run(context_.on_cluster->peek, records.calls(), Loss::kNothingDone);
  std::vector<Bytes> states(endings.size());
  records.each_reply(told,
                     [&](std::size_t at, Reply& said) { states[at] = std::move(said.bytes); });
  return states;
}

void ClusterFinish::unpark(std::span<const Ending> parked) {
  const std::vector<Bytes> states = states_of(parked);
  Parts parts(context_);
  for (std::size_t i = 0; i < parked.size(); ++i) {
    const char state = states[i].empty() ? ' ' : states[i].front();
    if (state != 'R' && state != 'C') continue;
    const Ending& one = parked[i];
    Call& call = parts.add(one.rows, 0, [&](Call& begun) {
      begun.keys = {one.rows};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back("unpark");
    call.arguments.push_back(one.id());
    call.arguments.push_back(one.ack);
    call.arguments.push_back(states[i].substr(1));
  }
  context_.run(context_.on_cluster->settle, parts.calls(), Loss::kInDoubt);
}

// Rows whose records know of them: the present state of the records decides.
void ClusterFinish::settle_met(std::vector<Ending>& met) {
  const std::vector<Bytes> states = states_of(met);
  failpoint::hit(context_.environment, failpoint::kRecorded);
  std::vector<Ending> parked;
  Parts parts(context_);
  for (std::size_t i = 0; i < met.size(); ++i) {
    const char state = states[i].empty() ? ' ' : states[i].front();
    const bool waits = state == 'R' || state == 'C';
    Call& call = parts.add(met[i].rows, 0, [&](Call& begun) {
      begun.keys = {met[i].rows};
      begun.arguments = {context_.names.prefix};
    });
    call.arguments.push_back(state == 'P' ? "park" : waits ? "wait" : "go");
    call.arguments.push_back(BytesView());
    call.arguments.push_back(met[i].ack);
    call.arguments.push_back(waits ? states[i].substr(1) : Bytes());
    if (state == 'P') parked.push_back(met[i]);
  }
  context_.run(context_.on_cluster->settle, parts.calls(), Loss::kInDoubt);
  unpark(parked);
}

}  // namespace semel::redis
