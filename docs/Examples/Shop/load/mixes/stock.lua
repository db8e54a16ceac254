-- Dispatches that leave the state as large as it is: goods are put on the shelf.

dofile("mixes/common.lua")

function request()
  return wrk.format("POST", "/stock/" .. any_sku(), { ["Content-Type"] = "application/json" }, '{"add": 1, "price": 250}')
end
