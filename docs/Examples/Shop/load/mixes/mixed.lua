-- 40 % GET of stock, 20 % GET of an order, 25 % POST with a new key, 10 % POST again with an old one, 5 % cancel.
-- An order can be cancelled once, so some answers are 409.
dofile("mixes/common.lua")

function request()
  local draw = math.random(100)
  if draw <= 40 then return get("/stock/" .. any_sku()) end
  if draw <= 60 then return get("/orders/" .. math.random(seeded_orders)) end
  if draw <= 85 or keys == 0 then return post_with_new_key() end
  if draw <= 95 then return post_with_key(math.random(keys)) end
  return wrk.format("POST", "/orders/" .. math.random(seeded_orders) .. "/cancel")
end
