/// The path to a part of a whole, which may be missing: reads it, and changes it in place.
///
/// `read` and `modify` take the whole's address, and call a closure at most once with the part's address. They return
/// whether the part exists. The factories are inlined into the program, so nothing is copied, and no value passes
/// through unspecialized generic code.
@usableFromInline
struct PartPath<Value: Sendable>: Sendable {
  @usableFromInline
  typealias Read = @Sendable (UnsafeRawPointer, (UnsafePointer<Value>) -> Void) -> Bool
  @usableFromInline
  typealias Modify =
    @Sendable (UnsafeMutableRawPointer, (UnsafeMutablePointer<Value>) -> Void) -> Bool

  @usableFromInline let read: Read
  @usableFromInline let modify: Modify
  /// Describes the part, for messages only.
  @usableFromInline let name: @Sendable () -> String
  /// The part's offset from the whole's address, if it is stored inline and therefore always exists.
  @usableFromInline let offset: Int?
  /// Whether `modify` calls setters or observers of a property on the way.
  @usableFromInline let callsSetters: Bool

  @inlinable
  init(
    read: @escaping Read, modify: @escaping Modify, name: @escaping @Sendable () -> String,
    offset: Int? = nil, callsSetters: Bool = false
  ) {
    self.read = read
    self.modify = modify
    self.name = name
    self.offset = offset
    self.callsSetters = callsSetters
  }

  /// The path to a part inside another one; the closures return whether there is such a part.
  @inlinable
  static func inside<Outer>(
    _ outer: PartPath<Outer>,
    read: @escaping @Sendable (UnsafePointer<Outer>, (UnsafePointer<Value>) -> Void) -> Bool,
    modify:
      @escaping @Sendable (
        UnsafeMutablePointer<Outer>, (UnsafeMutablePointer<Value>) -> Void
      ) -> Bool,
    name: @escaping @Sendable () -> String, callsSetters: Bool = false
  ) -> PartPath {
    PartPath(
      read: { whole, body in
        var isFound = false
        _ = outer.read(whole) { isFound = read($0, body) }
        return isFound
      },
      modify: { whole, body in
        var isFound = false
        // Setters may change the whole, so none is called for a part that is missing.
        if outer.callsSetters {
          _ = outer.read(UnsafeRawPointer(whole)) { isFound = read($0) { _ in } }
          if !isFound { return false }
        }
        _ = outer.modify(whole) { isFound = modify($0, body) }
        return isFound
      },
      name: name, callsSetters: outer.callsSetters || callsSetters)
  }

  /// The path to a part that is stored inline in the whole.
  @inlinable
  static func stored(at offset: Int, _ name: @escaping @Sendable () -> String) -> PartPath {
    PartPath(
      read: { whole, body in
        body((whole + offset).assumingMemoryBound(to: Value.self))
        return true
      },
      modify: { whole, body in
        body((whole + offset).assumingMemoryBound(to: Value.self))
        return true
      },
      name: name, offset: offset)
  }

  /// The path to a part that always exists.
  @inlinable
  static func property<Whole: Sendable>(
    _ path: any WritableKeyPath<Whole, Value> & Sendable
  ) -> PartPath {
    let name: @Sendable () -> String = { "\(path)" }
    // A key path to stored properties is only an offset; following the key path takes several times as long.
    if let offset = MemoryLayout<Whole>.offset(of: path) { return .stored(at: offset, name) }
    return PartPath(
      read: { whole, body in
        withUnsafePointer(to: whole.assumingMemoryBound(to: Whole.self).pointee[keyPath: path]) {
          body($0)
        }
        return true
      },
      modify: { whole, body in
        withUnsafeMutablePointer(
          to: &whole.assumingMemoryBound(to: Whole.self).pointee[keyPath: path]
        ) { body($0) }
        return true
      },
      name: name, callsSetters: true)
  }

  /// The path to a part of the part.
  @inlinable
  func appending<Next>(_ next: PartPath<Next>) -> PartPath<Next> {
    let (part, whole) = (next.name, self.name)
    // The outermost whole has no name.
    let name: @Sendable () -> String = { whole().isEmpty ? part() : "\(part()) in \(whole())" }
    guard let offset else {
      return .inside(
        self, read: { next.read($0, $1) }, modify: { next.modify($0, $1) }, name: name,
        callsSetters: next.callsSetters)
    }
    if let nextOffset = next.offset { return .stored(at: offset + nextOffset, name) }
    return PartPath<Next>(
      read: { next.read($0 + offset, $1) }, modify: { next.modify($0 + offset, $1) }, name: name,
      callsSetters: next.callsSetters)
  }
}
