// The scripts that run on the server: each takes many keys and is one step for all others.
//
// They decide only what must be decided in that step: whether a key may be acquired, and whether a
// nonce holds its record. spi::decide_claim answers for keys that are not acquired.
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
  // `cluster`: then a consumer's rows are in one slot.
  Scripts(const std::string& clock, bool cluster);

  // Keys: consumers, numbers, ttls. Arguments: name, the first number to try, recipe hash, "1"
  // where a change is accepted, the greatest number, ttl in ms or empty. Answer: the number; 0
  // where the recipe changed.
  Script attach;
  // Keys: token, then the records. Arguments: lease in ms, "1" where results are wanted, a token
  // that must be exceeded, the life of the server, Instance::gone(); then for each record:
  // fingerprint, nonce and the key's text after its size, as one. Answer: the time in ms, then for
  // each record its token where it is made here, else as many of its bytes as the answer needs;
  // where all are made, only the first token.
  Script claim;
  // Keys: records. Arguments: lease in ms; then each one's nonce, as Instance::compared() gives it,
  // and behind it Instance::new_name_for(). Answer: "1" or "0" for each.
  Script renew;
  // Keys: records; for an entry without a lease any. Arguments: the prefix; then seven for each:
  // nonce, empty without a lease; D, R, P, X as in its bytes, N for not started or A for an ack
  // only; flags, of those below; delay in ms; ttl in ms or empty; ending_of(), and before it
  // note_of() after its size where the flags say so; Extra, or empty; and perhaps what
  // append_entries() adds. Answer: as renew, and "S" where an entry of a stream was acknowledged
  // too.
  Script finish;
  // Keys: records. Arguments: ttl in ms or empty; then each one's nonce and ending_of(), as one.
  // Answer: as renew, and "h" for a record that is left unchanged because a message is held for it.
  Script complete;
  // For a single server: the same, and behind it what append_entries() adds. Answer: as finish, and
  // "h" as there.
  Script complete_entries;
  // Keys: records. Arguments: ttl in ms or empty, how many records; then for each as in complete;
  // then for each lane with rows to remove: the beginning of its names, how many rows, and for each
  // its number and that of its record, from 1, or 0 for one without; then perhaps an empty one, and
  // what append_entries() adds. Answer: as finish; or only "h", where nothing is changed, and
  // finish must end all of the call.
  Script complete_rows;
  // Key: a record. Nonce, sized_entry(). Answer: 1, or 0 where the nonce does not hold it.
  Script keep_step;

  // The keys of the following scripts determine the slot: they begin all names of a consumer's
  // rows. The first argument is the prefix, the second the consumer.
  //
  // For each row: lane or empty, delay in ms, head, body. Answer for each: lane, number.
  Script append;
  // The most rows and bytes. Answer: the time in ms, then for each row lane, number, head and body.
  Script look;
  // Its name, the most rows and bytes, how long hidden in ms, "1" where lines count, the
  // concatenated names of takes whose answers were lost; then for each row returned by look: lane,
  // number, "1" and its line or empty, the line's lane. Answer: as look, but for a row of those
  // only its index among the arguments, negated.
  Script take;
  // Lane, cursor, the concatenated names of takes. Shows what they had taken. Answer: cursor.
  Script show_lost;
  // The most bytes in a line; then for each: lane, head, body. Answer: a letter for each, H, F or
  // U.
  Script hold_behind;
  // Instead of the consumer: release, hide or remove; a time in ms; Instance::begins_takes; then
  // for each row: consumer, lane, number. Answer: OK.
  Script change;
  // Answer: rows, and ms until the next one becomes visible, where that is known.
  Script depth;
  // Answer: the lines.
  Script lines;

  // Dead letters. The first argument is the prefix.
  //
  // Numbers. Answer for each: its head, or empty.
  Script letter_heads;
  // The number to continue after, the most letters, consumer or empty, "1" and the reason or empty,
  // "1" where headers and payloads are wanted. Answer: the number to continue after, or empty at
  // the end; then for each: number, head, origin, headers and payload.
  Script list_letters;
  // Keys: the records they belong to. Numbers. Answer: a letter for each: Y, D for completed, C for
  // a conflict, M for missing, A where it belongs to another record by now.
  Script replay;
  // Numbers. Answer: how many there were.
  Script discard;
  // Keys: the records of the letters to look at; for one without a record the name of all letters.
  // "1" to remove, else "0"; then for each: number, ms that it is kept for. Answer: a digit for
  // each, 1 where it is past its time, and removed where that was asked for.
  Script expire;
  // Without the prefix. Keys: the records of letters that are about to go; for each the letter's
  // fingerprint, and ms. A dead record that was kept for its letter expires after them.
  Script let_expire;
  // Key: the record. Number, fingerprints before and after, headers and payload before, and after.
  // Answer: a word, as Edited, or again.
  Script edit;
  // A record's id, a fingerprint of now, one of before its letter was edited. Answer: 1 where there
  // is such a letter.
  Script replaces;
  // For each: head, and the body of a row. Answer: how many were added.
  Script add;
  // Key: a record. Perhaps a note of giving up. Parked or dead → retrying, and its row is due.
  // Answer: 1, or 0 where it is in neither state.
  Script unlock;

  // Run markers. The first argument is the prefix, the second an instance.
  //
  // Process id, ms that a sign is valid, consumer, window, "1" where deaths are asked for, its
  // session. Answer: the largest window of those that died, or -1; the same again until it is
  // acknowledged.
  Script begin_run;
  // Consumer.
  Script acknowledge_death;
  // Consumer.
  Script end_run;
  // The instance may be empty. Ms that a sign is valid, its session. Answer: known or unknown,
  // Instance::gone(), then for each other instance: its name, its session, and for how many ms its
  // last sign is still valid, negative where that is over.
  Script sign;
  // Its session as it was. Reports its death, and frees nothing.
  Script doubt;
  // The same; the most ms that its sign may still be valid. Answer: 0 where it has another session
  // or a later sign by now, or is freed; else 1, then its consumers.
  Script declare;
  // Consumer, lane, cursor. Shows the rows it had taken. Answer: cursor, how many.
  Script show;
  // Its session as it was. Answer: whether it existed.
  Script forget_run;
  // Keys: the record, its count. Without arguments: returns the number; nil for a completed record.
  // Else the lowest and the highest number that it changes, the new one, ms until that expires.
  // Answer: the resulting number.
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
