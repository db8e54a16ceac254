extension Diagnosis: CustomStringConvertible {
  /// The deadlocks, then each entry with its actions and waits; longest without a move first.
  public var description: String { text(of: .max) }

  /// Returns the description with the first entries alone, and the number of the others.
  package func text(of count: Int) -> String {
    var lines = [headline]
    if !hasTable {
      lines.append(
        """
        What is in flight is not known: set the dispatcher's tracksInFlight, or a watchdog.
        """)
    }
    for cycle in cycles { lines.append(cycle.line) }
    for entry in entries.prefix(count) {
      lines.append(entry.line)
      lines += entry.states.map { "   \($0)" }
    }
    if entries.count > count { lines.append("… \(entries.count - count) more") }
    return (lines + pendingWork).joined(separator: "\n")
  }

  /// The effects that run, the work that waits for its time, or for another attempt, and what has failed.
  private var pendingWork: [String] {
    var lines = effects
    if scheduledCount > 0 { lines.append("\(scheduledCount) scheduled.") }
    if let first = pendingEffects.first {
      let error = first.lastError.map { ", last error: \($0)" } ?? ""
      lines.append(
        "\(pendingEffects.count) pending durable effects, the oldest \"\(first.effect)\" after \(first.attempts) "
          + "failed attempts\(error).")
    }
    if let first = deadLetters.first {
      lines.append(
        "\(deadLetters.count) dead letters, the first \"\(first.name)\": \(first.error).")
    }
    return lines.map(\.onOneLine)
  }

  private var headline: String {
    let waiting = entries.count(where: \.isWaiting)
    let counts = "\(entries.count) in flight, \(waiting) of them waiting"
    let found = cycles.isEmpty ? "" : cycles.count == 1 ? "; a cycle" : "; \(cycles.count) cycles"
    return "Dispatcher \"\(dispatcher)\": \(counts)\(found)."
      + (isSuspended ? " Its queue is suspended." : "")
  }
}

extension Diagnosis.Entry {
  /// The number, the types of the actions, the call site, the names, the mode, and the time without a move.
  package var line: String {
    var parts = ["\(number). \(name) at \(callSite)"]
    if !names.isEmpty { parts.append("named \(names.joined(separator: " and "))") }
    if let mode { parts.append("\(mode)") }
    if let age { parts.append("in flight for \(age.inWords)") }
    if let timeUnmoved, timeUnmoved != age { parts.append("unmoved for \(timeUnmoved.inWords)") }
    return parts.joined(separator: ", ").onOneLine
  }

  /// The types of the actions.
  package var name: String {
    if actions.isEmpty { return id == nil ? "A call" : "A dispatch" }
    let types = actions.prefix(3).map { "\(type(of: $0))" }
    return (types + (actions.count > types.count ? ["…"] : [])).joined(separator: ", ")
  }
}

extension Diagnosis.Cycle {
  /// The waits, in the order of the cycle.
  fileprivate var line: String {
    let clauses = edges.map { "\($0.from) \($0.label) \($0.to)" }
    let head = isProbable ? "A probable cycle" : "A cycle"
    return "\(head): \(clauses.joined(separator: ", ")).".onOneLine
  }
}

extension Duration {
  /// The duration in seconds, or in milliseconds if it is below one second.
  var inWords: String {
    let nanoseconds = max(wholeNanoseconds, 0)
    guard nanoseconds >= 1_000_000_000 else { return "\(nanoseconds / 1_000_000) ms" }
    let tenths = nanoseconds / 100_000_000
    return tenths.isMultiple(of: 10) ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }
}
