// The files of scripts/ are valid Lua, each by itself, and so are the composed scripts.
#include "stores/redis/scripts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "clients/redis/connection.h"
#include "clients/redis/test_client.h"
#include "stores/redis/lua.h"

namespace semel::redis {
namespace {

// The error of a server that compiles the text; empty if there is none.
std::string refusal_of(Connection& connection, BytesView text) {
  connection.send({"SCRIPT", "LOAD", text});
  const Reply reply = connection.run(Loss::kNothingDone).front();
  return reply.is_error() ? reply.bytes : std::string();
}

TEST(RedisLua, EveryFileCompiles) {
  Connection connection(target_of(shared().url()));
  ASSERT_NE(refusal_of(connection, "return return"), "") << "the server compiles what it loads";
  ASSERT_GT(lua::sources().size(), 0U);
  for (const lua::Source& source : lua::sources()) {
    EXPECT_EQ(refusal_of(connection, source.text), "") << source.name << ".lua";
  }
}

TEST(RedisLua, NoMarkIsLeftInAComposedScript) {
  for (const bool cluster : {false, true}) {
    const std::string text = script_text(kServerClock, row_text(cluster));
    EXPECT_EQ(text.find("CLOCK_MICROS"), std::string::npos);
    EXPECT_EQ(text.find("LANE_NAME"), std::string::npos);
  }
}

}  // namespace
}  // namespace semel::redis
