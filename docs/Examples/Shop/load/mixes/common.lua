-- What the mixes share. wrk is started in this folder's parent; each thread has its own copy.

local threads = 0

function setup(thread)
  thread:set("thread_id", threads)
  threads = threads + 1
end

function init(args)
  math.randomseed(thread_id * 7919 + tonumber(args[1] or "1"))
  key_prefix = (args[1] or "1") .. "-" .. thread_id .. "-"
  keys = 0
end

seeded_orders = 200  -- orders 1 to 200 are there before a run begins
skus = 20

function any_sku() return "sku-" .. math.random(skus) end

function get(path) return wrk.format("GET", path) end

local function post(sku, headers)
  headers["Content-Type"] = "application/json"
  return wrk.format("POST", "/orders", headers, '{"customer": "ann", "sku": "' .. sku .. '", "count": 1}')
end

function post_order() return post(any_sku(), {}) end

-- The n-th order with a key. The same n gives the same request.
function post_with_key(n) return post("sku-" .. n % skus + 1, { ["Idempotency-Key"] = key_prefix .. n }) end

function post_with_new_key()
  keys = keys + 1
  return post_with_key(keys)
end

function done(summary, latency, requests)
  io.write(string.format(
    '{"requests": %d, "micros": %d, "status": %d, "socket": %d, "p50": %.0f, "p99": %.0f}\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
