// Lock: whether a row that is read is locked until the transaction ends.
//
// All transactions lock in one order, so that no two deadlock:
//
//   1. the records that it changes, by their ids;
//   2. all held rows that it changes and that are in no line, by their numbers;
//   3. the consumers of those that are in lines, or come into one, by their numbers: a consumer's
//      lock covers all rows in its lines (HeldLines::lock);
//   4. everything else: those rows themselves, dead letters by their ids, steps, inbox rows.
//
// HeldRows::lock does 2 and 3. A transaction that changes several rows must know all of them before
// it changes the first one: a batch that removes a row from a line and then locks one in no line is
// in the wrong order. So is one that completes records together, and then finds that some of them
// have a held row, which it ends one by one: only if another takes these records over meanwhile may
// the two deadlock, and the server undoes one of them. A take looks for rows that others may be
// changing. It locks its consumer if it has lines, and skips every row that another has locked: it
// waits for none.
#pragma once

namespace semel::sql {

enum class Lock { kNone, kForUpdate };

}  // namespace semel::sql
