-- Forgets what an instance ran, so that its death is reported once.
local function forget_run(name)
  redis.call('DEL', prefix .. '{store}run:' .. name)
  redis.call('DEL', prefix .. '{store}told:' .. name)
  redis.call('DEL', prefix .. '{store}alive:' .. name)
  redis.call('HDEL', prefix .. '{store}sessions', name)
  return redis.call('HDEL', prefix .. '{store}runs', name)
end

-- It has come back, or another has freed it.
local function is_another(name, session)
  return redis.call('HEXISTS', prefix .. '{store}runs', name) == 0 or
         (redis.call('HGET', prefix .. '{store}sessions', name) or '') ~= session
end

-- Its consumers. What it was told of others, and has not acknowledged, is told with it.
local function tell(name)
  local run, died, told = prefix .. '{store}run:' .. name, prefix .. '{store}died', {}
  local before = redis.call('HSETNX', run, 'told', string.format('%.0f', now)) == 0
  local consumers = redis.call('HGETALL', run)
  for i = 1, #consumers, 2 do
    local consumer, window = consumers[i], consumers[i + 1]
    if consumer ~= 'told' then
      told[#told + 1] = consumer
      local largest = tonumber(redis.call('HGET', died, consumer) or '0')
      local heard = tonumber(redis.call('HGET', prefix .. '{store}told:' .. name, consumer) or '0')
      largest = math.max(largest, heard, tonumber(window))
      if not before then redis.call('HSET', died, consumer, largest) end
    end
  end
  return told
end
