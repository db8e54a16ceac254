private import Foundation

/// Estimates the memory of values, by reflection; an object counts as a reference, because other threads may be changing its
/// fields.
enum RoughSize {
  /// The number of parts that are looked at; the others count as these.
  private static let partLimit = 1_000

  /// Returns an estimate in bytes.
  static func of(_ value: Any) -> Int {
    var left = partLimit
    return size(of: value, &left)
  }

  /// Returns an estimate for the actions of a dispatch, and the errors of its stores.
  static func of(_ entry: RecorderState.Entry) -> Int {
    let actions = entry.dispatch?.actions.reduce(0) { $0 + of($1) } ?? 0
    return entry.runs.reduce(actions) { $0 + ($1.outcome.error.map(of) ?? 0) }
  }

  /// Returns an estimate for what a commit has replaced and inserted.
  static func of(_ commit: TapedCommit) -> Int {
    let elements = commit.partChanges.flatMap { $0.elements ?? [] }
    var left = partLimit
    return elements.reduce(200 + replaced(commit.rests.old.model, commit.rests.new.model, &left)) {
      $0 + of($1.key) + ($1.old.map(of) ?? 0) + ($1.new.map(of) ?? 0)
    }
  }

  /// Returns an estimate of the parts of an old value that a new one does not share.
  private static func replaced(_ old: Any, _ new: Any, _ left: inout Int) -> Int {
    if hasSameBytes(old, new) { return 0 }
    if isObject(old) || isObject(new) { return size(of: old, &left) }
    let (olds, news) = (Mirror(reflecting: old), Mirror(reflecting: new))
    guard olds.displayStyle == .struct, !(old is Data), olds.children.count == news.children.count,
      left > 0
    else {
      return size(of: old, &left)
    }
    var sum = 0
    for (old, new) in zip(olds.children, news.children) {
      sum += replaced(old.value, new.value, &left)
    }
    return sum
  }

  /// Whether two values are the same in memory, so that they share all of their storage.
  private static func hasSameBytes(_ old: Any, _ new: Any) -> Bool {
    func open<Value>(_ old: Value) -> Bool {
      (new as? Value).map { haveSameBytes(old, $0) } ?? false
    }
    return _openExistential(old, do: open)
  }

  private static func size(of value: Any, _ left: inout Int) -> Int {
    left -= 1
    let (own, isWhole) = fixedSize(value)
    // Numbers, dates and the like, of which most values are made: reflection would find nothing more.
    if isWhole { return own }
    switch value {
    case let text as String: return 16 + text.utf8.count
    case let data as Data: return 16 + data.count
    case let url as URL: return 16 + url.relativeString.utf8.count
    default: break
    }
    if isObject(value) { return own + 16 }
    let mirror = Mirror(reflecting: value)
    let count = mirror.children.count
    guard count > 0, left > 0 else { return own }
    var (parts, seen) = (0, 0)
    for child in mirror.children {
      if left <= 0 { break }
      parts += size(of: child.value, &left)
      seen += 1
    }
    return own + (seen < count ? parts / max(1, seen) * count : parts)
  }

  private static func isObject(_ value: Any) -> Bool { type(of: value) is AnyClass }

  /// Returns the size of a value without what it refers to, and whether it refers to nothing.
  private static func fixedSize(_ value: Any) -> (Int, isWhole: Bool) {
    func open<Dynamic>(_ value: Dynamic) -> (Int, Bool) {
      (MemoryLayout<Dynamic>.size, _isPOD(Dynamic.self))
    }
    return open(value)
  }
}
