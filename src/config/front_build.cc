#include "config/front_build.h"

#include <utility>

#include <fmt/format.h>

#include "config/node.h"
#include "config/store_build.h"
#include "core/guarantee.h"
#include "core/retention.h"

namespace semel::config {
namespace {

void refuse_front(const View& consumer, const std::string& what, const char* why, const char* help,
                  Report& report) {
  const std::string path = consumer.path("front");
  auto& made = report.error("E054", consumer.place("front"), path, path + ": " + what);
  made.detail.emplace_back(why);
  made.help = help;
}

}  // namespace

std::optional<FrontConfig> build_front(const View& consumer, Report& report) {
  if (!consumer.written("front")) return std::nullopt;
  const View front = consumer.in("front");
  const auto filled = [&](const char* name, auto window) {
    front.in(name).fill(window);
    window.ttl = front.duration("ttl");
    return FrontConfig(std::move(window));
  };
  if (!front.written("redis")) return filled("memory", MemoryFrontOptions{});
  check_redis_place(front.in("redis"), report);
  return filled("redis", RedisFrontOptions{});
}

void check_front(const ConsumerConfig& consumer, const View& view, Report& report) {
  if (!consumer.front) return;
  if (!core::has_record(consumer.strategy)) {
    refuse_front(view,
                 fmt::format("strategy {} has no record that it could stand in front of",
                             core::to_string(consumer.strategy)),
                 "what is done is not written down, so nothing is known to be completed",
                 "leave front out, or name a strategy with a record", report);
  }
  if (std::holds_alternative<QueueSource>(consumer.source)) {
    refuse_front(view, "the queue is in the store itself",
                 "a duplicate there is found in the transaction that takes its row away: a window "
                 "in front of it saves nothing",
                 "leave front out", report);
  }
  const auto ttl = effective_ttl(consumer);
  if (ttl && *ttl < ttl_of(*consumer.front)) {
    refuse_front(
        view,
        fmt::format("its ttl is longer than that of the records ({})", core::duration_text(*ttl)),
        "it would call a key completed whose record is forgotten",
        "lower front.ttl, or raise dedup.ttl", report);
  }
}

}  // namespace semel::config
