extension Diagnosis: CustomStringConvertible {
  /// The rings, then each entry with what it does and waits for; what has not moved for the longest time first.
  public var description: String {
    var lines = [headline]
    if !hasTable {
      lines.append(
        """
        What is in flight is not known: register a Watchdog, or an InFlightDispatches, with the dispatcher.
        """)
    }
    for cycle in cycles { lines.append(cycle.description) }
    for entry in entries {
      lines.append(entry.description)
      lines += entry.states.map { "   \($0)" }
    }
    return lines.joined(separator: "\n")
  }

  private var headline: String {
    let waiting = entries.count(where: \.isWaiting)
    let counts = "\(entries.count) in flight, \(waiting) of them waiting"
    let rings = cycles.isEmpty ? "" : cycles.count == 1 ? "; a ring" : "; \(cycles.count) rings"
    return "Dispatcher \"\(dispatcher)\": \(counts)\(rings)."
      + (isSuspended ? " Its queue is suspended." : "")
  }
}

extension Diagnosis.Entry: CustomStringConvertible {
  /// Its number, the types of its actions, its call site, its mode, and for how long it has not moved.
  public var description: String {
    var parts = ["\(number). \(name) at \(callSite)"]
    if let mode { parts.append("\(mode)") }
    if let age { parts.append("in flight for \(age.inWords)") }
    if let timeUnmoved, timeUnmoved != age { parts.append("unmoved for \(timeUnmoved.inWords)") }
    return parts.joined(separator: ", ").onOneLine
  }

  /// The types of its actions.
  var name: String {
    if actions.isEmpty { return id == nil ? "A call" : "A dispatch" }
    let types = actions.prefix(3).map { "\(type(of: $0))" }
    return (types + (actions.count > types.count ? ["…"] : [])).joined(separator: ", ")
  }
}

extension Diagnosis.Cycle: CustomStringConvertible {
  /// Its waits, one after the other.
  public var description: String {
    let clauses = edges.map { "\($0.from) \($0.label) \($0.to)" }
    let head = isProbable ? "A probable ring" : "A ring"
    return "\(head): \(clauses.joined(separator: ", ")).".onOneLine
  }
}

extension String {
  /// Without the line breaks that a name of the program's may have.
  var onOneLine: String {
    contains(where: \.isNewline)
      ? split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        .joined(separator: "\\n")
      : self
  }
}

extension Duration {
  /// In seconds, or below one in milliseconds.
  var inWords: String {
    let nanoseconds = max(wholeNanoseconds, 0)
    guard nanoseconds >= 1_000_000_000 else { return "\(nanoseconds / 1_000_000) ms" }
    let tenths = nanoseconds / 100_000_000
    return tenths.isMultiple(of: 10) ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }
}
