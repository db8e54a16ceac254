import DispatchStore

extension World {
  /// Who waits for what, and what has not ended; nothing where the world is done.
  var unfinished: [String] {
    threads.compactMap { thread in
      guard case .waiting(let reason, _) = thread.state else { return nil }
      return "\(thread.name) waits for \(reason)"
    } + underWay.sorted { $0.key < $1.key }.map { "\($0.value) has not ended" }
      + works.waiting.map { "\($0.name) has not begun" }
      + (hasReturned ? [] : ["the scenario has not returned"])
  }

  static func list(_ reasons: [String]) -> String {
    reasons.joined(separator: "; ") + "."
  }
}
