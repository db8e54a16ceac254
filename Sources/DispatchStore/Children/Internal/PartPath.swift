/// Where a part is in a whole: how it is read, and changed in place; it may be gone.
///
/// Both call a closure with the part, at most once, and say whether there is one: nothing around the part is copied.
struct PartPath<Whole: Sendable, Value: Sendable>: Sendable {
  let read: @Sendable (Whole, (Value) -> Void) -> Bool
  let modify: @Sendable (inout Whole, (inout Value) -> Void) -> Bool
  /// For messages; described only where there is one.
  let name: @Sendable () -> String

  /// A copy of the part; nil where it is gone.
  func value(in whole: Whole) -> Value? {
    var value: Value?
    _ = read(whole) { value = $0 }
    return value
  }

  /// Changes the part by a closure that may throw; false where it is gone.
  func modify(_ whole: inout Whole, throwing body: (inout Value) throws -> Void) throws -> Bool {
    var failure: (any Error)?
    let isFound = modify(&whole) { value in
      do { try body(&value) } catch { failure = error }
    }
    if let failure { throw failure }
    return isFound
  }

  /// The path to a part of the part.
  func appending<Next>(_ next: PartPath<Value, Next>) -> PartPath<Whole, Next> {
    let (read, modify, name) = (read, modify, name)
    return PartPath<Whole, Next>(
      read: { whole, body in
        var isFound = false
        _ = read(whole) { isFound = next.read($0, body) }
        return isFound
      },
      modify: { whole, body in
        var isFound = false
        _ = modify(&whole) { isFound = next.modify(&$0, body) }
        return isFound
      },
      name: { "\(next.name()) in \(name())" })
  }
}

extension PartPath where Whole == Value {
  /// The whole itself.
  static var whole: PartPath {
    PartPath(
      read: { whole, body in
        body(whole)
        return true
      },
      modify: { whole, body in
        body(&whole)
        return true
      },
      name: { "\(Whole.self)" })
  }
}

extension PartPath {
  /// A part that is always there.
  static func property(_ path: any WritableKeyPath<Whole, Value> & Sendable) -> PartPath {
    PartPath(
      read: { whole, body in
        body(whole[keyPath: path])
        return true
      },
      modify: { whole, body in
        body(&whole[keyPath: path])
        return true
      },
      name: { "\(path)" })
  }

  /// What an optional holds.
  static func unwrapping(_ path: any WritableKeyPath<Whole, Value?> & Sendable) -> PartPath {
    PartPath(
      read: { whole, body in
        guard let value = whole[keyPath: path] else { return false }
        body(value)
        return true
      },
      modify: { whole, body in whole[keyPath: path].modify(body) },
      name: { "the value of \(path)" })
  }

  /// An element by its identity.
  static func element<Elements: MutableCollection & RandomAccessCollection & Sendable>(
    of path: any WritableKeyPath<Whole, Elements> & Sendable, id: Value.ID
  ) -> PartPath
  where Elements.Element == Value, Elements.Index == Int, Value: Identifiable, Value.ID: Sendable {
    let hint = IndexHint()
    return PartPath(
      read: { whole, body in
        let elements = whole[keyPath: path]
        guard let index = elements.index(of: id, near: hint) else { return false }
        body(elements[index])
        return true
      },
      modify: { whole, body in whole[keyPath: path].modifyElement(id, near: hint, body) },
      name: { PartName.element(id: id, of: path) })
  }

  /// The value for a key.
  static func value<Key: Hashable & Sendable>(
    of path: any WritableKeyPath<Whole, [Key: Value]> & Sendable, key: Key
  ) -> PartPath {
    PartPath(
      read: { whole, body in
        guard let value = whole[keyPath: path][key] else { return false }
        body(value)
        return true
      },
      modify: { whole, body in whole[keyPath: path][key].modify(body) },
      name: { PartName.value(key: key, of: path) })
  }

  /// The payload of a case.
  static func `case`(
    extract: @escaping @Sendable (Whole) -> Value?, embed: @escaping @Sendable (Value) -> Whole
  ) -> PartPath {
    PartPath(
      read: { whole, body in
        guard let value = extract(whole) else { return false }
        body(value)
        return true
      },
      modify: { whole, body in
        guard var value = extract(whole) else { return false }
        body(&value)
        whole = embed(value)
        return true
      },
      name: { "the case of \(Whole.self) that holds \(Value.self)" })
  }
}

extension Optional {
  /// Changes what it holds, in place; false where that is nothing.
  mutating func modify(_ body: (inout Wrapped) -> Void) -> Bool {
    if self == nil { return false }
    body(&self!)
    return true
  }
}

/// What parts are called in messages.
enum PartName {
  static func element(id: Any, of path: AnyKeyPath) -> String {
    "the element with id \(id) of \(path)"
  }

  static func value(key: Any, of path: AnyKeyPath) -> String {
    "the value for key \(key) of \(path)"
  }
}
