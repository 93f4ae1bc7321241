#include "cli/bulk.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <thread>

#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::size_t kAtOnce = 500;
// A paced verb moves on this often, so that the rate is kept within short spans too.
constexpr std::chrono::milliseconds kStep{100};
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

void bulk_options(CLI::App& command, BulkFlags& flags, std::span<const WhereField> fields) {
  where_option(command, flags, fields);
  command.add_option("--limit", flags.limit, "At most so many, oldest first")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->option_text("N");
  command.add_option("--rate", flags.rate, "Not faster than this, as 50/s, 3/m or 100/h")
      ->type_name("N/s");
}

std::optional<Rate> parse_rate(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Rate rate;
  const auto read = std::from_chars(text.data(), text.data() + slash, rate.count);
  if (read.ec != std::errc{} || read.ptr != text.data() + slash || rate.count == 0) {
    return std::nullopt;
  }
  const std::string_view unit = text.substr(slash + 1);
  if (unit == "s") rate.time = std::chrono::seconds(1);
  if (unit == "m") rate.time = std::chrono::minutes(1);
  if (unit == "h") rate.time = std::chrono::hours(1);
  if (rate.time.count() == 0) return std::nullopt;
  return rate;
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
  const auto rate = parse_rate(*flags.rate);
  if (rate) return std::optional(*rate);
  return tl::unexpected<Ended>(
      Ended{console.fail(kUsage, fmt::format("--rate cannot be \"{}\"", printable(*flags.rate, 40)),
                         "a number and a time: 50/s, 3/m or 100/h")});
}

std::optional<int> agree(Console& console, const Plan& plan, std::string_view question,
                         std::string_view one, std::string_view many) {
  if (plan.count == 0) return std::nullopt;
  std::string line = counted(plan.count, one, many);
  if (plan.oldest && plan.newest) {
    line += fmt::format(", from {} to {}", console.time(*plan.oldest), console.time(*plan.newest));
  }
  const bool asks = !question.empty() && !console.settings().dry_run && !console.settings().yes;
  // Whoever is asked must see what about.
  const auto say = [&](const std::string& text) { asks ? console.warn(text) : console.note(text); };
  say(line);
  for (const std::string& sample : plan.samples) say("  " + sample);
  if (plan.count > plan.samples.size()) say("  …");
  if (console.settings().dry_run) return std::nullopt;
  return console.confirm(question);
}

void add_plan(json::Writer& writer, const Console& console, const Plan& plan) {
  writer.member("dry_run", console.settings().dry_run).member("matched", plan.count);
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
    : console_(console), rate_(rate), whole_(whole), begun_(Clock::now()), told_(begun_) {}

std::size_t Pace::next(std::size_t left) {
  if (!rate_) return std::min(left, kAtOnce);
  const auto due = begun_ + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(rate_->time) *
                                (static_cast<double>(done_) / static_cast<double>(rate_->count)));
  std::this_thread::sleep_until(due);
  const auto per_step = rate_->count * static_cast<std::size_t>(kStep.count()) /
                        static_cast<std::size_t>(rate_->time.count());
  return std::min({left, kAtOnce, std::max<std::size_t>(per_step, 1)});
}

void Pace::done(std::size_t count) {
  done_ += count;
  const std::string line = fmt::format("{} of {}", grouped(done_), grouped(whole_));
  console_.progress(line);
  if (console_.err_is_terminal() || Clock::now() - told_ < kBetweenLines) return;
  told_ = Clock::now();
  console_.note(line);
}

}  // namespace semel::cli
