// What the checks of one consumer share.
#pragma once

#include <string>
#include <string_view>

#include "config/build.h"
#include "config/config.h"

namespace semel::config {

// One consumer, its view and where to report.
struct Check {
  const Config& config;
  const ConsumerConfig& consumer;
  const View& view;
  Report& report;

  std::string path(std::string_view name) const { return view.path(name); }

  // A warning that the consumer does not accept.
  Diagnostic* warn(std::string_view code, const Place& place, std::string path,
                   std::string message) const {
    if (consumer.accept.contains(std::string(code))) return nullptr;
    return &report.warning(code, place, std::move(path), std::move(message));
  }
};

// What is kept for later, or called outside, and how long it must outlive the process.
void check_defer(const Check& check);
void check_fence(const Check& check);
void check_remote(const Check& check);
// A consumer that is claimed says nothing of work.
void check_claimed(const Check& check);

}  // namespace semel::config
