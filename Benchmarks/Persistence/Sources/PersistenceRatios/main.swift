import DispatchStore
import DispatchStorePersistence
import Foundation

// usage: PersistenceRatios FOLDER [ROUNDS]

let root = CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory()
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap(Int.init) ?? 5

/// Sends actions from 256 tasks, and returns the time and the number of transactions per action.
func send(_ count: Int, lanes: Int) async throws -> (time: Double, groupSize: Double) {
  let bench = try await Bench(root)
  let before = bench.persistence.status.group
  let time = await seconds {
    await withDiscardingTaskGroup { group in
      for task in 0..<256 {
        group.addTask {
          for number in 0..<(count / 256) {
            let id = (task * 7_919 + number * 104_729) % 100_000
            await bench.dispatcher.send(Change(id: id), mode: .serial(lane: id % lanes))
          }
        }
      }
    }
  }
  let groups = bench.persistence.status.group - before
  try await bench.remove()
  return (time / Double(count), Double(count) / Double(groups))
}

/// Writes as many elements in groups as large.
func write(_ count: Int, groupSize: Double) async throws -> Double {
  let path = root + "/" + UUID().uuidString + ".db"
  let baseline = Baseline(path)
  let size = max(Int(groupSize), 1)
  let time = try await seconds {
    for first in stride(from: 0, to: count, by: size) {
      try baseline.write(
        (first..<min(first + size, count)).lazy.map { number in
          let id = (number % 256 * 7_919 + number / 256 * 104_729) % 100_000
          return (id, Element(id: id))
        }, Customers())
    }
  }
  try FileManager.default.removeItem(atPath: path)
  return time / Double(count)
}

for (name, lanes) in [("1,000 lanes, 256 in flight", 1_000), ("1 lane, 256 in flight", 1)] {
  var row = Row(name: name, bound: 1.5)
  var sizes: [Double] = []
  for _ in 0..<rounds {
    let count = 25_600
    let (time, size) = try await send(count, lanes: lanes)
    row.ours.append(time)
    sizes.append(size)
    row.theirs.append(try await write(count, groupSize: size))
  }
  let size = Row.quartiles(sizes).1
  print(row.line + String(format: ", in groups of %.0f", size))
}

/// One at a time, on a thread that blocks.
func sync(_ count: Int) async throws -> Double {
  let bench = try await Bench(root)
  let time = await withCheckedContinuation { (continuation: CheckedContinuation<Double, Never>) in
    Thread.detachNewThread {
      let start = ContinuousClock.now
      for id in 0..<count { bench.dispatcher.dispatch(Change(id: id), mode: .sync) }
      continuation.resume(returning: (ContinuousClock.now - start) / .seconds(1))
    }
  }
  try await bench.remove()
  return time / Double(count)
}

var one = Row(name: "one at a time, .sync", bound: 1.5)
for _ in 0..<rounds {
  one.ours.append(try await sync(500))
  one.theirs.append(try await write(500, groupSize: 1))
}
print(one.line)

let count = 1_000_000
var model = Customers()
for id in 0..<count { model.all[id] = Element(id: id) }
let saved = try await Bench(root, model)
try await saved.persistence.close()
let path = root + "/" + UUID().uuidString + ".db"
let baseline = Baseline(path)
try baseline.write(model.all.dictionary.lazy.map { ($0.key, $0.value) }, Customers())
var loading = Row(name: "loading 1,000,000 elements, per element", bound: 1.3)
for _ in 0..<max(rounds / 2, 1) {
  let time = try await seconds {
    let bench = try await Bench(root, folder: saved.folder)
    precondition(bench.store.model.all.count == count)
    try await bench.persistence.close()
  }
  loading.ours.append(time / Double(count))
  let other = try await seconds {
    let loaded = try baseline.load()
    precondition(loaded.count == count)
  }
  loading.theirs.append(other / Double(count))
}
print(loading.line)
try FileManager.default.removeItem(atPath: path)
try FileManager.default.removeItem(atPath: saved.folder)
