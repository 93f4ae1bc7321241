// Benchmarks that need processes: two consumers on one file, and the program itself.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace semel::bench {

// First argument of a process that run_pair starts: this same program, as one of the two.
inline constexpr char kPairMember[] = "--pair-member";

struct MemberRun {
  double rate = 0;    // messages per second
  long long sum = 0;  // of the amounts in them
};

// Two consumers on the store at `path`, for `seconds`.
std::pair<MemberRun, MemberRun> run_pair(const std::string& path, double seconds);
int run_pair_member(int argc, char** argv);

struct FileRun {
  double peak_mib = 0;
  double seconds = 0;
  long long sum = 0;  // of the amounts in the file
};

// `semel run` over a file of about `bytes`, on the business file at `path`.
FileRun run_file(const std::string& program, const std::string& folder, const std::string& path,
                 std::size_t bytes);

}  // namespace semel::bench
