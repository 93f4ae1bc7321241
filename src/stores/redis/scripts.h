// The scripts that run on the server: each takes many keys and is one step for all others.
//
// They decide no more than has to be decided in that step: whether a key may be had, and whether a
// nonce holds its record. What a claim answers where it is not acquired, spi::decide_claim says.
#pragma once

#include <string>

#include "clients/redis/script.h"

namespace semel::redis {

// Microseconds since 1970, as a Lua expression.
inline constexpr const char* kServerClock =
    "(function() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end)()";

// The text of a script that knows the time and how a record begins.
std::string script_text(const std::string& clock, const std::string& body);

struct Scripts {
  // `cluster`: what waits for a consumer stands in one slot then.
  Scripts(const std::string& clock, bool cluster);

  // Keys: consumers, numbers. Arguments: name, the number to begin with, recipe hash, "1" where a
  // change is accepted, the greatest number. Answer: the number; 0 where the recipe changed.
  Script attach;
  // Keys: token, then the records. Arguments: lease in ms, "1" where results are wanted, a token
  // that must be passed, the life of the server, Instance::gone(); then of each record:
  // fingerprint, nonce and the key's text behind its size, as one. Answer: the time in ms, then of
  // each record its token where it is made here, else its bytes, as far as they tell what to
  // answer; where all are made, the first token alone.
  Script claim;
  // Keys: records. Arguments: lease in ms; then each one's nonce. Answer: "1" or "0" for each.
  Script renew;
  // Keys: records; of an entry without a lease any. Arguments: the prefix; then seven of each:
  // nonce, empty without a lease; D, R, P, X as in its bytes, N for not started or A for an ack
  // alone; flags, of those below; delay in ms; ttl in ms or nothing; ending_of(), and before it
  // note_of() behind its size where the flags say so; what Extra says, or nothing. Answer: as
  // renew.
  Script finish;
  // Keys: records. Arguments: ttl in ms or nothing; then each one's nonce and ending_of(), as one.
  // Answer: as renew, and "h" for one that is left alone, because a message is held for it.
  Script complete;
  // Keys: records. Arguments: ttl in ms or nothing, how many records; then of each as in complete;
  // then of each lane in which rows go: what its names begin with, how many rows, and of each its
  // number and that of its record, from 1, or 0 for one that goes without. Answer: as renew; or "h"
  // alone, where nothing is changed, and finish has to end all of the call.
  Script complete_rows;
  // Key: a record. Nonce, sized_entry(). Answer: 1, or 0 where the nonce does not hold it.
  Script keep_step;

  // The keys of what follows are those that a name in it begins with: all of a consumer's rows.
  // The first argument is the prefix, the second the consumer.
  //
  // Of each row: lane or nothing, delay in ms, head, body. Answer, of each: lane, number.
  Script append;
  // Number and bytes at most. Answer: the time in ms, then of each row lane, number, head and body.
  Script look;
  // Instance, number and bytes at most, how long hidden in ms, "1" where lines count; then of each
  // row that look has given: lane, number, "1" and its line or nothing, the line's lane. Answer: as
  // look, but for a row of those only where it stands among the arguments, below zero.
  Script take;
  // Bytes in a line at most; then of each: lane, head, body. Answer: a letter for each, H, F or U.
  Script hold_behind;
  // Instead of the consumer: release, hide or remove; a time in ms; then of each row: consumer,
  // lane, number. Answer: OK.
  Script change;
  // Answer: rows, and ms until the next one shows, where that is known.
  Script depth;
  // Answer: the lines.
  Script lines;

  // Dead letters. The first argument is the prefix.
  //
  // Numbers. Answer: of each its head, or nothing.
  Script letter_heads;
  // The number they stand behind, how many at most, consumer or nothing, "1" and the reason or
  // nothing, "1" where headers and payloads are wanted. Answer: the number to go on behind, or
  // nothing at the end; then of each: number, head, origin, headers and payload.
  Script list_letters;
  // Keys: the records they belong to. Numbers. Answer: a letter for each: Y, D for completed, C for
  // a conflict, M for missing, A where it belongs to another record by now.
  Script replay;
  // Numbers. Answer: how many there were.
  Script discard;
  // Keys: the records they belong to, of each that is looked at; the name of all letters for one
  // without. "1" to remove, else "0"; then of each: number, ms that it is kept for. Answer: a digit
  // for each, 1 where it is past its time, and removed where that was asked for.
  Script expire;
  // Key: the record. Number, fingerprints before and after, headers and payload before, and after.
  // Answer: a word, as Edited, or again.
  Script edit;
  // A record's id, a fingerprint of now, one of before its letter was edited. Answer: 1 where there
  // is such a letter.
  Script replaces;
  // Of each: head, and the body of a row. Answer: how many were added.
  Script add;
  // Key: a record. Perhaps a note of giving up. It goes from parked or dead to retrying, and what
  // it keeps is due. Answer: 1, or 0 where it is in no such state.
  Script unlock;

  // Who runs. The first argument is the prefix, the second an instance.
  //
  // Process id, ms that a sign holds for, consumer, window, "1" where deaths are asked for, its
  // session. Answer: the largest window of those that died, or -1; the same again until it is
  // acknowledged.
  Script begin_run;
  // Consumer.
  Script acknowledge_death;
  // Consumer.
  Script end_run;
  // The instance may be empty. Ms that a sign holds for, its session. Answer: known or unknown,
  // Instance::gone(), then of each other instance: its name, its session, and for how many ms its
  // last sign still holds, negative where that is over.
  Script sign;
  // Its session as it was. Deaths are told of it, and nothing is freed.
  Script doubt;
  // The same. Answer: 0 where it has another session by now, or is freed; else 1, then its
  // consumers.
  Script declare;
  // Consumer, lane, cursor. Shows the rows it had. Answer: cursor, how many.
  Script show;
  // Its session as it was. Answer: whether it was there.
  Script forget_run;
  // Keys: the record, its count. Without arguments: what is kept; nil of a completed one. Else the
  // lowest and the highest number that it changes, the new one, ms until that is forgotten. Answer:
  // what is kept then.
  Script crashes;

 private:
  explicit Scripts(const class ScriptMaker& make);
};

// lua::kRows for a server or a Cluster.
std::string row_text(bool cluster);

inline constexpr unsigned kFinishUnknown = 1;
inline constexpr unsigned kFinishUncounted = 2;
inline constexpr unsigned kFinishGivesUp = 4;

}  // namespace semel::redis
