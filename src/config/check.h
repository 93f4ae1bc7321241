// Shared by the checks of one consumer.
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

  // Reports a warning, unless the consumer accepts it; null then.
  Diagnostic* warn(std::string_view code, const SourceLocation& place, std::string path,
                   std::string message) const {
    if (consumer.accept.contains(std::string(code))) return nullptr;
    return &report.warning(code, place, std::move(path), std::move(message));
  }
};

// Checks deferring and outside calls: how long their messages must outlive the process.
void check_defer(const Check& check);
void check_fence(const Check& check);
void check_remote(const Check& check);
// A consumer that clients claim from must not describe work.
void check_claimed(const Check& check);

}  // namespace semel::config
