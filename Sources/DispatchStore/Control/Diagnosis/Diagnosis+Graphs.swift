extension Diagnosis {
  /// The waits as a Mermaid flowchart.
  ///
  /// Deadlocks are red, and suspected waits dotted. The chart has no times: equal waits give equal charts.
  public var mermaid: String {
    var lines = ["flowchart TD"]
    for entry in linked {
      lines.append("  d\(entry.number)[\"\(Self.mermaid(label(of: entry)))\"]")
    }
    for edge in edges {
      let arrow = edge.isSuspected ? "-.->" : "-->"
      lines.append("  d\(edge.from) \(arrow)|\"\(edge.label.escapedForMermaid)\"| d\(edge.to)")
    }
    let cyclic = edgesOfCycles
    let marked = edges.indices.filter { cyclic.contains(edges[$0]) }
    if !marked.isEmpty {
      let numbers = Set(cyclic.map(\.from)).sorted().map { "d\($0)" }
      lines.append("  classDef cycle stroke:#c00,stroke-width:2px")
      lines.append("  class \(numbers.joined(separator: ",")) cycle")
      lines.append("  linkStyle \(marked.map(String.init).joined(separator: ",")) stroke:#c00")
    }
    return lines.joined(separator: "\n")
  }

  private var edgesOfCycles: Set<Edge> { Set(cycles.flatMap(\.edges)) }

  /// Entries with edges, so that running ones do not fill the picture; all entries if there are no edges.
  private var linked: [Entry] {
    let numbers = Set(edges.flatMap { [$0.from, $0.to] })
    return numbers.isEmpty ? entries : entries.filter { numbers.contains($0.number) }
  }

  private func label(of entry: Entry) -> [String] {
    ["\(entry.number): \(entry.name)" + (entry.mode.map { ", \($0)" } ?? ""), "\(entry.callSite)"]
  }

  private static func mermaid(_ lines: [String]) -> String {
    lines.map(\.escapedForMermaid).joined(separator: "<br/>")
  }
}
