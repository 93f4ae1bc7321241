#include "compose/nats_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "compose/compose.h"
#include "compose/consumer_parts.h"
#include "core/nats_publish_spec.h"
#include "core/retention.h"
#include "core/suspect_group.h"
#include "sources/nats/make_nats_source.h"

namespace semel::compose {
namespace {

using std::chrono::milliseconds;

// A busy machine can stall for this long.
constexpr milliseconds kShortWait{2'000};

struct Looked {
  const config::ConsumerConfig& consumer;
  const core::NatsSpec& spec;
  const nats::ConsumerLook& look;

  std::string durable() const {
    return fmt::format("{}: durable {} of stream {}", consumer.name, spec.durable, spec.stream);
  }
};

Finding deliveries(const Looked& at) {
  const auto& limit = at.look.max_deliver;
  if (!limit) {
    return {"D122", true, at.durable() + " has no delivery limit: Semel gives messages up", {}};
  }
  const std::int64_t needed = core::deliveries_before_given_up(at.consumer.retry.crashes);
  const std::string text = fmt::format(
      "{} is never brought again what it has had {} times, without a dead letter; of a message "
      "that "
      "crashes its process Semel makes one at delivery {}",
      at.durable(), *limit, needed);
  if (*limit < needed) {
    return {
        "D122", false, text + ", which is not before",
        fmt::format("nats consumer edit {} {} --max-deliver=-1", at.spec.stream, at.spec.durable)};
  }
  return {"D122", true, text, {}, true};
}

Finding renewal(const Looked& at) {
  const milliseconds wait = at.look.shortest_wait;
  std::string text = fmt::format("{} brings again after {} what a dead process had in hand",
                                 at.durable(), core::duration_text(wait));
  if (at.look.max_ack_pending && *at.look.max_ack_pending < at.spec.prefetch) {
    text += fmt::format(
        "; its max_ack_pending {} limits the messages in hand of all processes together",
        *at.look.max_ack_pending);
  }
  if (wait >= kShortWait) return {"D121", true, std::move(text), {}};
  return {"D121", true, text + ", and also what one had that stood still for as long", {}, true};
}

Finding keeping(const Looked& at) {
  const std::string stream = fmt::format("{}: stream {}", at.consumer.name, at.spec.stream);
  if (at.look.in_memory) {
    return {"D123", false, stream + " is kept in memory: its messages are lost with its servers",
            fmt::format("make it anew with --storage=file")};
  }
  if (at.look.replicas > 1) {
    return {"D123",
            true,
            fmt::format("{} is kept in the files of {} servers", stream, at.look.replicas),
            {}};
  }
  return {"D123",
          true,
          stream +
              " is kept in the file of one server, which a client cannot ask how often it "
              "syncs it (sync_interval): where its machine loses power, what it acknowledged "
              "last to publishers may be lost",
          {},
          true};
}

// A message that was done but not acknowledged is delivered again, and a recreated consumer
// delivers all of them again. A run refuses an explicit ttl that does not suffice.
Finding kept_for(const Looked& at) {
  const auto retention = core::duration_text(at.look.max_age.value_or(milliseconds(0)));
  const auto& ttl = config::effective_ttl(at.consumer);
  const std::string repeats = at.look.duplicates ? "what repeats a Nats-Msg-Id within " +
                                                       core::duration_text(*at.look.duplicates)
                                                 : "no repeats";
  const std::string text = fmt::format(
      "{}: stream {} keeps messages {}, and drops {}; records are kept {}", at.consumer.name,
      at.spec.stream, at.look.max_age ? "for " + retention : "without end", repeats,
      ttl ? "for " + core::duration_text(*ttl) : "for ever");
  const bool outlived = ttl && (!at.look.max_age || *at.look.max_age > *ttl);
  if (!outlived || at.consumer.accept.contains("D102")) return {"D102", true, text, {}};
  const bool refused = retention_of(at.consumer).written;
  return {"D102", !refused,
          text +
              "; what was done and not acknowledged comes again, and all of them to a durable that "
              "is made anew, and what is older than its record is not known any more",
          fmt::format("dedup: {{ ttl: {} }}; or knowingly: accept: [D102]",
                      at.look.max_age ? retention : "keep"),
          !refused};
}

bool same_account(const core::NatsAccess& a, const core::NatsAccess& b) {
  return a.address.nodes == b.address.nodes && a.address.user == b.address.user &&
         a.token == b.token && a.credentials == b.credentials;
}

bool brings(const nats::ConsumerLook& look, const std::string& subject) {
  const auto takes = [&](const std::string& pattern) {
    return core::nats_subject_takes(pattern, subject);
  };
  return std::ranges::any_of(look.subjects, takes) &&
         (look.filters.empty() || std::ranges::any_of(look.filters, takes));
}

// The config alone does not show which subjects a stream takes and an existing durable delivers.
std::optional<Error> circle(const Looked& at) {
  const auto* to = std::get_if<config::NatsHandler>(&at.consumer.handler);
  if (to == nullptr || !same_account(to->spec, at.spec) || !brings(at.look, to->spec.subject)) {
    return std::nullopt;
  }
  return Error{ErrorKind::kRejected, "E053",
               fmt::format("{}: stream {} takes what it publishes to {}, and durable {} brings it: "
                           "each message would come back to it, for ever",
                           at.consumer.name, at.spec.stream, to->spec.subject, at.spec.durable),
               fmt::format("publish it elsewhere; or give the durable other subjects alone: nats "
                           "consumer edit {} {} --filter",
                           at.spec.stream, at.spec.durable)};
}

}  // namespace

Result<void> refuse_nats(const config::ConsumerConfig& consumer) {
  const auto* source = std::get_if<config::NatsSource>(&consumer.source);
  if (source == nullptr) return {};
  const auto look = nats::look_at_consumer(source->spec);
  if (look) {
    auto found = circle({consumer, source->spec, *look});
    return found ? failure(*std::move(found)) : Result<void>();
  }
  if (look.error().kind == ErrorKind::kUnavailable) return {};
  return failure(of_consumer(consumer.name, look.error()));
}

std::vector<Finding> look_at_nats(const config::Config& config) {
  std::vector<Finding> findings;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    const auto* source = std::get_if<config::NatsSource>(&consumer.source);
    if (source == nullptr) continue;
    const auto look = nats::look_at_consumer(source->spec);
    if (!look || look->stream_hidden) {
      const Error& error = look ? *look->stream_hidden : look.error();
      findings.push_back(failed_for(consumer.name, error.code, error));
      continue;
    }
    const Looked at{consumer, source->spec, *look};
    if (const auto found = circle(at)) {
      findings.push_back(failed(found->code, *found));
    }
    if (look->there) {
      findings.push_back(renewal(at));
      findings.push_back(deliveries(at));
    }
    findings.push_back(keeping(at));
    findings.push_back(kept_for(at));
  }
  return findings;
}

}  // namespace semel::compose
