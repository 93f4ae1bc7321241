// The Lua programs of the store: each constant is the text of the file of its name in scripts/,
// which the build embeds (cmake/SemelEmbed.cmake).
//
// Scripts are composed of these texts: definitions of a text are known to later texts. scripts.h,
// cluster_script.h and inspector_scripts.h describe keys, arguments and replies. Offsets within a
// record are those of record.h, within the head of a row those of held_rows.h, within a dead letter
// those of letter.h, within a journal those of journal.h.
#pragma once

#include <span>

namespace semel::redis::lua {

struct Source {
  const char* name;
  const char* text;
};
// Every file of scripts/.
std::span<const Source> sources() noexcept;

// First in a script that needs the time: `micros` and `now`, in milliseconds. The expression that
// reads the clock replaces CLOCK_MICROS.
extern const char* const kClock;
// Functions for records, after kClock.
extern const char* const kRecords;

extern const char* const kAttach;
extern const char* const kAuditAppend;
extern const char* const kAuditEnd;
extern const char* const kAuditList;
extern const char* const kCrashes;
extern const char* const kRenew;

// Claims. kClaimBefore runs once for all calls of a bundle, kClaim for each: see Script.
extern const char* const kClaimBefore;
extern const char* const kClaim;

// Completions, which most finishes are. They do the same as kFinish in a fraction of its time:
// kFinish first creates its functions, and these need none. kCompleteBefore and kComplete are a
// bundle, for completions without a row; kCompleteRows is for completions and the rows removed with
// them. The answers are given by what comes behind them and behind kFinish: by kSettleEntries,
// which first acknowledges entries of streams, or as they are.
extern const char* const kCompleteBefore;
extern const char* const kComplete;
extern const char* const kCompleteRows;
extern const char* const kSettleEntries;

// The journal of a record's steps, after kRecords.
extern const char* const kJournal;
extern const char* const kKeepStep;

// Held rows, after kRecords; the prefix of all names is the first argument. An expression for the
// rest of a lane's name replaces LANE_NAME.
//
// A row is in one lane, and the braces in the lane's name choose its node, as those of a record
// choose the record's. A script that changes a record and a row in one step needs both on one node.
// On a Cluster the same functions run in stages, each on its node: first the rows and letters that
// are kept, then the record, then the rows that are removed. A stop in between leaves one row too
// many, which meets its record when it comes, and never a row too few.
extern const char* const kRows;
extern const char* const kAppend;
extern const char* const kHoldBehind;
extern const char* const kChange;
extern const char* const kDepth;
extern const char* const kLines;

// Reads and takes held rows, after kClock. Creating functions for each row would take most of their
// time: rows of one lane are read and written by one command. kDue comes before the others.
extern const char* const kDue;
extern const char* const kLook;
extern const char* const kTake;
// After kRows.
extern const char* const kShowLost;

// Dead letters, after kRows.
extern const char* const kLetters;
extern const char* const kLetterHeads;
extern const char* const kListLetters;
extern const char* const kDiscard;
extern const char* const kExpire;
// After kRecords. A dead record with a journal has no expiry as long as its letter may be replayed.
extern const char* const kLetExpire;
// Behind it kEdit and kClusterEdit.
extern const char* const kEditParts;
extern const char* const kEdit;
extern const char* const kReplaces;
extern const char* const kAdd;
// Reopens a closed record, after kLetters and kJournal; the others come after it.
extern const char* const kReopen;
extern const char* const kReplay;
extern const char* const kUnlock;

// A finish: records, rows and letters of a batch in one step. kFinishPlain comes after kJournal. It
// finishes entries that touch only their records, which most do, before the functions for rows are
// created; creating those takes as long as finishing a record. Then come kRows, kLetters,
// kFinishParts (the parts of a Finish about rows and letters) and kFinish.
extern const char* const kFinishPlain;
extern const char* const kFinishParts;
extern const char* const kFinish;

// The parts of a finish on a Cluster. kClusterMark, kClusterPeek, kClusterReopen and kClusterPrint
// are for records; kClusterWrite comes after kFinishPlain; the others come after kFinishParts and
// kClusterFind.
extern const char* const kClusterMark;
extern const char* const kClusterWrite;
extern const char* const kClusterPeek;
extern const char* const kClusterReopen;
extern const char* const kClusterPrint;
extern const char* const kClusterFind;
extern const char* const kClusterHold;
extern const char* const kClusterBodies;
extern const char* const kClusterLinked;
extern const char* const kClusterSettle;
extern const char* const kClusterAck;
extern const char* const kClusterCopy;
extern const char* const kClusterBury;
extern const char* const kClusterUnbury;
extern const char* const kClusterCountReplay;
extern const char* const kClusterEdit;

// Run markers, behind kRows. kDeaths comes before the last three.
//
//   semel:{store}runs     a hash: each instance that runs consumers, and its process id
//   semel:{store}run:…    a hash for each instance: its consumers and their windows
//   semel:{store}sessions a hash: the connection that each instance keeps as long as it lives: the
//                         run id of the server, a blank and the connection's id
//   semel:{store}alive:…  for each instance; expires unless the instance gives a sign
//   semel:{store}gone     a sorted set: instances by when they were found to be gone
//   semel:{store}died     a hash: consumers that have not been told yet of a death, and the largest
//                         window among those deaths
extern const char* const kBeginRun;
extern const char* const kAcknowledgeDeath;
extern const char* const kEndRun;
extern const char* const kSign;
extern const char* const kShow;
extern const char* const kDeaths;
extern const char* const kDoubt;
extern const char* const kDeclare;
extern const char* const kForgetRun;

// Gates, after the time in `now`. kGate comes before the others.
extern const char* const kGate;
extern const char* const kGateState;
extern const char* const kGateShut;
extern const char* const kGateOpen;
extern const char* const kGateResume;

// An operator's changes to a record. kInspect reads it; kStands ends a script whose caller saw
// another one; kMayForget refuses, kForgetRecord and kForgetRow remove. kForgetRow, after kRows,
// needs all of them on one node.
extern const char* const kRead;
extern const char* const kInspect;
extern const char* const kStands;
extern const char* const kMayForget;
extern const char* const kUnlockSeen;
extern const char* const kForgetRecord;
extern const char* const kForgetRow;
extern const char* const kSeize;
// For verify, after kRows.
extern const char* const kCheckHeld;
extern const char* const kCheckLinked;
extern const char* const kCheckRows;

// A reserved name; neither time nor prefix.
extern const char* const kReleaseName;
extern const char* const kRenewName;

}  // namespace semel::redis::lua
