/// The number formats of the report.
enum Numbers {
  /// Formats `1234567` as `1,234,567`.
  static func grouped(_ number: Int) -> String {
    var text = ""
    let digits = String(number.magnitude)
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return number < 0 ? "-\(text)" : text
  }

  /// A number with a fixed count of decimals.
  static func fixed(_ number: Double, decimals: Int) -> String {
    let scale = (0..<decimals).reduce(1) { product, _ in product * 10 }
    let scaled = Int((number * Double(scale)).rounded())
    guard decimals > 0 else { return grouped(scaled) }
    let fraction = String(scaled.magnitude % UInt(scale))
    let padding = String(repeating: "0", count: decimals - fraction.count)
    let sign = scaled < 0 && scaled / scale == 0 ? "-" : ""
    return "\(sign)\(grouped(scaled / scale)).\(padding)\(fraction)"
  }

  /// A duration in the unit that suits it.
  static func duration(_ nanoseconds: UInt64) -> String {
    let value = Double(nanoseconds)
    return switch nanoseconds {
    case ..<1000: "\(nanoseconds) ns"
    case ..<1_000_000: "\(fixed(value / 1e3, decimals: 1)) µs"
    case ..<1_000_000_000: "\(fixed(value / 1e6, decimals: 1)) ms"
    default: "\(fixed(value / 1e9, decimals: 1)) s"
    }
  }

  /// Formats a count with its noun: `1 commit`, `2 commits`.
  static func counted(_ number: Int, _ noun: String) -> String {
    "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
  }
}
