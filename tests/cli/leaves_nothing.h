// Commands that only look: the store has the same contents before and after.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/cli/program.h"

namespace semel::test {

// For a TestBed or a ServerTestBed whose store has its tables. Also where a run would change what
// is there: for another ttl, and for a consumer that is new.
template <class AnyTestBed>
void expect_doctor_leaves_nothing(const AnyTestBed& bed) {
  const auto expect_nothing_written = [&](const Words& more) {
    const std::string before = bed.contents();
    ASSERT_NE(before.find("semel_generation:"), std::string::npos) << before;
    Words words = {"doctor"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = bed.semel(words);
    EXPECT_NE(ran.out.find("[ok  ] D101"), std::string::npos) << ran.out << ran.err;
    EXPECT_EQ(bed.contents(), before);
  };
  expect_nothing_written({});
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-2", 1, 5)}).code, 0);
  expect_nothing_written({});
  expect_nothing_written({"--set", "consumers[0].dedup.ttl=9d"});
  expect_nothing_written({"--set", "consumers[0].name=invoices"});
}

// `of_processes`: the tables with the number by which its process is known to be alive.
template <class AnyTestBed>
void expect_dry_run_leaves_nothing(const AnyTestBed& bed,
                                   const std::set<std::string>& of_processes) {
  const auto looks_only = [&](const Words& more, std::string_view said) {
    const std::string before = bed.contents(of_processes);
    Words words = {"run", "--once", "--dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = bed.semel(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find(said), std::string::npos) << ran.out;
    EXPECT_EQ(bed.contents(of_processes), before);
  };
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  looks_only({}, "p-1  would be done");
  looks_only({"--set", "consumers[0].dedup.ttl=9d"}, "p-1  would be done");
  looks_only({"--set", "consumers[0].name=invoices"}, "0 deliveries looked at");
}

}  // namespace semel::test
