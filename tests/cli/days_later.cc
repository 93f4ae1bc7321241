#include "tests/cli/days_later.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

namespace semel::test {
namespace {

constexpr long kSecondsOfADay = 24L * 3600;

class AgedScene {
 public:
  explicit AgedScene(const AgedPayments& payments) : payments_(payments) {}

  Ran semel(int days, Words words) const {
    words.insert(words.end(), {"-c", payments_.config});
    return days_later(days, words);
  }
  Ran run_once(int days, const Words& more = {}) const {
    Words words = {"run", "--once", "-o", "json", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    Ran ran = semel(days, std::move(words));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(payments_.nothing_left()) << "all of it is settled";
    return ran;
  }
  // Their records are forgotten, and the broker delivers them once more.
  void forget_and_come_again(int days) const {
    const Ran swept = semel(days, {"store", "sweep", "-o", "json"});
    EXPECT_EQ(json_at(swept.out, "/forgotten"), count()) << swept.out << swept.err;
    payments_.come_again();
  }
  std::string parked(int days) const {
    const Ran ran =
        semel(days, {"records", "list", "--where",
                     "reason=too_old and state=parked and consumer=payments", "-o", "jsonl"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return std::to_string(count_of(ran.out, "\n"));
  }
  std::string count() const { return std::to_string(payments_.count); }
  void expect_effects(std::size_t times) const {
    EXPECT_EQ(payments_.effects(), static_cast<std::int64_t>(times * payments_.count));
  }

 private:
  const AgedPayments& payments_;
};

std::string outcome(const Ran& ran, std::string_view kind) {
  return json_at(ran.out, fmt::format("/outcomes/{}", kind));
}

void expect_handled_in_time(const AgedScene& scene, const AgedPayments& payments) {
  const Ran young = scene.run_once(payments.in_time);
  EXPECT_EQ(json_at(young.out, "/effects"), scene.count()) << young.out;
  payments.come_again();
  const Ran again = scene.run_once(payments.in_time);
  EXPECT_EQ(json_at(again.out, "/duplicates"), scene.count()) << again.out;
  scene.expect_effects(1);
}

void expect_parked(const AgedScene& scene, const AgedPayments& payments, int day) {
  const Ran before = scene.semel(day, {"run", "--dry-run", "-o", "json", "-q"});
  EXPECT_EQ(outcome(before, "parked"), scene.count()) << before.out << before.err;
  const Ran ran = scene.run_once(day);
  EXPECT_EQ(json_at(ran.out, "/effects"), "0") << ran.out;
  EXPECT_EQ(outcome(ran, "parked"), scene.count()) << ran.out;
  EXPECT_EQ(scene.parked(day), scene.count());
  const Ran shown = scene.semel(day, {"records", "list", "--where", "reason=too_old"});
  EXPECT_NE(shown.out.find("too_old"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(fmt::format("it was {}d old", day)), std::string::npos) << shown.out;
  const Ran letters = scene.semel(day, {"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(letters.out, "/count"), "0") << "none is given up: " << letters.out;
  payments.come_again();
  const Ran copies = scene.run_once(day);
  EXPECT_EQ(json_at(copies.out, "/effects"), "0") << copies.out;
  EXPECT_EQ(scene.parked(day), scene.count()) << "a copy meets the record";
}

}  // namespace

Ran days_later(int days, const Words& words) {
  return run(words,
             {.environment = {"LD_PRELOAD=" SEMEL_TEST_SHIFTED_CLOCK,
                              fmt::format("SEMEL_TEST_CLOCK_SHIFT={}", days * kSecondsOfADay)}});
}

std::vector<std::string> some_payments(std::size_t count) {
  std::vector<std::string> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(payment(fmt::format("p-{}", i), 1, 1));
  return made;
}

void expect_age_gate(const AgedPayments& payments) {
  const AgedScene scene(payments);
  expect_handled_in_time(scene, payments);
  int day = payments.too_old;
  scene.forget_and_come_again(day);
  const Ran discarded = scene.run_once(day, {"--set", "consumers[0].dedup.too_old=discard"});
  EXPECT_EQ(json_at(discarded.out, "/effects"), "0") << discarded.out;
  EXPECT_EQ(outcome(discarded, "discarded"), scene.count()) << discarded.out;
  scene.expect_effects(1);
  day += payments.too_old;
  scene.forget_and_come_again(day);
  const Ran handled = scene.run_once(day, {"--set", "consumers[0].dedup.too_old=handle"});
  EXPECT_EQ(json_at(handled.out, "/effects"), scene.count()) << handled.out;
  scene.expect_effects(2);  // what the gate is against
  day += payments.too_old;
  scene.forget_and_come_again(day);
  expect_parked(scene, payments, day);
  scene.expect_effects(2);
  const Ran unlocked = scene.semel(
      day, {"records", "unlock", "--where", "consumer=payments and reason=too_old", "--yes"});
  EXPECT_EQ(unlocked.code, 0) << unlocked.err;
  const Ran let_run = scene.run_once(day);
  EXPECT_EQ(json_at(let_run.out, "/effects"), scene.count()) << let_run.out;
  EXPECT_EQ(scene.parked(day), "0");
  scene.expect_effects(3);
}

}  // namespace semel::test
