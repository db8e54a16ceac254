// Parts that may be missing.
extension PartPath {
  /// The path to the value of an optional.
  @inlinable
  static func unwrapping<Whole: Sendable>(
    _ path: any WritableKeyPath<Whole, Value?> & Sendable
  ) -> PartPath {
    let optional = PartPath<Value?>.property(path)
    return PartPath(
      read: { whole, body in
        var isFound = false
        _ = optional.read(whole) { optional in
          guard let value = optional.pointee else { return }
          isFound = true
          withUnsafePointer(to: value) { body($0) }
        }
        return isFound
      },
      modify: { whole, body in
        var isFound = false
        _ = optional.modify(whole) { optional in
          if optional.pointee == nil { return }
          isFound = true
          withUnsafeMutablePointer(to: &optional.pointee!) { body($0) }
        }
        return isFound
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
    let (elements, hint) = (PartPath<Elements>.property(path), IndexHint())
    return PartPath(
      read: { whole, body in
        var isFound = false
        _ = elements.read(whole) { elements in
          guard let index = elements.pointee.index(of: id, near: hint) else { return }
          isFound = true
          withUnsafePointer(to: elements.pointee[index]) { body($0) }
        }
        return isFound
      },
      modify: { whole, body in
        var isFound = false
        _ = elements.modify(whole) { isFound = $0.pointee.modifyElement(id, near: hint, body) }
        return isFound
      },
      name: { PartName.element(id, of: path) })
  }

  /// The path to the value for a key.
  @inlinable
  static func value<Whole: Sendable, Key: Hashable & Sendable>(
    of path: any WritableKeyPath<Whole, [Key: Value]> & Sendable, key: Key
  ) -> PartPath {
    let values = PartPath<[Key: Value]>.property(path)
    return PartPath(
      read: { whole, body in
        var isFound = false
        _ = values.read(whole) { values in
          guard let value = values.pointee[key] else { return }
          isFound = true
          withUnsafePointer(to: value) { body($0) }
        }
        return isFound
      },
      modify: { whole, body in
        var isFound = false
        _ = values.modify(whole) { isFound = $0.pointee.modifyValue(for: key, body) }
        return isFound
      },
      name: { PartName.value(key, of: path) })
  }
}
