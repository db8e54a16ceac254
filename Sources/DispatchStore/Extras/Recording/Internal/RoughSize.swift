private import Foundation

/// Estimates the memory of values, by reflection.
enum RoughSize {
  /// The number of parts that are looked at; the others count as these.
  private static let partLimit = 1_000

  /// Returns an estimate in bytes.
  static func of(_ value: Any) -> Int {
    var left = partLimit
    return size(of: value, &left)
  }

  /// Returns an estimate for a dispatch, without the rest of models, which shares its storage with the next one's.
  static func of(_ ended: RecorderState.Ended, _ work: RecorderState.UnderWay) -> Int {
    let actions = ended.actions.reduce(0) { $0 + of($1) }
    let parts = work.commits.flatMap(\.taped.change.partChanges)
    let elements = parts.flatMap { $0.elements ?? [] }
    return 500 + actions + 200 * work.commits.count
      + elements.reduce(0) { $0 + of($1.key) + ($1.new.map(of) ?? 0) }
  }

  private static func size(of value: Any, _ left: inout Int) -> Int {
    left -= 1
    switch value {
    case let text as String: return 16 + text.utf8.count
    case let data as Data: return 16 + data.count
    default: break
    }
    let mirror = Mirror(reflecting: value)
    let (own, count) = (fixedSize(value), mirror.children.count)
    guard count > 0, left > 0 else { return own }
    var (parts, seen) = (0, 0)
    for child in mirror.children {
      if left <= 0 { break }
      parts += size(of: child.value, &left)
      seen += 1
    }
    return own + (seen < count ? parts / max(1, seen) * count : parts)
  }

  private static func fixedSize<Value>(_ value: Value) -> Int {
    func open<Dynamic>(_ value: Dynamic) -> Int { MemoryLayout<Dynamic>.size }
    return _openExistential(value as Any, do: open)
  }
}
