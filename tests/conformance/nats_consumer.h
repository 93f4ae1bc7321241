// A consumer of a NATS stream on a live server.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sources/nats/make_nats_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/nats_server.h"
#include "tests/support/waiting.h"

namespace semel::conformance {

inline constexpr const char* kNatsDurable = "semel";

inline core::NatsSpec nats_spec_for(const std::string& stream) {
  core::NatsSpec spec;
  spec.address = core::read_nats_url(test::NatsServer::shared().url()).value();
  spec.stream = stream;
  spec.durable = kNatsDurable;
  spec.prefetch = 1'000;
  spec.declare = true;
  spec.ack_wait = 2s;
  return spec;
}

class NatsConsumer : public Receiver {
 public:
  explicit NatsConsumer(core::NatsSpec spec, bool in_order = false)
      : Receiver(nats::make_nats_source({std::move(spec), true, in_order}), 60s) {}

  // Receives until a notice contains the words; drops the messages that arrive meanwhile.
  bool tells_of(const std::string& words) {
    return test::comes_true([&] {
      const auto received = source().receive({});
      if (!received) return false;
      return std::ranges::any_of(received->notices, [&](const std::string& notice) {
        return notice.find(words) != std::string::npos;
      });
    });
  }
};

inline std::string nats_stream_of(std::size_t messages, const std::string& more = {}) {
  const auto& server = test::NatsServer::shared();
  const std::string stream = server.new_stream(more);
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < messages; ++i) bodies.push_back(fmt::format("{{\"n\":{}}}", i));
  server.publish_bodies(stream, bodies);
  return stream;
}

}  // namespace semel::conformance
