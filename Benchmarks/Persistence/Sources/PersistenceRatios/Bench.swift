import DispatchStore
import DispatchStorePersistence
import Foundation

/// An element of about 200 bytes as JSON.
struct Element: Codable, Sendable {
  var id: Int
  var name = "a customer with a name of some length"
  var address = "a street, a number, a city, and a country that is far away from here"
  var balance = 1_234.56
  var isActive = true
}

struct Customers: ModelType, Codable {
  var all = TrackedDictionary<Int, Element>()
  var count = 0
}

struct Change: ActionType { let id: Int }

typealias CustomerStore = Store<Customers, HandledAction>

func makeStore(_ customers: Customers = Customers()) -> CustomerStore {
  Store(identifier: "customers", model: customers) {
    On(Change.self) { customers, change in
      customers.all[change.id, default: Element(id: change.id)].balance += 1
    }
  }
}

/// A persistent store in a new folder.
struct Bench {
  let folder: String
  let persistence: Persistence
  let dispatcher: Dispatcher
  let store: CustomerStore

  init(_ root: String, _ customers: Customers = Customers(), folder: String? = nil) async throws {
    self.folder = folder ?? root + "/" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: self.folder, withIntermediateDirectories: true)
    persistence = try await Persistence(.sqlite(path: self.folder + "/a.db"))
    dispatcher = Dispatcher(name: "bench", persistence: persistence)
    store = try await dispatcher.register(store: makeStore(customers), persisted: .elements(\.all))
  }

  func remove() async throws {
    try await persistence.close()
    try FileManager.default.removeItem(atPath: folder)
  }
}

/// Times of two ways, in rounds that alternate.
struct Row {
  let name: String
  let bound: Double
  var ours: [Double] = []
  var theirs: [Double] = []

  static func quartiles(_ values: [Double]) -> (Double, Double, Double) {
    let sorted = values.sorted()
    return (sorted[sorted.count / 4], sorted[sorted.count / 2], sorted[sorted.count * 3 / 4])
  }

  var line: String {
    let ratios = zip(ours, theirs).map { $0 / $1 }
    func text(_ values: [Double], _ unit: Double) -> String {
      let (low, middle, high) = Self.quartiles(values)
      return String(format: "%.2f [%.2f, %.2f]", middle * unit, low * unit, high * unit)
    }
    return
      "\(name): \(text(ours, 1e6)) µs, beside \(text(theirs, 1e6)) µs: \(text(ratios, 1)) (at most \(bound))"
  }
}

func seconds(_ body: () async throws -> Void) async rethrows -> Double {
  let start = ContinuousClock.now
  try await body()
  return (ContinuousClock.now - start) / .seconds(1)
}
