import Foundation

/// Prints findings as lines of a table, each as soon as it is known.
struct Table: Sendable {
  private let widths: [Int]

  init(_ rows: [Row]) {
    let paths = rows.map(\.path.count).max() ?? 0
    widths = [paths, 29, 12, 7]
  }

  func printHeader() {
    printLine(["path", "measured (quartiles)", "at most", "", "ns per action : floor's"])
    printLine(widths.map { String(repeating: "-", count: $0) } + ["----------------------"])
  }

  func print(_ finding: Finding) {
    let spread = [finding.firstQuartile, finding.thirdQuartile].map { number($0) }
    printLine([
      finding.path,
      "\(number(finding.median)) \(finding.unit.prefix { $0 != " " }) (\(spread.joined(separator: "–")))",
      "\(number(finding.bound)) \(finding.unit)",
      finding.met ? "met" : "not met",
      floor(of: finding),
    ])
  }

  func printSummary(_ findings: [Finding]) {
    Swift.print("\(findings.count { $0.met }) of \(findings.count) met")
    fflush(nil)
  }

  private func floor(of finding: Finding) -> String {
    guard let subject = finding.subjectNanoseconds, let floor = finding.floorNanoseconds else {
      return ""
    }
    return "\(number(subject)) : \(number(floor)) (\(finding.floor))"
  }

  private func printLine(_ cells: [String]) {
    let padded = cells.enumerated().map { index, cell in
      guard index < widths.count else { return cell }
      return cell + String(repeating: " ", count: max(0, widths[index] - cell.count))
    }
    Swift.print(padded.joined(separator: "  "))
    fflush(nil)
  }

  /// With three digits, or as a whole number where it has more.
  private func number(_ value: Double) -> String {
    if value == value.rounded() && value < 10_000 { return String(Int(value)) }
    let digits = value < 10 ? 2 : value < 100 ? 1 : 0
    return String(format: "%.\(digits)f", value)
  }
}
