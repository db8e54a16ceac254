import Foundation

/// The lines of what was begun and acknowledged, which survive the program's SIGKILL but not a power failure.
final class Journal: Sendable {
  private let descriptor: Int32

  init(_ path: String) {
    descriptor = open(path, O_CREAT | O_WRONLY | O_APPEND, 0o644)
    precondition(descriptor >= 0, "No journal \(path): \(String(cString: strerror(errno))).")
  }

  /// Appends a line with one call, so that it is there as a whole or not at all.
  func write(_ line: String) {
    let line = line + "\n"
    let count = line.utf8CString.withUnsafeBytes {
      Foundation.write(descriptor, $0.baseAddress!, $0.count - 1)
    }
    precondition(count == line.utf8.count, "The journal can't be written.")
  }

  func begun(_ operation: Operation) {
    let o = operation
    write("b \(o.id) \(o.kind.rawValue) \(o.store) \(o.key) \(o.other) \(o.amount) \(o.lane)")
  }

  func acknowledged(_ id: Int, _ store: String, _ version: Int) {
    write("a \(id) \(store) \(version)")
  }
  func refused(_ id: Int) { write("r \(id)") }
}

struct Operation: Sendable {
  enum Kind: String {
    case post, transfer, instalments, close, reorganise, all, refuse
    /// Atomic ones over all stores.
    case everywhere, nowhere
  }

  var id: Int
  var kind: Kind
  /// The store, if not all get it.
  var store: String
  var key: Int
  var other: Int
  var amount: Int
  /// -1 without a lane.
  var lane: Int

  /// Whether all stores get it.
  var isForAll: Bool { [.all, .everywhere, .nowhere].contains(kind) }
  /// Whether no store has it afterwards.
  var isRefused: Bool { [.refuse, .nowhere].contains(kind) }

  /// The amounts of its postings in one store.
  var amounts: [Int] {
    switch kind {
    case .post, .all, .everywhere: [amount]
    case .transfer: [-amount, amount]
    case .instalments: [amount, amount, amount]
    case .close, .reorganise: [0]
    case .refuse, .nowhere: []
    }
  }
}

/// What the journals of all runs say.
struct Records {
  var operations: [Int: Operation] = [:]
  /// The operations of one lane of one run, in the lane's order.
  var lanes: [[Operation]] = []
  var acknowledged: [(id: Int, store: String, version: Int)] = []
  var refused: Set<Int> = []
  var runs = 0

  init(_ folder: String) throws {
    while let data = FileManager.default.contents(atPath: "\(folder)/journal.\(runs)") {
      runs += 1
      var lanes: [Int: [Operation]] = [:]
      for line in data.split(separator: UInt8(ascii: "\n")) {
        let words = String(decoding: line, as: UTF8.self).split(separator: " ").map(String.init)
        switch words[0] {
        case "b":
          let numbers = words[4...].map { Int($0)! }
          let operation = Operation(
            id: Int(words[1])!, kind: .init(rawValue: words[2])!, store: words[3], key: numbers[0],
            other: numbers[1], amount: numbers[2], lane: numbers[3])
          operations[operation.id] = operation
          if operation.lane >= 0 { lanes[operation.lane, default: []].append(operation) }
        case "a": acknowledged.append((Int(words[1])!, words[2], Int(words[3])!))
        default: refused.insert(Int(words[1])!)
        }
      }
      self.lanes += lanes.values
    }
  }
}
