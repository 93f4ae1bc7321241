// A benchmark's output: a table for people, one JSON document for programs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/measure.h"

namespace semel::bench {

enum class Length {
  kSmoke,  // every case once, as short as it can be: whether all sides do their work
  kQuick,
  kFull,
};

struct Options {
  Length length = Length::kFull;
  bool json = false;
  std::string folder;                  // where data goes
  std::string program;                 // the semel program, where the benchmark runs it
  std::vector<std::string> only;       // cases whose names begin so; empty: all
  std::optional<std::size_t> preload;  // records that are there before; none: as the case has them

  bool smoke() const { return length == Length::kSmoke; }
  template <class T>
  T pick(T smoke, T quick, T full) const {
    return length == Length::kSmoke ? smoke : length == Length::kQuick ? quick : full;
  }
};

// Refuses what it does not know, with the usage, and exits with 64.
Options parse_options(int argc, char** argv);
// Runs `benchmark` with the options of the command line and returns main's exit status. An
// exception ends the process like give_up().
int run_benchmark(int argc, char** argv, const std::function<void(const Options&)>& benchmark);

// One side of a case: a run that yields a rate per second, and gives up unless its work is done.
using Side = std::function<double()>;

struct Case {
  std::string name;
  std::size_t batch = 0;
  Side raw;  // empty: this question has no such side
  Side naive;
  Side semel;
  std::string what;  // said beside the name in the table
};

class Report {
 public:
  explicit Report(Options options) : options_(std::move(options)) {}

  // Prints machine, data folder and load, then `lines`.
  void header(const std::vector<std::string>& lines);
  // Runs the sides in turn, several rounds, and keeps medians.
  void run(const Case& measured, std::size_t rounds);
  // For what is no rate: a number as it stands.
  void add(const std::string& name, std::size_t batch, std::optional<double> raw,
           std::optional<double> semel, std::optional<double> of_raw, const std::string& what);
  // Prints the document if it was asked for. Gives up if no case ran.
  void finish() const;

  bool wanted(const std::string& name) const;

 private:
  struct Row {
    std::string name;
    std::size_t batch = 0;
    std::optional<double> raw, naive, semel, of_raw, over_naive;
  };
  void print_titles();
  void print(const Row& row, const std::string& note);

  Options options_;
  const Stopwatch watch_;
  bool titled_ = false;
  std::vector<Row> rows_;
};

}  // namespace semel::bench
