// Lock: whether a row that is read is kept from all others until the transaction ends.
//
// A transaction locks in one order, so that no two wait for each other:
//
//   1. the records that it changes, by their ids;
//   2. all held rows that it changes and that are in no line, by their numbers;
//   3. the consumers of those that are in lines, or come into one, by their numbers: the lock of a
//      consumer stands for all rows in its lines (HeldLines::lock);
//   4. everything else: those rows themselves, dead letters by their ids, steps, rows of the inbox.
//
// HeldRows::lock does 2 and 3. Where a transaction changes several rows it has to know all of them
// before it changes the first one: a batch that removes a row from a line and then locks one in
// no line is in the wrong order. So is one that completes records together, and finds then that
// some of them have a held row, which it ends one by one: only where another takes these records
// over meanwhile may each wait for the other, and the server undoes one of them. A take looks for
// rows where others work. It locks its consumer if it has lines, and passes by every row that
// another has locked: it waits for none.
#pragma once

namespace semel::sql {

enum class Lock { kNone, kForUpdate };

}  // namespace semel::sql
