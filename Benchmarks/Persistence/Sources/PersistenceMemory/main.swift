import DispatchStore
import DispatchStorePersistence
import Foundation

// usage: PersistenceMemory FOLDER
//
// Runs itself as three processes: one saves a store of 1,000,000 elements, one has such a store in memory alone, and one
// loads it. Prints what the last two occupy after 20,000 actions.

struct Item: Codable, Sendable {
  var name: String
  var pieces: Int
  var price = 1.5
}

struct Items: ModelType, Codable { var all = TrackedDictionary<Int, Item>() }
struct Touch: ActionType { let id: Int }

let count = 1_000_000
let arguments = CommandLine.arguments.dropFirst()
/// A folder of its own: beside a database lies the file of its owner, which would refuse the next run a new one.
let folder =
  arguments.count > 1
  ? arguments.first! : (arguments.first ?? NSTemporaryDirectory()) + "/memory-\(getpid())"
let path = folder + "/memory.db"

func makeItems() -> Items {
  var items: [Int: Item] = [:]
  for id in 0..<count {
    items[id] = Item(name: "the item with the number \(id), of which there are many", pieces: id)
  }
  return Items(all: TrackedDictionary(items))
}

/// The memory of this process, in MiB.
func residentMemory() throws -> Int {
  let statistics = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
  return (Int(statistics.split(separator: " ")[1])! * Int(getpagesize())) >> 20
}

func run(_ role: String) async throws {
  let store = Store(identifier: "items", model: role == "load" ? Items() : makeItems()) {
    On(Touch.self) { items, touch in items.all[touch.id]?.pieces += 1 }
  }
  let persistence = role == "plain" ? nil : try await Persistence(.sqlite(path: path))
  let dispatcher = persistence.map { Dispatcher(persistence: $0) } ?? Dispatcher()
  if persistence == nil {
    dispatcher.register(store: store)
  } else {
    try await dispatcher.register(store: store, persisted: .elements(\.all))
  }
  await withDiscardingTaskGroup { group in
    for task in 0..<64 {
      group.addTask {
        for number in 0..<312 {
          let id = (task * 7_919 + number * 104_729) % count
          await store.send(Touch(id: id), mode: .serial(lane: task))
        }
      }
    }
  }
  precondition(store.model.all.count == count)
  print("\(role): \(try residentMemory()) MiB")
  try await persistence?.close()
}

if let role = arguments.dropFirst().first {
  try await run(role)
} else {
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  for role in ["save", "plain", "load"] {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0])
    process.arguments = [folder, role]
    try process.run()
    process.waitUntilExit()
  }
  try FileManager.default.removeItem(atPath: folder)
}
