#include "stores/redis/run_script.h"

namespace semel::redis {

const char* const kBeginScript = R"lua(
local name, pid, alive, consumer, window = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local died = redis.call('HGET', prefix .. '{store}died', consumer)
redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
redis.call('HSET', prefix .. '{store}run:' .. name, consumer, window)
redis.call('HSET', prefix .. '{store}runs', name, pid)
if ARGV[7] ~= '1' or not died then return -1 end
redis.call('HDEL', prefix .. '{store}died', consumer)
return tonumber(died)
)lua";

const char* const kEndScript = R"lua(
local run = prefix .. '{store}run:' .. ARGV[2]
redis.call('HDEL', run, ARGV[3])
if redis.call('HLEN', run) == 0 then
  redis.call('HDEL', prefix .. '{store}runs', ARGV[2])
  redis.call('DEL', prefix .. '{store}alive:' .. ARGV[2])
end
return 'OK'
)lua";

const char* const kSignScript = R"lua(
local name, alive = ARGV[2], ARGV[3]
local kRemembered, kTold = 86400000, 63
local gone, runs = prefix .. '{store}gone', prefix .. '{store}runs'
local answer = { 'known', '' }
if name ~= '' then
  local pid = redis.call('HGET', runs, name)
  if not pid or redis.call('ZSCORE', gone, name) then
    answer[1] = 'unknown'
  else
    redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
  end
end
redis.call('ZREMRANGEBYSCORE', gone, '-inf', now - kRemembered)
answer[2] = table.concat(redis.call('ZREVRANGE', gone, 0, kTold))
for _, other in ipairs(redis.call('HKEYS', runs)) do
  if redis.call('EXISTS', prefix .. '{store}alive:' .. other) == 0 then
    answer[#answer + 1] = other
  end
end
return answer
)lua";

// What it held is freed from here on; what it ran is told once.
const char* const kDeclareScript = R"lua(
local name = ARGV[2]
local run, died = prefix .. '{store}run:' .. name, prefix .. '{store}died'
local alive = redis.call('EXISTS', prefix .. '{store}alive:' .. name) == 1
if alive or redis.call('HEXISTS', prefix .. '{store}runs', name) == 0 then return { 0 } end
local answer, told = { 1 }, redis.call('HEXISTS', run, 'told') == 1
local consumers = redis.call('HGETALL', run)
redis.call('ZADD', prefix .. '{store}gone', now, name)
for i = 1, #consumers, 2 do
  local consumer, window = consumers[i], consumers[i + 1]
  if consumer ~= 'told' then
    answer[#answer + 1] = consumer
    local before = tonumber(redis.call('HGET', died, consumer) or '0')
    if not told then redis.call('HSET', died, consumer, math.max(before, tonumber(window))) end
  end
end
redis.call('HSET', run, 'told', '1')
return answer
)lua";

const char* const kShowScript = R"lua(
local name, consumer, lane, shown = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), 0
local found = redis.call('ZSCAN', lane_of(consumer, lane) .. 'd', ARGV[5], 'COUNT', 500)
for i = 1, #found[2], 2 do
  local row = read(consumer, lane, found[2][i])
  if row and has(row, TAKEN) and row.holder == name then
    set(row, SUSPECT, true)
    set(row, TAKEN, false)
    row.holder = nobody
    save(row)
    due(row, math.min(now, tonumber(found[2][i + 1])))
    shown = shown + 1
  end
end
return { found[1], shown }
)lua";

const char* const kForgetRunScript = R"lua(
if redis.call('EXISTS', prefix .. '{store}alive:' .. ARGV[2]) == 1 then return 0 end
redis.call('DEL', prefix .. '{store}run:' .. ARGV[2])
return redis.call('HDEL', prefix .. '{store}runs', ARGV[2])
)lua";

const char* const kCountCrashScript = R"lua(
if string.sub(beginning(KEYS[1]), 2, 2) == 'D' then return 0 end
local count = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return count
)lua";

}  // namespace semel::redis
