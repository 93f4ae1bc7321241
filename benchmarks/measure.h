// Times, medians and the machine they were taken on.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace semel::bench {

// Nothing that was measured counts: says why and ends the program.
[[noreturn]] void give_up(const std::string& why);

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Processor seconds of the whole process: what it costs, whoever else is busy on the machine.
class ProcessorWatch {
 public:
  double seconds() const { return now() - begin_; }

 private:
  static double now();
  double begin_ = now();
};

// The value in the middle; of an even number the mean of both.
double median(std::vector<double> values);
// Half the distance from the smallest to the largest, as a part of the median.
double spread(const std::vector<double>& values);

// Processor, kernel, file system of `folder`, load, in one line each.
std::vector<std::string> machine(const std::string& folder);

}  // namespace semel::bench
