#include "cli/demo/worker.h"

#include <vector>

namespace semel::cli::demo {

namespace {

std::string tally_of(const WorkerSpec& spec) { return spec.folder + "/" + spec.name + ".tally"; }

ProcessSpec process_of(const WorkerSpec& spec) {
  ProcessSpec process;
  process.program = kThisProgram;
  process.words = {"semel"};
  process.words.insert(process.words.end(), spec.command.begin(), spec.command.end());
  process.words.insert(process.words.end(), {"--tally", tally_of(spec)});
  process.log = spec.folder + "/" + spec.name + ".log";
  process.reads_stdin = spec.reads_stdin;
  return process;
}

}  // namespace

// The tally must exist before the process counts in it.
Worker::Worker(const WorkerSpec& spec) : Process(process_of(spec)), tally_(tally_of(spec)) {}

std::uint64_t Worker::ended() const noexcept {
  const TallyCounts& c = counts();
  return c.done.load() + c.duplicates.load() + c.others.load();
}

}  // namespace semel::cli::demo
