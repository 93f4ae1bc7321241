#include "config/redis_streams_build.h"

#include <fmt/format.h>

#include "config/node.h"
#include "config/store_build.h"

namespace semel::config {

void check_redis_name(const View& streams, const char* name, const char* help, Report& report) {
  const auto* setting = streams.find(name);
  if (setting == nullptr || setting->from != Setting::From::kWritten) return;
  const auto flaw = core::redis_name_flaw(setting->text);
  if (!flaw) return;
  report
      .error("E014", setting->place, setting->path,
             fmt::format("{}: {} {}", setting->path, in_quotes(setting->text), *flaw))
      .help = help;
}

core::RedisStreamsSpec build_redis_streams(const View& streams, Report& report) {
  core::RedisStreamsSpec made;
  streams.fill(made);
  check_redis_url(streams, report);
  check_redis_name(streams, "stream", "stream: orders", report);
  check_redis_name(streams, "group", "group: billing", report);
  check_redis_name(streams, "consumer", "consumer: billing-1", report);
  check_redis_name(streams, "payload", "payload: data", report);
  const auto* from = streams.find("from");
  if (from != nullptr && from->from == Setting::From::kWritten && !made.declare) {
    report
        .error("E038", from->place, from->path,
               fmt::format("{}: without declare the group begins where it was made to", from->path))
        .help = "declare: true, or leave from out";
  }
  return made;
}

void check_redis_streams(const ConsumerConfig& consumer, const View& view, Report& report) {
  const auto* source = std::get_if<RedisStreamsSource>(&consumer.source);
  if (source == nullptr || !consumer.order || !source->spec.consumer.empty() ||
      consumer.accept.contains("W048")) {
    return;
  }
  auto& made = report.warning(
      "W048", view.place("order"), view.path("order"),
      fmt::format("{}: what a run had in hand when it died comes behind what the next run reads "
                  "meanwhile",
                  view.path("order")));
  made.detail.push_back("the next run has another name in the group, and waits for claim_after");
  made.help = "source.redis_streams.consumer: a name of this process's own, the same at each start";
}

}  // namespace semel::config
