// A consumer of an SQS queue, for the cases of a live server and of one that is played.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "sources/sqs/make_sqs_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/waiting.h"

namespace semel::conformance {

// By default messages stay hidden for longer than any pause of this machine.
inline core::SqsSpec sqs_at(const std::string& url, std::chrono::seconds visibility = 60s) {
  core::SqsSpec spec;
  spec.queue = core::read_sqs_url(url).value();
  spec.region = "local";
  spec.keys = {"AKIDEXAMPLE", "secret", {}};
  spec.prefetch = 1'000;
  spec.visibility = visibility;
  return spec;
}

class SqsConsumer : public Receiver {
 public:
  explicit SqsConsumer(core::SqsSpec spec)
      : Receiver(sqs::make_sqs_source({std::move(spec), true, 3}), 60s) {}

  // The first error.
  Error first_error() {
    Error error;
    test::comes_true([&] {
      const auto received = source().receive({});
      if (received) return false;
      error = received.error();
      return true;
    });
    return error;
  }
  // Receives until a notice contains this text; false if none does.
  bool is_told(std::string_view text) {
    return test::comes_true([&] {
      const auto received = source().receive({.messages = 0});
      if (!received) return false;
      for (const std::string& notice : received->notices) told_ += notice + '\n';
      return told_.find(text) != std::string::npos;
    });
  }
  const std::string& told() const { return told_; }
  std::int64_t figure(std::string_view name) {
    for (const SourceFigure& figure : source().figures()) {
      if (figure.name == name) return figure.value;
    }
    return 0;
  }

 private:
  std::string told_;
};

}  // namespace semel::conformance
