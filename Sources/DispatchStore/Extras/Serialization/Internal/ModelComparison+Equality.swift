extension ModelComparison {
  /// Whether nothing differs; stops at the first difference, and takes time linear in the values at any depth.
  static func areEqual(_ old: Any, _ new: Any) -> Bool {
    if let old = DiffShape.optional(old), let new = DiffShape.optional(new) {
      if let old, let new { return areEqual(old, new) }
      return old == nil && new == nil
    }
    if type(of: old) is AnyClass, type(of: new) is AnyClass {
      return old as AnyObject === new as AnyObject || DiffShape.isEqual(old, new) == true
    }
    if let isEqual = DiffShape.isEqual(old, new) { return isEqual || areNaN(old, new) }
    return haveEqualParts(DiffShape(old), DiffShape(new))
  }

  private static func haveEqualParts(_ old: DiffShape, _ new: DiffShape) -> Bool {
    switch (old, new) {
    case (.leaf(let old), .leaf(let new)):
      return old == new
    case (.text(let old), .text(let new)):
      return old == new
    case (.fields(let name, let old), .fields(let other, let new)):
      guard name == other, old.map(\.label) == new.map(\.label) else { return false }
      return zip(old, new).allSatisfy { areEqual($0.value, $1.value) }
    case (.list(let old), .list(let new)):
      return old.count == new.count && zip(old, new).allSatisfy { areEqual($0, $1) }
    case (.entries(let old), .entries(let new)):
      guard old.count == new.count else { return false }
      return old.allSatisfy { key, value in new[key].map { areEqual(value, $0) } ?? false }
    case (.members(let old), .members(let new)):
      return old == new
    default:
      return false
    }
  }

  package static func areNaN(_ old: Any, _ new: Any) -> Bool {
    guard let old = old as? any FloatingPoint, let new = new as? any FloatingPoint else {
      return false
    }
    return old.isNaN && new.isNaN
  }
}
