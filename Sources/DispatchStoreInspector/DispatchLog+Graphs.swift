public import DispatchStore

extension DispatchLog {
  /// The causes among the dispatches, as a graph for Graphviz: `dot -Tsvg`.
  ///
  /// To draw one tree, take `tree(of:)` before.
  public func graphviz() -> String {
    var lines = ["digraph {", "  node [shape=box, fontname=\"sans-serif\"];"]
    for (number, entry) in entries.enumerated() {
      let label = entry.lines.map(Self.escaped).joined(separator: "\\n")
      let color = entry.hasFailed ? ", color=\"#c92a35\"" : ""
      lines.append("  d\(number) [label=\"\(label)\"\(color)];")
    }
    for (parent, child) in edges { lines.append("  d\(parent) -> d\(child);") }
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  /// The causes among the dispatches, as a Mermaid flowchart.
  public func mermaid() -> String {
    var lines = ["flowchart LR"]
    for (number, entry) in entries.enumerated() {
      lines.append(
        "  d\(number)[\"\(entry.lines.map(\.escapedForMermaid).joined(separator: "<br/>"))\"]")
    }
    for (parent, child) in edges { lines.append("  d\(parent) --> d\(child)") }
    let failed = entries.indices.filter { entries[$0].hasFailed }.map { "d\($0)" }
    if !failed.isEmpty {
      lines.append("  classDef failed stroke:#c92a35,stroke-width:2px")
      lines.append("  class \(failed.joined(separator: ",")) failed")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The indices of parents with those of their children.
  private var edges: [(Int, Int)] {
    var indices: [UInt64: Int] = [:]
    for (index, entry) in entries.enumerated() { if let id = entry.id { indices[id] = index } }
    return entries.enumerated().compactMap { index, entry in
      entry.parent.flatMap { indices[$0] }.map { ($0, index) }
    }
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\"", "\\": result += "\\\(character)"
      case _ where character.isNewline || character.isControl:
        result += " "
      default: result.append(character)
      }
    }
    return result
  }
}

extension DispatchLog.Entry {
  /// The longest line of a node, in characters.
  private static let lineLimit = 60

  fileprivate var hasFailed: Bool { error != nil }

  /// The action, the lane or mode, and the stores with their versions.
  fileprivate var lines: [String] {
    let text = actions.first?.text ?? title
    let cut = text.count > Self.lineLimit ? text.prefix(Self.lineLimit) + "…" : text
    let runs = stores.map { run in
      let versions =
        run.oldVersion == run.newVersion ? "" : " \(run.oldVersion) → \(run.newVersion)"
      return run.store + (run.outcome == .finished ? versions : " \(run.outcome.rawValue)")
    }
    return [cut, lane ?? mode, runs.joined(separator: ", ")].filter { !$0.isEmpty }
  }
}
