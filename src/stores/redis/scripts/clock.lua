-- The store puts the expression for the microseconds since 1970 in the place of the mark.
local micros = CLOCK_MICROS
local now = math.floor(micros / 1000)
