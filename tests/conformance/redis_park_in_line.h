// A script that puts parked rows back at the beginning of a line, as older versions kept them.
// Arguments: the prefix of all names, the line. The format is that of stores/redis/held_rows.h.
#pragma once

namespace semel::conformance {

inline constexpr const char* kRedisParkInLine =
    "for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '{h*p')) do "
    "  local at, line = string.sub(key, 1, -2), ARGV[2] "
    "  local rows = redis.call('TYPE', key).ok == 'set' and redis.call('SMEMBERS', key) or {} "
    "  for _, number in ipairs(rows) do "
    "    local head = redis.call('HGET', at .. 'm', number) "
    "    redis.call('HSET', at .. 'm', number, string.sub(head, 1, 1) .. "
    "      string.char(string.byte(head, 2) + 32) .. string.sub(head, 3, 8) .. "
    "      string.rep('\\0', 6) .. string.sub(head, 15, 72) .. struct.pack('>I4', #line) .. line "
    ".. "
    "      string.sub(head, 77)) "
    "    redis.call('ZADD', at .. 'l' .. line, 0, number) "
    "    redis.call('HINCRBY', at .. 's', line, (struct.unpack('>I4', head, 25))) "
    "  end "
    "end";

}  // namespace semel::conformance
