// Benchmarks that need processes: two consumers on one file, and the program itself.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace semel::bench {

// First argument of a process that run_pair starts: this same program, as one of the two.
inline constexpr char kPairMember[] = "--pair-member";

// Two consumers on the store at `path`, for `seconds`. Yields the messages per second of each.
std::pair<double, double> run_pair(const std::string& path, double seconds);
int run_pair_member(int argc, char** argv);

struct FileRun {
  double peak_mib = 0;
  double seconds = 0;
};

// `semel run` over a file of about `bytes`, on the business file at `path`.
FileRun run_file(const std::string& program, const std::string& folder, const std::string& path,
                 std::size_t bytes);

}  // namespace semel::bench
