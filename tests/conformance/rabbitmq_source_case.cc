// RabbitMQ joins the source suite, on a real broker; and what only a source of its kind does.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <set>
#include <thread>

#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/rabbitmq_server.h"

namespace semel::conformance {
namespace {

using test::RabbitmqServer;

core::RabbitmqSpec spec_for(const std::string& queue) {
  core::RabbitmqSpec spec;
  spec.address = core::read_amqp_url(RabbitmqServer::shared().url()).value();
  spec.queue = queue;
  spec.prefetch = 1'000;
  return spec;
}

// Connects, and waits until what is there has come.
void wait_until_it_has_come(Source& source) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  for (bool told = false; std::chrono::steady_clock::now() < end;) {
    ASSERT_TRUE(source.receive({0, 1}).has_value());
    pollfd entry{source.wakeup().fd, POLLIN, 0};
    if (::poll(&entry, 1, told ? 150 : 1'000) > 0) {
      told = true;
    } else if (told) {
      break;
    }
  }
}

class RabbitmqPlace final : public SourcePlace {
 public:
  explicit RabbitmqPlace(const std::string& type)
      : queue_(RabbitmqServer::shared().new_queue(type)) {}
  ~RabbitmqPlace() override { RabbitmqServer::shared().delete_queue(queue_); }

  void add(const std::vector<Bytes>& payloads) override {
    added_ = added_ || !payloads.empty();
    RabbitmqServer::shared().publish_bodies(queue_, payloads);
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    auto source = rabbitmq::make_rabbitmq_source({spec_for(queue_), false});
    if (added_) wait_until_it_has_come(*source);
    return source;
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }

 private:
  const std::string queue_;
  bool added_ = false;
};

SourceCase rabbitmq_case(const std::string& type) {
  return {"rabbitmq_" + type,
          [type] { return std::unique_ptr<SourcePlace>(new RabbitmqPlace(type)); }};
}

INSTANTIATE_TEST_SUITE_P(Rabbitmq, SourceSuite,
                         testing::Values(rabbitmq_case("quorum"), rabbitmq_case("classic")),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
