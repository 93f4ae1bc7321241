#include "cli/bulk.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::chrono::seconds kBetweenLines{5};

}  // namespace

void where_option(CLI::App& command, BulkFlags& flags, std::span<const WhereField> fields) {
  std::vector<std::string_view> names;
  for (const WhereField& field : fields) names.push_back(field.name);
  command
      .add_option("--where", flags.where,
                  fmt::format("Those that match, as 'consumer=orders and age>1h'. Fields: {}; "
                              "operators: = != > < >= <= and ~ (contains)",
                              fmt::join(names, ", ")))
      ->type_name("FILTER");
}

void why_option(CLI::App& command, BulkFlags& flags) {
  command.add_option("--why", flags.why, "With --url: the reason, for the run's audit log")
      ->option_text("TEXT");
}

std::optional<int> refuse_why(Console& console, const BulkFlags& flags) {
  if (flags.why.empty() || console.settings().url) return std::nullopt;
  return console.fail(kUsage, "--why is for the audit log of a run, and none is asked",
                      "--url http://127.0.0.1:8585, or without --why");
}

json::Writer body_with_reason(const BulkFlags& flags) {
  json::Writer body;
  body.begin_object();
  if (!flags.why.empty()) body.member("reason", flags.why);
  return body;
}

void bulk_options(CLI::App& command, BulkFlags& flags, std::span<const WhereField> fields) {
  where_option(command, flags, fields);
  command.add_option("--limit", flags.limit, "At most so many, oldest first")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->option_text("N");
  command.add_option("--rate", flags.rate, "Not faster than this, as 50/s, 3/m or 100/h")
      ->type_name("N/s");
}

OrEnded<Where> read_where(Console& console, const std::optional<std::string>& text,
                          std::span<const WhereField> fields) {
  if (!text) return Where();
  auto where = Where::parse(*text, fields);
  if (where) return std::move(*where);
  const Where::Flaw& flaw = where.error();
  return tl::unexpected<Ended>(Ended{console.fail(
      kUsage, fmt::format("--where, column {}: {}", flaw.column, flaw.message), flaw.fix)});
}

OrEnded<std::optional<Rate>> read_rate(Console& console, const BulkFlags& flags) {
  if (!flags.rate) return std::optional<Rate>();
  const auto rate = operate::parse_rate(*flags.rate);
  if (rate) return std::optional(*rate);
  return tl::unexpected<Ended>(
      Ended{console.fail(kUsage, fmt::format("--rate cannot be \"{}\"", printable(*flags.rate, 40)),
                         "a number and a time: 50/s, 3/m or 100/h")});
}

void note_foreign(Console& console, std::size_t count) {
  if (count == 0) return;
  console.note(
      fmt::format("{} of consumers that are not in the config: --consumer NAME", grouped(count)));
}

std::string count_text(const Plan& plan) {
  return plan.complete ? grouped(plan.count) : "at least " + grouped(plan.count);
}

std::optional<int> agree(Console& console, const Plan& plan, std::string_view question,
                         std::string_view one, std::string_view many) {
  if (plan.count == 0 && plan.complete) return std::nullopt;
  std::string line = fmt::format("{} {}", count_text(plan), plan.count == 1 ? one : many);
  if (plan.oldest && plan.newest) {
    line += fmt::format(", from {} to {}", console.time(*plan.oldest), console.time(*plan.newest));
  }
  const bool asks = !question.empty() && !console.settings().dry_run && !console.settings().yes;
  // A user who is asked must see the plan, so it is printed even with -q.
  const auto say = [&](const std::string& text) { asks ? console.warn(text) : console.note(text); };
  say(line);
  for (const std::string& sample : plan.samples) say("  " + sample);
  if (plan.count > plan.samples.size()) say("  …");
  if (console.settings().dry_run) return std::nullopt;
  return console.confirm(question);
}

void add_plan(json::Writer& writer, const Console& console, const Plan& plan) {
  writer.member("dry_run", console.settings().dry_run).member("matched", plan.count);
  if (!plan.complete) writer.member("complete", false);
  writer.member("missing", plan.missing);
  if (plan.oldest) writer.member("oldest", console.time(*plan.oldest));
  if (plan.newest) writer.member("newest", console.time(*plan.newest));
  writer.name("samples").begin_array();
  for (const std::string& sample : plan.samples) writer.value(sample);
  writer.end_array();
}

int bulk_code(std::size_t matched, std::size_t changed, std::size_t asked) {
  if (matched == 0) return kNothing;
  return changed == asked ? kOk : kPartly;
}

Pace::Pace(Console& console, std::optional<Rate> rate, std::size_t whole)
    : console_(console), throttle_(rate), whole_(whole), begun_(Clock::now()), told_(begun_) {}

std::size_t Pace::next(std::size_t left) {
  std::this_thread::sleep_until(throttle_.due());
  begun_ = Clock::now();
  return std::min(left, throttle_.most());
}

void Pace::done(std::size_t count) {
  done_ += count;
  throttle_.took(count, begun_);
  const std::string line = fmt::format("{} of {}", grouped(done_), grouped(whole_));
  console_.progress(line);
  if (console_.err_is_terminal() || Clock::now() - told_ < kBetweenLines) return;
  told_ = Clock::now();
  console_.note(line);
}

}  // namespace semel::cli
