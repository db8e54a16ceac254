import DispatchStore
import Foundation

/// The works of a world that have not begun, and which of them may.
struct WorkList {
  /// In the order in which they were asked for.
  private(set) var waiting: [Work] = []
  /// How many of a line have begun and not ended.
  private var running: [ObjectIdentifier: Int] = [:]
  private var counts: [String: Int] = [:]
  private let width: Int

  /// - Parameter width: How wide a queue is that nobody has set.
  init(width: Int) {
    self.width = width
  }

  /// Adds a work, and names it: the first of all is the scenario.
  mutating func append(
    _ kind: SimulatedWork, priority: UInt64, _ body: @escaping @Sendable () -> Void
  ) {
    let name = counts.isEmpty ? "scenario" : "\(kind.role) \(counts[kind.role, default: 0] + 1)"
    counts[kind.role, default: 0] += 1
    waiting.append(Work(name: name, kind: kind, priority: priority, body: body))
  }

  /// Calls back with the places of those that may begin: of a line, the first one at most.
  func forEachThatMayBegin(_ body: (Int) -> Void) {
    var lines: Set<ObjectIdentifier> = []
    for (place, work) in waiting.enumerated() {
      if let line = work.line {
        guard lines.insert(line).inserted, running[line, default: 0] < width(of: work) else {
          continue
        }
      }
      body(place)
    }
  }

  /// How many of its line may run at once.
  private func width(of work: Work) -> Int {
    guard case .operation(let queue) = work.kind else { return 1 }
    if queue.isSuspended { return 0 }
    let width = queue.maxConcurrentOperationCount
    return width < 0 ? self.width : width
  }

  mutating func begin(at place: Int) -> Work {
    let work = waiting.remove(at: place)
    if let line = work.line { running[line, default: 0] += 1 }
    return work
  }

  mutating func ended(_ work: Work) {
    if let line = work.line { running[line]! -= 1 }
  }
}

extension SimulatedWork {
  /// What traces call a thread that does it.
  var role: String {
    switch self {
    case .operation: "drainer"
    case .substitute: "substitute"
    case .job: "job"
    case .main: "main"
    case .queue: "observer"
    }
  }
}
