// The config of an exec handler: plain values, checked before any process is started.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace semel::core {

struct ExecSpec {
  // The program and its arguments; no shell reads them. A program without a slash is looked up in
  // PATH, one with a slash is a path.
  std::vector<std::string> command;
  std::chrono::milliseconds timeout{0};    // of one call; past it the command is asked to end
  std::chrono::milliseconds grace{5'000};  // after that request, until it is killed
  bool honours_key = false;  // declared: it does not repeat its effect for a SEMEL_KEY
  // An exit code without a meaning here leaves it open whether the effect was made (strategy
  // at_most_once).
  bool failure_is_doubt = false;
  std::size_t result_limit = 0;  // bytes of stdout that may become the result
  std::string consumer;          // for SEMEL_CONSUMER, and named in errors
  std::string source;            // for SEMEL_SOURCE
};

}  // namespace semel::core
