import DispatchStore
import DispatchStorePersistence
import Foundation

// usage: ReliableRatios FOLDER [ROUNDS]
//
// Times what idempotency keys, delays and durable effects cost, beside the same without them, and measures the memory
// that they take while they are pending.

let folder = CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory()
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap(Int.init) ?? 5

struct Add: CodableAction, Equatable { let amount: Int }
struct Added: CodableAction { let amount: Int }
struct Total: ModelType, Codable { var sum = 0, added = 0 }

func makeStore() -> Store<Total, HandledAction> {
  Store(identifier: "total", model: Total()) {
    On(Add.self) { total, add in total.sum += add.amount }
    On(Added.self) { total, added in total.added += added.amount }
  }
}

func seconds(_ body: () async throws -> Void) async rethrows -> Double {
  let start = ContinuousClock.now
  try await body()
  return (ContinuousClock.now - start) / .seconds(1)
}

/// Prints the medians and quartiles of two rows of times, in microseconds.
func report(_ name: String, _ ours: [Double], beside theirs: [Double]) {
  func quartiles(_ times: [Double]) -> String {
    let times = times.sorted()
    func at(_ part: Double) -> String {
      String(format: "%.2f", times[Int(Double(times.count - 1) * part)] * 1e6)
    }
    return "\(at(0.5)) µs [\(at(0.25)), \(at(0.75))]"
  }
  print("\(name): \(quartiles(ours)) beside \(quartiles(theirs))")
}

/// The time of one `send` with the options for each number.
func send(_ count: Int, _ options: (Int) -> DispatchOptions?) async -> Double {
  let dispatcher = Dispatcher()
  dispatcher.register(store: makeStore())
  await dispatcher.send(Add(amount: 1), options: .idempotencyKey("first"))
  let time = await seconds {
    for number in 0..<count {
      if let options = options(number) {
        await dispatcher.send(Add(amount: 1), options: options)
      } else {
        await dispatcher.send(Add(amount: 1))
      }
    }
  }
  return time / Double(count)
}

/// The time of one `dispatch` while a million are pending.
func dispatchDelayed(_ count: Int, _ options: DispatchOptions?) async -> Double {
  let dispatcher = Dispatcher()
  dispatcher.register(store: makeStore())
  for _ in 0..<(options == nil ? 0 : 1_000_000) {
    dispatcher.dispatch(Add(amount: 1), options: .delayed(by: .seconds(3_600)))
  }
  let time = await seconds {
    for _ in 0..<count {
      if let options {
        dispatcher.dispatch(Add(amount: 1), options: options)
      } else {
        dispatcher.dispatch(Add(amount: 1))
      }
    }
  }
  await dispatcher.drain()
  return time / Double(count)
}

/// The resident memory of this process, in bytes; Linux only.
func residentBytes() throws -> Int {
  let sizes = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
  return Int(sizes.split(separator: " ")[1])! * Int(getpagesize())
}

/// Prints the memory that each of so many takes.
func report(_ name: String, _ count: Int, _ body: (Int) async throws -> Void) async throws {
  let before = try residentBytes()
  for number in 0..<count { try await body(number) }
  print("\(name): \((try residentBytes() - before) / count) bytes each")
}

/// Measures what is remembered, pending or waiting.
func reportMemory() async throws {
  let dispatcher = Dispatcher()
  dispatcher.idempotencyKeys.capacity = .max
  dispatcher.register(store: makeStore())
  try await report("1,000,000 remembered keys", 1_000_000) {
    await dispatcher.send(Add(amount: 1), options: .idempotencyKey($0))
  }
  try await report("1,000,000 pending delays", 1_000_000) { _ in
    dispatcher.dispatch(Add(amount: 1), options: .delayed(by: .seconds(3_600)))
  }
  try await report("1,000,000 named delays", 1_000_000) {
    dispatcher.dispatch(Add(amount: 1), options: .delayed(by: .seconds(3_600), name: "\($0)"))
  }
  dispatcher.register(
    effect: DurableEffect("never", on: Added.self) { _, _ in
      try await Task.sleep(for: .seconds(86_400))
      return nil
    })
  try await report("100,000 pieces of durable work that wait", 100_000) { _ in
    await dispatcher.send(Added(amount: 1))
  }
  dispatcher.shutDown()
}

func newPath() -> String { folder + "/" + UUID().uuidString + ".db" }

func removeDatabase(_ path: String) {
  for suffix in ["", "-wal", "-shm", "-owner"] {
    try? FileManager.default.removeItem(atPath: path + suffix)
  }
}

/// Opens a database with a store that is saved in it.
func open(_ path: String) async throws -> (Dispatcher, Persistence) {
  let persistence = try await Persistence(
    .sqlite(path: path), actions: ActionCoder(Add.self, Added.self))
  let dispatcher = Dispatcher(name: "bench", persistence: persistence)
  try await dispatcher.register(store: makeStore(), persisted: .model)
  return (dispatcher, persistence)
}

/// Measures delays that are saved, and how long the next process takes to go on with them.
func reportSavedDelays() async throws {
  let count = 100_000
  let path = newPath()
  var (dispatcher, persistence) = try await open(path)
  try await report("100,000 saved delays", count) {
    dispatcher.dispatch(Add(amount: 1), options: .delayed(by: .seconds(3_600), name: "\($0)"))
    if $0 == count - 1 { try await persistence.flush() }
  }
  await dispatcher.drain()
  try await persistence.close()
  (dispatcher, persistence) = try await open(path)
  let time = await seconds { dispatcher.resumeWork() }
  print("resumeWork with 100,000 saved delays: \(String(format: "%.2f", time)) s")
  dispatcher.shutDown()
  try await persistence.close()
  removeDatabase(path)
}

/// The time from an action to the end of its durable work, or of two acknowledged actions.
func work(_ count: Int, isDurable: Bool) async throws -> Double {
  let path = newPath()
  let (dispatcher, persistence) = try await open(path)
  if isDurable {
    dispatcher.register(
      effect: DurableEffect("add", on: Add.self) { add, _ in Added(amount: add.amount) })
  }
  let time = await seconds {
    for _ in 0..<count {
      if isDurable {
        await dispatcher.dispatch(Add(amount: 1)).settled()
      } else {
        await dispatcher.send(Add(amount: 1))
        await dispatcher.send(Added(amount: 1))
      }
    }
  }
  await dispatcher.drain()
  try await persistence.close()
  removeDatabase(path)
  return time / Double(count)
}

// Before anything was freed, whose memory would be used again.
try await reportMemory()
try await reportSavedDelays()

var (new, repeated, plain): ([Double], [Double], [Double]) = ([], [], [])
for _ in 0..<rounds {
  plain.append(await send(100_000) { _ in nil })
  new.append(await send(100_000) { .idempotencyKey($0) })
  repeated.append(await send(100_000) { _ in .idempotencyKey("first", remembered: .seconds(60)) })
}
report("send with a new key", new, beside: plain)
report("send with a repeated key", repeated, beside: plain)

var (delayed, direct): ([Double], [Double]) = ([], [])
for _ in 0..<rounds {
  direct.append(await dispatchDelayed(100_000, nil))
  delayed.append(await dispatchDelayed(100_000, .delayed(by: .seconds(3_600))))
}
report("dispatch with a delay, 1,000,000 pending", delayed, beside: direct)

var (durable, two): ([Double], [Double]) = ([], [])
for _ in 0..<rounds {
  two.append(try await work(300, isDurable: false))
  durable.append(try await work(300, isDurable: true))
}
report("durable effect", durable, beside: two)
