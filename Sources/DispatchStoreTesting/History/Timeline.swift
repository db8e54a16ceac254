/// Operations drawn as bars, a row for each process, and another where its own operations overlap.
struct Timeline {
  private struct Bar {
    let name: String
    let process: String
    let start: Int
    /// Nil where it never returned.
    let end: Int?
  }

  private var bars: [Bar] = []
  private var width = 0

  init<Operation, Response>(_ operations: [RecordedOperation<Operation, Response>]) {
    let operations = operations.sorted { $0.callStamp < $1.callStamp }
    let events = EventList(operations)
    var starts = Array(repeating: 0, count: operations.count)
    var ends: [Int?] = Array(repeating: nil, count: operations.count)
    for event in 0..<events.end {
      let place = events.operation[event]
      if events.isReturn[event] {
        // Wide enough for its name.
        width = max(width, starts[place] + "|-#\(operations[place].number)-".count)
        ends[place] = width
      } else {
        starts[place] = width
      }
      width += 2
    }
    for (place, operation) in operations.enumerated() {
      if ends[place] == nil { width = max(width, starts[place] + "|-#\(operation.number)--".count) }
      bars.append(
        Bar(
          name: "#\(operation.number)", process: operation.process, start: starts[place],
          end: ends[place]))
    }
  }

  var lines: [String] {
    var processes: [String] = []
    for bar in bars where !processes.contains(bar.process) { processes.append(bar.process) }
    let margin = processes.map(\.count).max() ?? 0
    return processes.flatMap { process in
      rows(of: bars.filter { $0.process == process }).enumerated().map { place, row in
        let name = place == 0 ? process : ""
        return name + String(repeating: " ", count: margin - name.count + 2) + row
      }
    }
  }

  /// Each bar goes to the first row that is free where it starts.
  private func rows(of bars: [Bar]) -> [String] {
    var rows: [String] = []
    for bar in bars {
      let row = rows.firstIndex { $0.count < bar.start || (bar.start == 0 && $0.isEmpty) }
      let place = row ?? rows.count
      if row == nil { rows.append("") }
      rows[place] += String(repeating: " ", count: bar.start - rows[place].count) + drawn(bar)
    }
    return rows
  }

  private func drawn(_ bar: Bar) -> String {
    let free = (bar.end ?? width) - bar.start - 1 - bar.name.count
    let before = bar.end == nil ? 1 : free / 2
    let dashes = { String(repeating: "-", count: $0) }
    return "|" + dashes(before) + bar.name + dashes(free - before) + (bar.end == nil ? "..." : "|")
  }
}
