// The scripts of a Cluster, where a record, what waits for it and its letter stand in three slots:
// each of them does one part of what is one step on a single server. cluster_finish.h and
// cluster_letters.h say in which order.
#pragma once

#include <string>

#include "stores/redis/scripts.h"

namespace semel::redis {

struct ClusterScripts {
  explicit ClusterScripts(const std::string& clock);

  // Keys: records. Three arguments of each: nonce, "1" where a row is to be put for it, ms. Answer,
  // of each: nothing where the nonce does not hold it; else the time in so many ms, first seen,
  // "\1" where a row may be there, fingerprint and the key's text. Where a row is to be put the
  // record says from now on that one may be there.
  Script mark;
  // Keys: records. The first argument is nothing; then seven of each, as Scripts::finish; but in
  // the delay's place of a retry stands when it is due, and in that of Extra whether a row is held.
  // Answer: a letter of each, 0 or 1 as there; h where it is done and there may be a row.
  Script write;
  // Keys: records. Answer, of each: the letter of its state and in how many ms it is due, or
  // nothing.
  Script peek;
  // Key: a record. Its head as it was, "1" where a row is held, and perhaps a note of giving up.
  // Parked or dead → retrying, due now.
  // Answer: 0 where it has another head.
  Script reopen;
  // Key: a record. Its head as it was, a fingerprint. Answer: as reopen.
  Script print;

  // Key: any of a consumer's rows. The first argument of these is the prefix.
  //
  // Six of each: the record's id, when it is due, first seen, key, fingerprint, what Extra says; of
  // one without a record the id is nothing, and for the time stands the delay. Answer, of each: the
  // number of the row that is held; nothing where there is none.
  Script hold;
  // Two of each: id, or nothing; ack_of(). Answer, of each: the body of the row there is.
  Script bodies;
  // Four of each: go, back, park, show, wait or unpark; id, or nothing; ack_of(); a row's number,
  // or ms. Unpark hides for so many ms a row that is parked, and leaves any other as it is. Answer:
  // how many rows were unparked.
  Script settle;
  // One of each: ack_of(). Removes the row; but of one that is held for a record, and found by it,
  // the answer is the record's id, and it stays.
  Script ack;
  // A letter's head, origin, headers and payload, in how many ms it shows, the id of its record or
  // nothing. Answer: lane, number.
  Script copy;

  // Key: any of the letters. The first argument of these is the prefix.
  //
  // Six of each: the record's id, first seen, key, fingerprint, body, what Extra says. Answer, of
  // each: the number of the letter, where it is new.
  Script bury;
  // Numbers. Removes the letters that nobody has written since bury wrote them.
  Script unbury;
  // Number.
  Script count_replay;
  // Number, fingerprints before and after, headers and payload before, and after; nothing of those:
  // would it do?
  // Answer: as Scripts::edit.
  Script edit;
};

}  // namespace semel::redis
