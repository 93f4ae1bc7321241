#include "admin/departed_consumers.h"

#include <algorithm>

namespace semel::admin {

namespace {

const config::ConsumerConfig* claimed_in(const config::Config& config, const std::string& name) {
  const config::ConsumerConfig* const found = config.find(name);
  return found != nullptr && found->is_claimed() ? found : nullptr;
}

std::vector<std::string> tokens_for(const config::Config& config, const std::string& consumer) {
  std::vector<std::string> names;
  if (!config.admin) return names;
  for (const config::AdminToken& token : config.admin->tokens) {
    if (std::ranges::find(token.claims, consumer) != token.claims.end()) {
      names.push_back(token.name);
    }
  }
  return names;
}

}  // namespace

void DepartedConsumers::note(const config::Config& before, const config::Config& after) {
  const system::MutexLock lock(mutex_);
  for (const config::ConsumerConfig& consumer : before.consumers) {
    if (!consumer.is_claimed() || claimed_in(after, consumer.name) != nullptr) continue;
    departed_.insert_or_assign(consumer.name,
                               Departed{std::make_shared<const config::ConsumerConfig>(consumer),
                                        tokens_for(before, consumer.name)});
  }
  std::erase_if(departed_,
                [&](const auto& one) { return claimed_in(after, one.first) != nullptr; });
}

std::shared_ptr<const config::ConsumerConfig> DepartedConsumers::find(
    const std::string& name) const {
  const system::MutexLock lock(mutex_);
  const auto found = departed_.find(name);
  return found == departed_.end() ? nullptr : found->second.consumer;
}

bool DepartedConsumers::may_end(const std::string& name, std::string_view token) const {
  const system::MutexLock lock(mutex_);
  const auto found = departed_.find(name);
  if (found == departed_.end()) return false;
  return std::ranges::find(found->second.tokens, token) != found->second.tokens.end();
}

}  // namespace semel::admin
