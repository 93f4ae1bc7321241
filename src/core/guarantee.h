// Computes a consumer's guarantee from plain facts, without any port.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/guarantee.h>
#include <semel/spi/source.h>
#include <semel/spi/store.h>

namespace semel::core {

enum class StrategyKind {
  kNatural,
  kQuery,
  kPessimisticLock,
  kOptimisticLock,
  kDedupTable,
  kInbox,
  kStateMachine,
  kFence,
  kAtMostOnce
};
// Its record commits with the handler's statements, in one transaction.
bool commits_with_handler(StrategyKind kind) noexcept;
// It records what is completed.
bool has_record(StrategyKind kind) noexcept;
// Its record is claimed with a lease before the handler runs, and an attempt may follow another.
bool may_have_steps(StrategyKind kind) noexcept;
const char* to_string(StrategyKind kind) noexcept;  // "dedup_table", as in the config
std::optional<StrategyKind> strategy_from(std::string_view name) noexcept;

// For a handler with steps: those that do not honour keys, and those that have no undo.
struct StepFacts {
  std::vector<std::string> keyless;
  std::vector<std::string> without_undo;
};

struct GuaranteeFacts {
  SourceTraits source;
  StoreTraits store;
  StrategyKind strategy = StrategyKind::kDedupTable;
  bool handler_transactional = false;  // its effect is in the store's own database
  bool honours_key = false;            // the receiver does nothing for a key it has seen
  bool key_is_position = false;        // identifies a copy, not an event
  bool positions_return = false;       // a position may later name another message of the source
  bool key_may_be_body = false;        // where a message has no key, its body's digest is the key
  bool fingerprint_none = false;
  std::optional<std::chrono::milliseconds> remote_keeps;  // the time; nullopt: not declared
  std::optional<StepFacts> steps{};
  bool two_parts = false;  // a two-part handler: the second is in the store's database
  std::optional<std::chrono::milliseconds> ttl;  // nullopt: for ever
  bool server_was_asked = false;                 // the risks of its settings are added to this
};

Guarantee compute_guarantee(const GuaranteeFacts& facts);

// The stores that keep a journal of steps, as people name them.
inline constexpr std::string_view kStoresWithSteps = "sqlite, postgres, mysql, redis or memory";

// Why a handler with steps cannot use this strategy; nullopt: it can.
std::optional<std::string> refuse_steps(StrategyKind strategy);

// The strategy of a consumer that names none.
StrategyKind default_strategy(bool handler_transactional) noexcept;

// Why `strategy` cannot be used with this handler; nullopt: it can.
std::optional<std::string> refuse_combination(StrategyKind strategy, bool handler_transactional,
                                              bool store_transactional, bool unsafe);

// Why a two-part handler cannot be used with these; nullopt: it can.
std::optional<std::string> refuse_two_parts(StrategyKind strategy, bool call_transactional,
                                            bool store_transactional);

}  // namespace semel::core
