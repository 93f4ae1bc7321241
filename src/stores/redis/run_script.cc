#include "stores/redis/run_script.h"

namespace semel::redis {

const char* const kBeginScript = R"lua(
local name, pid, alive, consumer, window = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local died = redis.call('HGET', prefix .. '{store}died', consumer)
redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
redis.call('HSET', prefix .. '{store}run:' .. name, consumer, window)
redis.call('HSET', prefix .. '{store}runs', name, pid)
redis.call('HSET', prefix .. '{store}sessions', name, ARGV[8])
if ARGV[7] ~= '1' or not died then return -1 end
redis.call('HDEL', prefix .. '{store}died', consumer)
return tonumber(died)
)lua";

const char* const kEndScript = R"lua(
local run = prefix .. '{store}run:' .. ARGV[2]
redis.call('HDEL', run, ARGV[3], 'told')
if redis.call('HLEN', run) == 0 then
  redis.call('HDEL', prefix .. '{store}runs', ARGV[2])
  redis.call('HDEL', prefix .. '{store}sessions', ARGV[2])
  redis.call('DEL', prefix .. '{store}alive:' .. ARGV[2])
end
return 'OK'
)lua";

const char* const kSignScript = R"lua(
local name, alive = ARGV[2], ARGV[3]
local kRemembered, kTold = 86400000, 63
local gone, runs, sessions = prefix .. '{store}gone', prefix .. '{store}runs', prefix .. '{store}sessions'
local answer = { 'known', '' }
if name ~= '' then
  local pid = redis.call('HGET', runs, name)
  if not pid or redis.call('ZSCORE', gone, name) then
    answer[1] = 'unknown'
  else
    redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
    redis.call('HSET', sessions, name, ARGV[4])
    redis.call('HDEL', prefix .. '{store}run:' .. name, 'told')
  end
end
redis.call('ZREMRANGEBYSCORE', gone, '-inf', now - kRemembered)
answer[2] = table.concat(redis.call('ZREVRANGE', gone, 0, kTold))
for _, other in ipairs(redis.call('HKEYS', runs)) do
  if other ~= name then
    answer[#answer + 1] = other
    answer[#answer + 1] = redis.call('HGET', sessions, other) or ''
    answer[#answer + 1] = redis.call('PTTL', prefix .. '{store}alive:' .. other)
  end
end
return answer
)lua";

// What ran there is told once.
const char* const kTellScript = R"lua(
local function forget_run(name)
  redis.call('DEL', prefix .. '{store}run:' .. name)
  redis.call('DEL', prefix .. '{store}alive:' .. name)
  redis.call('HDEL', prefix .. '{store}sessions', name)
  return redis.call('HDEL', prefix .. '{store}runs', name)
end

-- It has come back, or another has freed it.
local function is_another(name, session)
  return redis.call('HEXISTS', prefix .. '{store}runs', name) == 0 or
         (redis.call('HGET', prefix .. '{store}sessions', name) or '') ~= session
end

-- Its consumers.
local function tell(name)
  local run, died, told = prefix .. '{store}run:' .. name, prefix .. '{store}died', {}
  local before = redis.call('HSETNX', run, 'told', string.format('%.0f', now)) == 0
  local consumers = redis.call('HGETALL', run)
  for i = 1, #consumers, 2 do
    local consumer, window = consumers[i], consumers[i + 1]
    if consumer ~= 'told' then
      told[#told + 1] = consumer
      local largest = tonumber(redis.call('HGET', died, consumer) or '0')
      if not before then redis.call('HSET', died, consumer, math.max(largest, tonumber(window))) end
    end
  end
  return told
end
)lua";

// What it holds stays its own until its time is over: nobody knows whether it is gone.
const char* const kDoubtScript = R"lua(
local name, kForgotten = ARGV[2], 86400000
if is_another(name, ARGV[3]) then return 0 end
local told = redis.call('HGET', prefix .. '{store}run:' .. name, 'told')
if told and tonumber(told) + kForgotten < now then return forget_run(name) end
tell(name)
return 0
)lua";

// What it held is freed from here on.
const char* const kDeclareScript = R"lua(
local name = ARGV[2]
if is_another(name, ARGV[3]) then return { 0 } end
redis.call('ZADD', prefix .. '{store}gone', now, name)
local answer = { 1 }
for _, consumer in ipairs(tell(name)) do answer[#answer + 1] = consumer end
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
    -- Where it stood: a younger copy of it, of which nothing is suspected, does not pass it.
    due(row, math.min(now, row.ready))
    shown = shown + 1
  end
end
return { found[1], shown }
)lua";

const char* const kForgetRunScript = R"lua(
if is_another(ARGV[2], ARGV[3]) then return 0 end
return forget_run(ARGV[2])
)lua";

const char* const kCountCrashScript = R"lua(
if string.sub(beginning(KEYS[1]), 2, 2) == 'D' then return 0 end
local count = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return count
)lua";

}  // namespace semel::redis
