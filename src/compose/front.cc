#include "compose/front.h"

#include <utility>
#include <variant>

#include <semel/front.h>
#include <semel/redis.h>

namespace semel::compose {

Result<void> add_front(const ConsumerBuild& build, ConsumerNumber number,
                       engine::EngineParts& parts) {
  const auto& config = build.consumer->front;
  if (!config || build.options->dry_run) return {};
  strategies::FrontOptions options;
  if (const auto* redis = std::get_if<RedisFrontOptions>(&*config)) {
    RedisFrontOptions wanted = *redis;
    wanted.environment = build.options->environment;
    auto window = open_redis_front(std::move(wanted));
    if (!window) return failure(std::move(window.error()));
    options.window = *std::move(window);
  } else {
    MemoryFrontOptions wanted = std::get<MemoryFrontOptions>(*config);
    wanted.environment = build.options->environment;
    options.window = make_memory_front(wanted);
  }
  options.consumer = build.consumer->name;
  options.number = number;
  options.positions = build.store->facets().positions;
  options.environment = build.options->environment;
  options.observer = build.observer;
  parts.front = std::make_unique<strategies::Front>(std::move(options));
  return {};
}

}  // namespace semel::compose
