// The scripts of a Cluster, where a record, the rows that wait for it and its letter are in three
// slots: each does one part of a single step on a single server. cluster_finish.h and
// cluster_letters.h define their order.
#pragma once

#include <string>

#include "stores/redis/scripts.h"

namespace semel::redis {

struct ClusterScripts {
  explicit ClusterScripts(const std::string& clock);

  // Keys: records. Three arguments for each: nonce, "1" where a row is to be written for it, ms.
  // Answer for each: empty where the nonce does not hold it; else the time in that many ms, first
  // seen, "\1" where a row may exist, fingerprint and the key's text. Where a row is to be written,
  // the record notes from now on that one may exist.
  Script mark;
  // Keys: records. The first argument is empty; then seven for each, as for Scripts::finish, except
  // that a retry has its due time instead of the delay, and instead of Extra "1" where a row is
  // held, "L" where its letter is there.
  // Answer: a letter for each, 0 or 1 as there; h where it is done and a row may exist.
  Script write;
  // Keys: records. Answer for each: the letter of its state and in how many ms it is due, or empty.
  Script peek;
  // Key: a record. Its head as it was, "1" where a row is held, and perhaps a note of giving up.
  // Parked or dead → retrying, due now. Answer: 0 where it has another head.
  Script reopen;
  // Key: a record. Its head as it was, a fingerprint. Answer: as reopen.
  Script print;

  // Key: any of a consumer's rows. The first argument of these is the prefix.
  //
  // Six for each: the record's id, its due time, first seen, key, fingerprint, Extra; without a
  // record the id is empty, and the delay replaces the time. Answer for each: the number of the
  // held row; empty where there is none.
  Script hold;
  // Two for each: id, or empty; ack_of(). Answer for each: the body of the existing row.
  Script bodies;
  // The id of a record. The row that is held for it: lane, number, holder, flags, when it is due,
  // attempts, first seen, fingerprint or empty, key, and the time; an empty list where there is
  // none.
  Script linked;
  // Four for each: go, drop, back, park, show, wait or unpark; id, or empty; ack_of(); a row's
  // number, its holder and when it is due, or ms. Drop removes a row of which both are still so.
  // Unpark hides a parked row for that many ms, and leaves any other as it is. Answer: how many
  // rows were dropped, hidden by wait, or unparked; then, for each go, what it has left because it
  // may be held for a later life of the record: the id, and what drop needs of the row.
  Script settle;
  // One for each: ack_of(). Removes the row; but a row that is held for a record, and found by it,
  // stays, and the answer is the record's id.
  Script ack;
  // A letter's head, origin, headers and payload, in how many ms it becomes visible, the id of its
  // record or empty. Answer: lane, number.
  Script copy;

  // Key: any of the letters. The first argument of these is the prefix.
  //
  // Six for each: the record's id, first seen, key, fingerprint, body, Extra. Answer for each: the
  // number of the letter, where it is new.
  Script write_dead_letter;
  // Numbers. Removes the letters that were not written again since write_dead_letter wrote them.
  Script unbury;
  // Number.
  Script count_replay;
  // Number, fingerprints before and after, headers and payload before, and after; nothing of those:
  // would it do?
  // Answer: as Scripts::edit.
  Script edit;
};

}  // namespace semel::redis
