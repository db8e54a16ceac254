/// Draws operations as bars: a row for each process, and further rows if the process's operations overlap.
struct Timeline {
  private struct Bar {
    let name: String
    let process: String
    let start: Int
    /// The end of the bar, or nil if the operation never returned.
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
      let index = events.operation[event]
      if events.isReturn[event] {
        // Leaves room for the operation's name.
        width = max(width, starts[index] + "|-#\(operations[index].number)-".count)
        ends[index] = width
      } else {
        starts[index] = width
      }
      width += 2
    }
    for (index, operation) in operations.enumerated() {
      if ends[index] == nil { width = max(width, starts[index] + "|-#\(operation.number)--".count) }
      bars.append(
        Bar(
          name: "#\(operation.number)", process: operation.process, start: starts[index],
          end: ends[index]))
    }
  }

  var lines: [String] {
    var processes: [String] = []
    for bar in bars where !processes.contains(bar.process) { processes.append(bar.process) }
    let margin = processes.map(\.count).max() ?? 0
    return processes.flatMap { process in
      rows(of: bars.filter { $0.process == process }).enumerated().map { index, row in
        let name = index == 0 ? process : ""
        return name + String(repeating: " ", count: margin - name.count + 2) + row
      }
    }
  }

  /// Puts each bar into the first row that is free at the bar's start.
  private func rows(of bars: [Bar]) -> [String] {
    var rows: [String] = []
    for bar in bars {
      let free = rows.firstIndex { $0.count < bar.start || (bar.start == 0 && $0.isEmpty) }
      let row = free ?? rows.count
      if free == nil { rows.append("") }
      rows[row] += String(repeating: " ", count: bar.start - rows[row].count) + drawn(bar)
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
