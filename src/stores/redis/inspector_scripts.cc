#include "stores/redis/inspector_scripts.h"

#include "stores/redis/script_text.h"

namespace semel::redis {
namespace {

// Places in a record are those that record.h names.
constexpr const char* kRead = R"lua(
local old = redis.call('GETRANGE', KEYS[1], 0, 41)
if old == '' then return 0 end
if string.byte(old) ~= 1 or #old ~= 42 then return 3 end
local state = string.sub(old, 2, 2)
)lua";

constexpr const char* kForget = R"lua(
if ARGV[1] ~= '' and ARGV[1] ~= state then return 0 end
if ARGV[2] ~= '' and ARGV[2] ~= string.sub(old, 8, 14) then return 0 end
if state == 'C' and struct.unpack('>I6', old, 21) > now then return 2 end
redis.call('DEL', KEYS[1])
return 1
)lua";

// What is dead had an expiry; what is tried again has none.
constexpr const char* kUnlock = R"lua(
if state ~= 'P' and state ~= 'X' then return 0 end
local rest = string.sub(redis.call('GET', KEYS[1]), 27)
redis.call('SET', KEYS[1], '\001R' .. string.sub(old, 3, 20) .. struct.pack('>I6', now) .. rest)
return 1
)lua";

}  // namespace

InspectorScripts::InspectorScripts(const std::string& clock)
    : forget(with_now(clock, std::string(kRead) + kForget)),
      unlock(with_now(clock, std::string(kRead) + kUnlock)) {}

}  // namespace semel::redis
