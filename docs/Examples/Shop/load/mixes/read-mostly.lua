-- 90 % GET of an order, 10 % POST of a new one.
dofile("mixes/common.lua")

function request()
  if math.random(10) == 1 then return post_order() end
  return get("/orders/" .. math.random(seeded_orders))
end
