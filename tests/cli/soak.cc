#include "tests/cli/soak.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace semel::test {

SoakSize soak_size(const SoakSize& by_day, const SoakSize& by_night, const SoakSize& in_soak) {
  SoakSize size = by_day;
  if (std::getenv("SEMEL_NIGHTLY") != nullptr) size = by_night;
  if (soaks()) size = in_soak;
  const auto set = [](const char* name, std::size_t& value) {
    if (const char* const text = std::getenv(name)) value = std::stoul(text);
  };
  set("SEMEL_SOAK_MESSAGES", size.messages);
  set("SEMEL_SOAK_KILLS", size.kills);
  set("SEMEL_SOAK_SERVER_KILLS", size.server_kills);
  return size;
}

bool grows_to(const std::function<std::int64_t()>& count, std::int64_t wanted,
              std::chrono::milliseconds patience) {
  for (std::int64_t seen = count(); seen < wanted; seen = count()) {
    if (!comes_true([&] { return count() > seen; }, patience)) return false;
  }
  return true;
}

void tell_soak(const SoakEnd& end) {
  const auto published = static_cast<std::int64_t>(end.published);
  const std::string told = fmt::format(
      "{}: {} messages, {} of them copies; {} kills of the consumer, {} of them in mid-work, {} of "
      "the server\n"
      "{}: {} effects of {} payments, sum {} of {}: {} lost, {} doubled; all sent again: 0 more\n",
      end.source, end.deliveries, end.deliveries - end.published, end.killed, end.in_mid_work,
      end.server_kills, end.source, end.effects, end.published, end.sum, end.published_sum,
      published - end.paid, end.effects - end.paid);
  std::fputs(told.c_str(), stdout);
  EXPECT_EQ(end.paid, published) << "lost";
  EXPECT_EQ(end.effects, end.paid) << "doubled";
  EXPECT_EQ(end.sum, end.published_sum);
}

}  // namespace semel::test
