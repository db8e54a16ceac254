// Parts that may be missing.
extension PartPath {
  /// The path to the value of an optional.
  @inlinable
  static func unwrapping<Whole: Sendable>(
    _ path: any WritableKeyPath<Whole, Value?> & Sendable
  ) -> PartPath {
    .inside(
      PartPath<Value?>.property(path),
      read: { optional, body in
        guard let value = optional.pointee else { return false }
        withUnsafePointer(to: value) { body($0) }
        return true
      },
      modify: { optional, body in
        if optional.pointee == nil { return false }
        withUnsafeMutablePointer(to: &optional.pointee!) { body($0) }
        return true
      },
      name: { "the value of \(path)" })
  }

  /// The path to an element, by its identity.
  @inlinable
  static func element<
    Whole: Sendable, Elements: MutableCollection & RandomAccessCollection & Sendable
  >(
    of path: any WritableKeyPath<Whole, Elements> & Sendable, id: Value.ID
  ) -> PartPath
  where Elements.Element == Value, Elements.Index == Int, Value: Identifiable, Value.ID: Sendable {
    let hint = IndexHint()
    return .inside(
      PartPath<Elements>.property(path),
      read: { elements, body in
        guard let index = elements.pointee.index(of: id, near: hint) else { return false }
        withUnsafePointer(to: elements.pointee[index]) { body($0) }
        return true
      },
      modify: { $0.pointee.modifyElement(id, near: hint, $1) },
      name: { "the element with id \(id) of \(path)" })
  }

  /// The path to the value for a key.
  @inlinable
  static func value<Whole: Sendable, Key: Hashable & Sendable>(
    of path: any WritableKeyPath<Whole, [Key: Value]> & Sendable, key: Key
  ) -> PartPath {
    .inside(
      PartPath<[Key: Value]>.property(path),
      read: { values, body in
        guard let value = values.pointee[key] else { return false }
        withUnsafePointer(to: value) { body($0) }
        return true
      },
      modify: { $0.pointee.modifyValue(for: key, $1) },
      name: { "the value for key \(key) of \(path)" })
  }
}
