#include "tests/fuzz/admin_world.h"

#include <chrono>
#include <functional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <semel/admin/audit.h>
#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/memory.h>

#include "config/config.h"
#include "tests/support/builders.h"

namespace semel::fuzz {

namespace {

constexpr const char* kConfig =
    "version: 1\n"
    "store: { memory: {} }\n"
    "admin: { auth: { tokens: [{ name: worker, secret: the secret of workers, claims: [mails] }] } "
    "}\n"
    "consumers:\n"
    "  - { name: payments, source: { stdin: {} }, key: json:/id, handler: { native: pay } }\n"
    "  - { name: mails, source: { claims: {} }, limits: { result: 100B } }\n";
constexpr std::size_t kAll = 1'000;

}  // namespace

const config::Config& world_config() {
  static const config::Config config = config::load_text(kConfig, "semel.yaml").config.value();
  return config;
}

std::string secret_of(core::Role role) {
  return "the-secret-of-" + std::string(core::to_string(role));
}

AdminWorld::AdminWorld(bool tokens)
    : store_(make_memory_store()),
      jobs_(
          world_config(),
          [this](const auto& use) {
            use(*store_);
            return true;
          },
          std::chrono::milliseconds(1)) {
  payments_ = store_->attach({"payments", "recipe", false, {}}).value();
  (void)store_->attach({"mails", "recipe", false, {}}).value();
  fill();
  admin::AdminRoutes::Tokens all;
  if (tokens) {
    for (const core::Role role : {core::Role::kRead, core::Role::kOperator, core::Role::kAdmin}) {
      std::vector<std::string> claims;
      if (role != core::Role::kRead) claims = {"mails"};
      all.push_back({std::string(core::to_string(role)), secret_of(role), role, claims});
    }
  }
  routes_ = admin::AdminRoutes::create(std::move(all), sources());
}

// Keys key-0 to key-4, one in each state, and a dead letter without a key.
void AdminWorld::fill() {
  int number = 0;
  for (const Finish::To to : {Finish::To::kCompleted, Finish::To::kRetrying, Finish::To::kParked,
                              Finish::To::kDead, Finish::To::kDead, Finish::To::kNotStarted}) {
    const std::string key = fmt::format("key-{}", number++);
    Message::Parts parts = test::make_parts(payments_, key, "{\"card\":4111}");
    parts.key.id = world_config().consumers[0].key.id_of(payments_, key);
    const Message message(std::move(parts));
    const Message* const one = &message;
    const auto claims = store_->claim({&one, 1}, {}).value();
    if (to == Finish::To::kNotStarted) return;  // it is being worked on
    Finish finish;
    finish.to = to;
    finish.lease = std::get<Acquired>(claims[0]).lease;
    finish.reason = "handler.native";
    finish.error = "it went wrong";
    finish.keep = to == Finish::To::kCompleted ? nullptr : &message;
    (void)store_->finish({&finish, 1}).value();
  }
}

admin::AdminSources AdminWorld::sources() {
  admin::ApiSources made;
  made.config = &world_config();
  made.store_name = "memory";
  made.overview = [] { return admin::Overview(); };
  made.readiness = [] { return admin::Readiness(); };
  made.backlog = [](std::string_view name) { return admin::Backlog{name == "payments", 42}; };
  made.guarantee = [](const config::ConsumerConfig&) { return Guarantee(); };
  made.with_store = [this](const auto& use) {
    use(*store_);
    return true;
  };
  made.jobs = &jobs_;
  made.claims = &claims_;
  made.recent = &recent_;
  made.doctor = [](Store&) -> Result<std::string> { return "{\"ok\":true}"; };
  made.reload = [](bool) -> admin::Reloaded { return config::Difference{}; };
  made.reload_state = [] { return admin::ReloadState(); };
  made.drain = [](const std::string&) { return admin::DrainState(); };
  made.resume = [](const std::string&) { return admin::DrainState(); };
  return {[](MetricsFormat) { return std::string("# EOF\n"); }, std::move(made)};
}

http::HttpResponse AdminWorld::answer(const http::HttpRequest& request) {
  http::HttpReply reply = routes_->answer(request, nullptr);
  if (auto* const task = std::get_if<http::HttpTask>(&reply)) return task->run();
  return std::get<http::HttpResponse>(std::move(reply));
}

std::string AdminWorld::state() const {
  const StoreFacets facets = store_->facets();
  const auto records = facets.records->list({}, {}, kAll).value();
  const auto stats = facets.records->stats().value();
  const auto letters = facets.dead_letters->list({}).value();
  std::string text;
  for (const RecordView& one : records) {
    text += fmt::format("{} {} {}\n", one.key, to_string(one.state), one.token);
  }
  for (const StoreStats::Consumer& one : stats.consumers) {
    text += fmt::format("{} dead {} held {}\n", one.name, one.dead, one.held);
    const auto gate = facets.gates->state(one.number).value();
    if (gate) text += "shut " + gate->why + "\n";
  }
  for (const StoreStats::Generation& one : stats.generations) {
    text += fmt::format("completed {}\n", one.records);
  }
  for (const DeadLetter& one : letters) {
    text += fmt::format("letter {} {} {}\n", one.id, one.reason, one.replayed);
  }
  text += fmt::format("acts {} jobs {}", facets.audit->list({}, kAll).value().size(),
                      jobs_.list().size());
  return text;
}

}  // namespace semel::fuzz
