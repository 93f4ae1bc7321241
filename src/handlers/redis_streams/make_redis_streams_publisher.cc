#include "handlers/redis_streams/make_redis_streams_publisher.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "clients/redis/url.h"
#include "handlers/redis_streams/answers.h"
#include "handlers/redis_streams/publisher.h"

namespace semel::redis_streams {

namespace {

Result<void> check_spec(const core::RedisStreamsPublishSpec& spec) {
  const auto refuse = [](std::string message, std::string hint) {
    return failure({ErrorKind::kRejected, "R255", std::move(message), std::move(hint)});
  };
  if (const auto flaw = core::redis_name_flaw(spec.stream)) {
    return refuse(fmt::format("the stream \"{}\" {}", spec.stream, *flaw), "stream: orders");
  }
  if (const auto flaw = core::redis_name_flaw(spec.payload)) {
    return refuse(fmt::format("the payload's field \"{}\" {}", spec.payload, *flaw),
                  "payload: data");
  }
  if (spec.max_length && *spec.max_length < 1) {
    return refuse("a stream cannot have fewer than one entry", "max_length: 100000");
  }
  return {};
}

}  // namespace

Result<AsyncHandler> make_redis_streams_publisher(core::RedisStreamsPublishSpec spec,
                                                  Environment& environment) {
  if (auto checked = check_spec(spec); !checked) return failure(std::move(checked.error()));
  auto target = redis::read_target(spec.url);
  if (!target) return failure(as_of_handler(std::move(target.error())));
  auto publisher =
      std::make_shared<StreamPublisher>(std::move(spec), *std::move(target), environment);
  return AsyncHandler([publisher = std::move(publisher)](
                          const Message& message, const Attempt& attempt, Completion completion) {
    publisher->begin(message, attempt, std::move(completion));
  });
}

}  // namespace semel::redis_streams
