// A store of Semel's records in a directory of files, for the processes of one machine.
//
// It keeps records and nothing else: no messages, no dead letters, no transactions. So it serves
// semel::Guard, which keeps none either, and not a runner.
//
// A record is a file, written whole, synced and renamed into its place: whoever is killed, and
// whenever power is lost, it is the old one or the new one. One lock is over all of it: a call
// waits for the calls of others for a while, and then fails with kBlocked. A batch is one commit: a
// file that names its records takes its place before the first of these does, and whoever has the
// lock next makes what a process that was killed has left of it.
//
// A clock that is set while the store is open forgets nothing: purge fails until it is opened anew.
// One that was set back before that forgets nothing until it is past the latest time by which the
// store has forgotten. One that was set forward before that is believed.
//
// Each file begins with the version of the store that wrote it; no other reads it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <semel/admin/records.h>
#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/store.h>

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
