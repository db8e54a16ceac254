import DispatchStore
import Foundation

/// The work of a world that has not begun, with the rules for which of it may.
struct WorkList {
  /// The work that has not begun, in the order in which it was added.
  private(set) var waiting: [Work] = []
  /// The number of running pieces of work, by line.
  private var running: [ObjectIdentifier: Int] = [:]
  private var counts: [String: Int] = [:]
  private let width: Int

  /// Makes an empty list.
  ///
  /// - Parameter width: The width of a queue whose width is not set.
  init(width: Int) {
    self.width = width
  }

  /// Adds a piece of work, and names it.
  ///
  /// The first one is the scenario.
  mutating func append(
    _ kind: SimulatedWork, priority: UInt64, _ body: @escaping @Sendable () -> Void
  ) {
    let name = counts.isEmpty ? "scenario" : "\(kind.role) \(counts[kind.role, default: 0] + 1)"
    counts[kind.role, default: 0] += 1
    waiting.append(Work(name: name, kind: kind, priority: priority, body: body))
  }

  /// Calls the closure with the indices of the work that may begin: at most the first piece of each line.
  func forEachThatMayBegin(exceptOperations: Bool, _ body: (Int) -> Void) {
    var lines: Set<ObjectIdentifier> = []
    for (index, work) in waiting.enumerated() {
      if let line = work.line {
        if exceptOperations, case .operation = work.kind { continue }
        guard lines.insert(line).inserted, running[line, default: 0] < width(of: work) else {
          continue
        }
      }
      body(index)
    }
  }

  /// Returns how much of the work's line may run at once.
  private func width(of work: Work) -> Int {
    guard case .operation(let queue) = work.kind else { return 1 }
    if queue.isSuspended { return 0 }
    let width = queue.maxConcurrentOperationCount
    return width < 0 ? self.width : width
  }

  mutating func begin(at index: Int) -> Work {
    let work = waiting.remove(at: index)
    if let line = work.line { running[line, default: 0] += 1 }
    return work
  }

  mutating func ended(_ work: Work) {
    if let line = work.line { running[line]! -= 1 }
  }
}

extension SimulatedWork {
  /// The name in traces of a thread that does this work, without a number.
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
