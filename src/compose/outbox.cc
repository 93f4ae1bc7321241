#include "compose/outbox.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "compose/compose.h"

namespace semel::compose {
namespace {

bool is_queue(const config::ConsumerConfig& consumer) {
  return std::holds_alternative<config::QueueSource>(consumer.source);
}

bool is_native(const config::ConsumerConfig& consumer) {
  return std::holds_alternative<config::NativeHandler>(consumer.handler);
}

bool forwards(const config::ConsumerConfig& from, const config::ConsumerConfig& to) {
  return std::ranges::count(from.publish, to.name) > 0;
}

bool copies(const config::ConsumerConfig& from, const config::ConsumerConfig& to) {
  return from.copy_dead_letters == to.name;
}

// A native handler says itself what it sends.
bool may_publish(const config::ConsumerConfig& from, const config::ConsumerConfig& to) {
  return is_native(from) && is_queue(to) && from.name != to.name;
}

// Whether more than one consumer may send to `receiver`.
bool is_shared(const config::Config& config, const config::ConsumerConfig& receiver) {
  return std::ranges::count_if(config.consumers, [&](const config::ConsumerConfig& from) {
           return may_publish(from, receiver) || forwards(from, receiver) || copies(from, receiver);
         }) > 1;
}

// True if the config routes messages from `from` to `to`, directly or through other consumers.
// Routes have no cycles (E040).
bool routes(const config::Config& config, const config::ConsumerConfig& from,
            const config::ConsumerConfig& to) {
  return std::ranges::any_of(config.consumers, [&](const config::ConsumerConfig& next) {
    return (forwards(from, next) || copies(from, next)) &&
           (next.name == to.name || routes(config, next, to));
  });
}

}  // namespace

Result<Outbox> outbox_of(Store& store, const config::Config& config,
                         const config::ConsumerConfig& consumer, bool dry_run) {
  Outbox outbox;
  for (const config::ConsumerConfig& other : config.consumers) {
    const bool native = may_publish(consumer, other);
    const bool forward = forwards(consumer, other);
    const bool copy = copies(consumer, other);
    if (!native && !forward && !copy) continue;
    auto number = number_for_run(store, other, dry_run);
    if (!number) return failure(std::move(number.error()));
    const core::Route route{*number, is_shared(config, other), copy && (native || forward)};
    if (native) outbox.destinations.emplace(other.name, route);
    if (forward) outbox.forward_to.push_back(route);
    if (copy) outbox.copies_to = route;
  }
  return outbox;
}

bool feeds(const config::Config& config, const config::ConsumerConfig& from,
           const config::ConsumerConfig& to) {
  if (from.name == to.name || !is_queue(to)) return false;
  if (routes(config, from, to)) return true;
  if (!is_native(from) || routes(config, to, from)) return false;
  const auto place = [&](const config::ConsumerConfig& one) {
    return std::ranges::find(config.consumers, one.name, &config::ConsumerConfig::name);
  };
  return place(from) < place(to);
}

}  // namespace semel::compose
