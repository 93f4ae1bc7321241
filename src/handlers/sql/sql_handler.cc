#include "handlers/sql/sql_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/sql_lexer.h"
#include "core/transaction_recorder.h"
#include "handlers/sql/param_value.h"

namespace semel::handlers {

namespace {

struct Param {
  std::string name;
  core::SqlParam spec;
};

struct PlannedStatement {
  std::shared_ptr<const Statement> statement;
  // For each placeholder: its parameter, and whether no later one of the message needs the value.
  struct Slot {
    std::size_t param;
    bool last;
  };
  std::vector<Slot> slots;
  std::optional<std::int64_t> expect_rows;
  Otherwise otherwise;
};

// Everything that is known before the first message. Shared by all threads.
struct Plan {
  std::vector<Param> params;  // the parameters that a statement names
  std::vector<PlannedStatement> statements;
  std::shared_ptr<const std::vector<UniqueRule>> unique_rules;
  core::Decimals decimals = core::Decimals::kDoubles;
};

// "statement 2 of 3", or "the statement" if there is only one.
std::string which(const core::SqlSpec& spec, std::size_t index) {
  if (spec.statements.size() == 1) return "the statement";
  return fmt::format("statement {} of {}", index + 1, spec.statements.size());
}

tl::unexpected<Error> refused(const core::SqlSpec& spec, std::size_t index, Error error) {
  error.message = fmt::format("{}: {}", which(spec, index), error.message);
  return failure(std::move(error));
}

Result<std::size_t> param_index(Plan& plan, const core::SqlSpec& spec, const std::string& name) {
  const auto known = std::find_if(plan.params.begin(), plan.params.end(),
                                  [&](const Param& param) { return param.name == name; });
  if (known != plan.params.end()) return known - plan.params.begin();
  if (name.empty()) {
    return failure({ErrorKind::kRejected, "R282", "a placeholder has no name",
                    "write :name and give params a member of that name"});
  }
  const auto found = spec.params.find(name);
  if (found == spec.params.end()) {
    return failure({ErrorKind::kRejected, "R282", fmt::format(":{} is not among the params", name),
                    fmt::format("params: {{ {}: json:/{} }}", name, name)});
  }
  plan.params.push_back({name, found->second});
  return plan.params.size() - 1;
}

Result<PlannedStatement> plan_statement(Plan& plan, const core::SqlSpec& spec,
                                        const core::SqlStatementSpec& statement) {
  auto lexed = sql::lex(statement.sql);
  if (!lexed) return failure(std::move(lexed.error()));
  auto admitted = admit_statement(lexed->text);
  if (!admitted) return failure(std::move(admitted.error()));
  PlannedStatement planned;
  auto named = std::make_shared<Statement>(**admitted);
  named->written = statement.sql;
  planned.statement = std::move(named);
  planned.expect_rows = statement.expect_rows;
  planned.otherwise = statement.otherwise;
  for (const std::string& name : lexed->params) {
    auto index = param_index(plan, spec, name);
    if (!index) return failure(std::move(index.error()));
    planned.slots.push_back({*index, false});
  }
  return planned;
}

// A value is moved into the last place that needs it, and copied into the earlier ones.
void mark_last_uses(Plan& plan) {
  std::vector<bool> seen(plan.params.size(), false);
  for (auto statement = plan.statements.rbegin(); statement != plan.statements.rend();
       ++statement) {
    for (auto slot = statement->slots.rbegin(); slot != statement->slots.rend(); ++slot) {
      slot->last = !seen[slot->param];
      seen[slot->param] = true;
    }
  }
}

Result<Plan> make_plan(const core::SqlSpec& spec, core::Decimals decimals) {
  if (spec.statements.empty()) {
    return failure(
        {ErrorKind::kRejected, "R282", "a SQL handler needs at least one statement", {}});
  }
  Plan plan;
  plan.decimals = decimals;
  for (std::size_t i = 0; i < spec.statements.size(); ++i) {
    auto planned = plan_statement(plan, spec, spec.statements[i]);
    if (!planned) return refused(spec, i, std::move(planned.error()));
    plan.statements.push_back(std::move(*planned));
  }
  mark_last_uses(plan);
  if (!spec.on_unique_violation.empty()) {
    plan.unique_rules = std::make_shared<const std::vector<UniqueRule>>(spec.on_unique_violation);
  }
  return plan;
}

[[noreturn]] void invalid(std::string message) {
  throw PayloadInvalid({ErrorKind::kRejected, {}, std::move(message), {}});
}

// `known`: the text was found to be JSON before.
void parse(json::Document& document, BytesView text, bool known, std::string_view what) {
  if (known) {
    document.parse_known(text);
  } else if (auto parsed = document.parse(text); !parsed) {
    invalid(fmt::format("{}{}", what, parsed.error().message));
  }
}

// `answer`: the answer of a two-part handler's first part; null: there is none.
std::vector<Value> values_of(const Plan& plan, const Message& message, const Bytes* answer) {
  std::vector<Value> values;
  if (plan.params.empty()) return values;
  // Reuse the buffers for the thread's next message.
  thread_local json::Document document;
  thread_local json::Document answered;
  const auto of_answer = [](const Param& param) { return param.spec.of_answer; };
  if (!std::all_of(plan.params.begin(), plan.params.end(), of_answer)) {
    parse(document, message.payload(), message.known_json(), "");
  }
  if (answer != nullptr && std::any_of(plan.params.begin(), plan.params.end(), of_answer)) {
    parse(answered, *answer, false, "the answer is ");
  }
  values.reserve(plan.params.size());
  for (const Param& param : plan.params) {
    auto scalar = (param.spec.of_answer ? answered : document).at(param.spec.pointer);
    if (!scalar) invalid(fmt::format("parameter :{}: {}", param.name, scalar.error().message));
    values.push_back(param_value(param.name, param.spec, plan.decimals, std::move(*scalar)));
  }
  return values;
}

Verdict handle(const Plan& plan, const Message& message, const Bytes* answer,
               Transaction& transaction) {
  auto& recorder = core::TransactionRecorder::of(transaction);
  std::vector<Value> values = values_of(plan, message, answer);
  for (const PlannedStatement& planned : plan.statements) {
    RecordedStatement recorded;
    recorded.statement = planned.statement;
    recorded.values.reserve(planned.slots.size());
    for (const auto [param, last] : planned.slots) {
      recorded.values.push_back(last ? std::move(values[param]) : values[param]);
    }
    recorded.expect_rows = planned.expect_rows;
    if (planned.expect_rows) recorded.otherwise = planned.otherwise;
    recorded.unique_rules = plan.unique_rules;
    recorder.record(std::move(recorded));
  }
  return done();
}

}  // namespace

Result<TransactionalHandler> make_sql_handler(const core::SqlSpec& spec, core::Decimals decimals) {
  auto plan = make_plan(spec, decimals);
  if (!plan) return failure(std::move(plan.error()));
  return TransactionalHandler([plan = std::make_shared<const Plan>(std::move(*plan))](
                                  const Message& message, Transaction& transaction) {
    return handle(*plan, message, nullptr, transaction);
  });
}

Result<ApplyHandler> make_sql_apply(const core::SqlSpec& spec, core::Decimals decimals) {
  auto plan = make_plan(spec, decimals);
  if (!plan) return failure(std::move(plan.error()));
  return ApplyHandler([plan = std::make_shared<const Plan>(std::move(*plan))](
                          const Message& message, const Bytes& answer, Transaction& transaction) {
    return handle(*plan, message, &answer, transaction);
  });
}

}  // namespace semel::handlers
