extension HistoryWitness: CustomStringConvertible {
  /// The last operations of the order, those that have no place and why, and a timeline of them.
  public var description: String {
    let isCut = order.count > Self.shownSteps
    let shown = order.suffix(Self.shownSteps)
    let before = isCut ? order[order.count - Self.shownSteps - 1].state : initialState
    var lines = [title, "Longest legal order, from \(Self.short(before)):"]
    if isCut { lines.append("  (after \(order.count - Self.shownSteps) operations)") }
    if shown.isEmpty { lines.append("  (no operation)") }
    let names = shown.map { Self.short($0.operation) }
    let width = names.map(\.count).max() ?? 0
    for (name, step) in zip(names, shown) {
      let padding = String(repeating: " ", count: width - name.count)
      lines.append("  \(name)\(padding)  leaves \(Self.short(step.state))")
    }
    lines.append("No place in it for:")
    let misfits = misfits.prefix(Self.shownMisfits)
    lines += misfits.map { "  \(Self.short($0.operation)): \(Self.text($0.reason))" }
    lines += left(self.misfits.count - misfits.count)
    let pending = pending.suffix(Self.shownMisfits)
    if !pending.isEmpty { lines.append("Not returned yet, and need no place:") }
    lines += pending.map { "  \(Self.short($0))" }
    lines += left(self.pending.count - pending.count)
    lines.append("Timeline of these:")
    lines += Timeline(shown.map(\.operation) + misfits.map(\.operation) + pending).lines
      .map { "  \($0)" }
    return lines.joined(separator: "\n")
  }

  private static var shownSteps: Int { 8 }
  private static var shownMisfits: Int { 8 }

  private var title: String {
    let last = prefix.operations.max {
      ($0.returned?.stamp ?? .min) < ($1.returned?.stamp ?? .min)
    }
    let place = object.map { " for \($0)" } ?? ""
    return "Not linearizable\(place), as of the return of \(last.map(Self.short) ?? "nothing")."
  }

  private func left(_ count: Int) -> [String] {
    count > 0 ? ["  (and \(count) more)"] : []
  }

  private static func text(_ reason: Reason) -> String {
    switch reason {
    case .responses(let responses):
      let shown = responses.prefix(4).map { short($0) }.joined(separator: " or ")
      return "would be \(shown)" + (responses.count > 4 ? " or others" : "")
    case .spoils(let later, let response):
      return "fits before #\(later.number), which would then be \(short(response))"
    case .follows(let earlier):
      return "called after #\(earlier.number) had returned"
    }
  }

  /// On one line, and not too long for it.
  private static func short(_ value: some Any) -> String {
    let text = "\(value)".replacing("\n", with: " ")
    return text.count > 80 ? text.prefix(79) + "…" : text
  }
}
