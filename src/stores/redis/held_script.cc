#include "stores/redis/held_script.h"

namespace semel::redis {

const char* const kAppendScript = R"lua(
local consumer, answer = tonumber(ARGV[2]), {}
for i = 3, #ARGV, 4 do
  local row = append(consumer, unpack(ARGV, i, i + 3))
  answer[#answer + 1], answer[#answer + 2] = row.lane, row.number
end
return answer
)lua";

const char* const kHoldBehindScript = R"lua(
local consumer, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local full, answer = {}, {}
local function hold(row, body)
  local bytes = redis.call('HGET', row.at .. 's', row.line)
  if not bytes then return 'F' end
  -- What has found no room lets none of its line by.
  if full[row.line] or tonumber(bytes) + row.bytes > most then
    full[row.line] = true
    return 'U'
  end
  row.ready = now
  set(row, BEHIND, true)
  add(row, body)
  save(row)
  return 'H'
end
for i = 4, #ARGV, 3 do
  answer[#answer + 1] = hold(parsed(ARGV[i + 1], consumer, tonumber(ARGV[i]), ''), ARGV[i + 2])
end
return table.concat(answer)
)lua";

const char* const kChangeScript = R"lua(
local how, time = ARGV[2], tonumber(ARGV[3])
for i = 4, #ARGV, 3 do
  local row = read(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
  if row then
    row.consumer = tonumber(row.consumer)
    if how == 'remove' then
      remove(row)
    elseif how == 'release' then
      release(row, time)
    elseif has(row, TAKEN) and tonumber(redis.call('ZSCORE', row.at .. 'd', row.number) or '0') > now then
      due(row, now + time)
    end
  end
end
return 'OK'
)lua";

const char* const kDepthScript = R"lua(
local rows, first = 0, nil
for lane = 0, 15 do
  local at = lane_of(ARGV[2], lane)
  rows = rows + redis.call('HLEN', at .. 'm') - redis.call('SCARD', at .. 'p')
  for _, set_of in ipairs({ 'd', 'n' }) do
    local score = redis.call('ZRANGE', at .. set_of, 0, 0, 'WITHSCORES')[2]
    if score then first = math.min(first or tonumber(score), tonumber(score)) end
  end
end
if not first then return { rows } end
return { rows, math.max(first - now, 0), first }
)lua";

const char* const kLinesScript = R"lua(
local lines = {}
for lane = 0, 15 do
  for _, line in ipairs(redis.call('HKEYS', lane_of(ARGV[2], lane) .. 's')) do
    lines[#lines + 1] = line
  end
end
return lines
)lua";

}  // namespace semel::redis
