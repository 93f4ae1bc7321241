#include "stores/redis/finisher.h"

#include <algorithm>

#include <semel/spi/finish_plan.h>

#include "stores/redis/byte_reader.h"
#include "stores/redis/held_rows.h"
#include "stores/redis/journal.h"
#include "stores/redis/letter.h"
#include "stores/redis/record.h"

namespace semel::redis {
namespace {

bool keeps(Finish::To to) {
  return to == Finish::To::kRetrying || to == Finish::To::kParked || to == Finish::To::kDead;
}

bool gives_up(const Finish& finish) {
  return finish.giving_up &&
         (finish.to == Finish::To::kRetrying || finish.to == Finish::To::kParked);
}

}  // namespace

char ending_letter(Finish::To to) {
  switch (to) {
    case Finish::To::kCompleted:
      return 'D';
    case Finish::To::kRetrying:
      return 'R';
    case Finish::To::kParked:
      return 'P';
    case Finish::To::kDead:
      return 'X';
    case Finish::To::kAckOnly:
      return 'A';
    case Finish::To::kNotStarted:
      break;
  }
  return 'N';
}

Bytes ack_of(const RowPlace& place) {
  Bytes bytes;
  append_number(bytes, place.consumer, 4);
  append_number(bytes, place.lane, 1);
  bytes += place.number_text();
  return bytes;
}

Bytes ack_of(const Finish& finish) {
  const auto place = finish.ack ? place_of(*finish.ack) : std::nullopt;
  return place ? ack_of(*place) : Bytes();
}

BytesView nonce_of(const Lease& lease) {
  return {reinterpret_cast<const char*>(lease.nonce.bytes.data()), lease.nonce.bytes.size()};
}

Bytes extra_of(const Finish& finish, bool sent_with_it) {
  const Message* kept = keeps(finish.to) ? finish.keep : nullptr;
  const Bytes ack = ack_of(finish);
  Bytes extra;
  // A row held for a dead record becomes its letter.
  const bool may_bury = finish.to == Finish::To::kDead;
  const bool sends = sent_with_it && !finish.outgoing.empty();
  if (finish.lease && kept == nullptr && ack.empty() && !may_bury && !sends) return extra;
  append_sized(extra, ack);
  NewRow row;
  std::string consumer, lane;
  Bytes identity, record;
  if (kept != nullptr) {
    row = row_of(*kept, finish.arrival);
    consumer = std::to_string(static_cast<std::uint32_t>(kept->key().id.consumer()));
    lane = std::to_string(row.lane);
    identity = identity_of(*kept, finish.arrival);
    if (!kept->key().text.empty()) record = kept->key().id.view();
  }
  const bool tried = finish.arrival != nullptr && finish.arrival->since_first;
  append_sized(extra, consumer);
  append_sized(extra, lane);
  append_sized(extra, row.head);
  append_sized(extra, row.body);
  append_sized(extra, std::to_string(std::max(finish.attempts, 0)));
  append_sized(extra, tried ? std::to_string(finish.arrival->since_first->count()) : "");
  append_sized(extra, finish.reason);
  append_sized(extra, finish.error);
  append_sized(extra, identity);
  append_sized(extra, record);
  if (!sends) return extra;
  for (const Outgoing& one : finish.outgoing) {
    append_sized(extra, std::to_string(static_cast<std::uint32_t>(one.to)));
    for (const Bytes& word : words_of(one.to, one.message)) append_sized(extra, word);
  }
  return extra;
}

bool is_leased(const Finish& finish) noexcept {
  return finish.lease && finish.to != Finish::To::kAckOnly;
}

unsigned finish_flags(const Finish& finish) noexcept {
  return (finish.unknown ? kFinishUnknown : 0) | (finish.counted ? 0 : kFinishUncounted) |
         (gives_up(finish) ? kFinishGivesUp : 0);
}

Bytes ending_of(const Finish& finish) {
  const bool completed = finish.to == Finish::To::kCompleted;
  Bytes ending;
  if (gives_up(finish)) append_sized(ending, note_of(*finish.giving_up));
  return ending +
         ending_of(finish.reason, finish.error, completed ? BytesView(finish.result) : BytesView());
}

void append_finish(Call& call, const Names& names, const Finish& finish, BytesView ttl) {
  const bool leased = is_leased(finish);
  call.keys.push_back(leased ? names.record(finish.lease->key) : names.token_of({}));
  call.arguments.push_back(leased ? nonce_of(*finish.lease) : BytesView());
  call.arguments.push_back(ending_letter(finish.to));
  call.arguments.push_back(std::to_string(finish_flags(finish)));
  call.arguments.push_back(std::to_string(wait_of(finish.delay)));
  call.arguments.push_back(ttl);
  call.arguments.push_back(leased ? ending_of(finish) : Bytes());
  call.arguments.push_back(extra_of(finish, true));
}

bool only_completes(const Finish& finish) noexcept {
  return finish.to == Finish::To::kCompleted && finish.lease && !finish.ack &&
         finish.outgoing.empty();
}

void append_completion(Call& call, const Names& names, const Finish& finish) {
  call.keys.push_written([&](Bytes& word) { names.append_record(word, finish.lease->key); });
  call.arguments.push_written([&](Bytes& word) {
    word += nonce_of(*finish.lease);
    word += ending_of(finish.reason, finish.error, finish.result);
  });
}

std::size_t weight_of(const Finish& finish) noexcept {
  std::size_t bytes = finish.result.size() + finish.error.size() + finish.reason.size();
  if (finish.giving_up) bytes += finish.giving_up->reason.size() + finish.giving_up->error.size();
  for (const Outgoing& one : finish.outgoing) bytes += one.message.payload.size();
  if (finish.keep == nullptr || !keeps(finish.to)) return bytes;
  bytes += finish.keep->payload().size();
  for (const Header& header : finish.keep->headers()) {
    bytes += header.name.size() + header.value.size();
  }
  return bytes;
}

// A record that is evicted is handled again; a message would be lost.
void need_no_messages(std::span<const Finish> batch) {
  if (std::ranges::none_of(batch, spi::touches_messages)) return;
  core::fail({ErrorKind::kRejected, "R267",
              "the Redis server may evict messages: none is entrusted to it",
              "set maxmemory-policy to noeviction, or to one that evicts only what expires"});
}

// On a Cluster outgoing messages are sent to their own nodes, each as a value.
void need_room(const StoreContext& context, std::span<const Finish> batch) {
  for (const Finish& one : batch) {
    std::size_t bytes = 0, messages = 1;
    if (one.keep != nullptr) bytes = bytes_of(one.keep->payload(), one.keep->headers());
    for (const Outgoing& outgoing : one.outgoing) {
      const std::size_t its_own = bytes_of(outgoing.message.payload, outgoing.message.headers);
      if (context.names.cluster) {
        context.need_room(its_own);
      } else {
        bytes += its_own;
        ++messages;
      }
    }
    context.need_room(std::max(bytes, one.result.size()), messages);
  }
}

std::span<const Finish> compared(const Instance& instance, std::span<const Finish> batch,
                                 std::vector<Finish>& kept) {
  const auto is_former = [&](const Finish& one) {
    return one.lease && !instance.new_name_for(one.lease->nonce).empty();
  };
  if (std::ranges::none_of(batch, is_former)) return batch;
  kept.assign(batch.begin(), batch.end());
  for (Finish& one : kept) {
    if (one.lease) one.lease->nonce = instance.compared(one.lease->nonce);
  }
  return kept;
}

}  // namespace semel::redis
