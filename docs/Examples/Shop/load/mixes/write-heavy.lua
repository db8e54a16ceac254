-- 80 % POST of an order with a key of its own, 20 % GET.
dofile("mixes/common.lua")

function request()
  if math.random(10) <= 8 then return post_with_new_key() end
  return get("/orders/" .. math.random(seeded_orders))
end
