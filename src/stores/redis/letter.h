// A dead letter as the bytes that stand under its name: semel:{store}letter:17, a hash of a head
// (m), which changes, how often that was written (t), the origin (o) of what it keeps, and headers
// and payload (b), both as in a row's body (held_rows.h), and the fingerprint that it had before it
// was first edited (e). All numbers are big-endian.
//
//   head: 1 version · 4 consumer · 4 replayed · 4 attempts · 6 first seen · 6 dead at · 16
//   fingerprint · 20 id of its record · identity, key, reason, each behind 4 bytes of its size ·
//   error
//
//   semel:{store}letter         the last number
//   semel:{store}letters        a sorted set of all
//   semel:{store}letter-ids     a hash: from identity and fingerprint to the number
//   semel:{store}letter-counts  a hash: how many each consumer has
//
// Identity: two letters with the same identity and fingerprint are one. It is the record's id;
// without a key the position; empty where there is neither.
#pragma once

#include <optional>
#include <string>

#include <semel/admin/records.h>

#include "stores/redis/held_rows.h"

namespace semel::redis {

struct Letter {
  ConsumerNumber consumer{};
  std::optional<KeyId> record;
  Bytes identity;
  DeadLetter told;  // without id and the consumer's name
};

Bytes identity_of(const Message& message, const Arrival* arrival);

Bytes head_of(const Letter& letter);
// The size of the headers, the headers and the payload.
Bytes content_of(const Headers& headers, BytesView payload);
// Without what it keeps. Throws core::Failure (R202, R210).
Letter letter_in(BytesView head);
// `content` may be empty: then headers and payload stay empty. Throws core::Failure (R202, R210).
Letter letter_of(BytesView head, BytesView origin, BytesView content);
// The record that a letter belongs to. Throws as letter_of.
std::optional<KeyId> record_in(BytesView head);
// For a letter that an operator adds from elsewhere.
Letter letter_of(const ForeignLetter& foreign, ConsumerNumber consumer);
Bytes origin_of(const DeadLetter& letter);

}  // namespace semel::redis
