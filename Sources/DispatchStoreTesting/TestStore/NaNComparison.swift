import DispatchStore

/// Compares values part by part that `==` tells apart, and takes pairs of NaN as equal.
struct NaNComparison {
  private var pairCount = 0

  /// Whether the values differ in pairs of NaN only, or not at all.
  mutating func areSame(_ expected: Any, _ actual: Any) -> Bool {
    let (expected, actual) = (DiffShape.unwrap(expected), DiffShape.unwrap(actual))
    guard type(of: expected) == type(of: actual) else { return false }
    let isEqual = DiffShape.isEqual(expected, actual)
    if isEqual == true { return true }
    if let expected = expected as? any FloatingPoint, let actual = actual as? any FloatingPoint {
      pairCount += 1
      return expected.isNaN && actual.isNaN
    }
    if type(of: expected) is AnyClass { return expected as AnyObject === actual as AnyObject }
    let count = pairCount
    // A type's `==` may find a difference that its parts don't show.
    return haveSameParts(DiffShape(expected), DiffShape(actual))
      && (isEqual == nil || pairCount > count)
  }

  private mutating func haveSameParts(_ expected: DiffShape, _ actual: DiffShape) -> Bool {
    switch (expected, actual) {
    case (.leaf(let left), .leaf(let right)):
      return left == right
    case (.text(let left), .text(let right)):
      return left == right
    case (.fields(let name, let left), .fields(let other, let right)):
      guard name == other, left.map(\.label) == right.map(\.label) else { return false }
      for (one, other) in zip(left, right) where !areSame(one.value, other.value) { return false }
      return true
    case (.list(let left), .list(let right)):
      guard left.count == right.count else { return false }
      for (one, other) in zip(left, right) where !areSame(one, other) { return false }
      return true
    case (.entries(let left), .entries(let right)):
      guard left.count == right.count else { return false }
      for (key, one) in left {
        guard let other = right[key], areSame(one, other) else { return false }
      }
      return true
    case (.members(let left), .members(let right)):
      return left == right
    default:
      return false
    }
  }
}
