// A store of Semel's records in a directory of files, for the processes of one machine.
//
// It keeps records and nothing else: no messages, no dead letters, no transactions. So it serves
// semel::Guard, which keeps none either, and not a runner.
//
// A record is a file, written whole, synced and renamed into its place: whoever is killed, and
// whenever power is lost, it is the old one or the new one. One lock is over all of it: a call
// waits for the calls of others for a while, and then fails with kBlocked. All records of a batch
// are synced before the first of them takes its place, and each takes its place for itself: a power
// cut in between leaves some of them as they were, and the caller without an answer.
//
// A clock that is set while the store is open forgets nothing: purge fails until it is opened anew.
// One that was set before that is believed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <semel/environment.h>
#include <semel/records.h>
#include <semel/result.h>
#include <semel/store.h>

namespace directory_store {

struct Options {
  std::string path;                           // made where it is missing; on a disk of this machine
  semel::Environment* environment = nullptr;  // null: semel::system_environment()
  // The store's clock: all processes must have the same. Empty: the machine's.
  std::function<semel::StoreTime()> clock = {};
};

inline constexpr semel::StoreTraits kTraits{
    .name = "directory", .durable = true, .single_writer = true, .best_batch = 16};

[[nodiscard]] semel::Result<std::unique_ptr<semel::Store>> open(Options options);

}  // namespace directory_store
