/// Where a part is in a whole: how it is read, and changed in place; it may be gone.
///
/// Both take the whole's address, and call a closure with the part's, at most once; they say whether there is one. So
/// nothing is copied, and no value is passed through code that is not compiled for its type: the factories are
/// inlined into the program.
@usableFromInline
struct PartPath<Value: Sendable>: Sendable {
  @usableFromInline
  typealias Read = @Sendable (UnsafeRawPointer, (UnsafePointer<Value>) -> Void) -> Bool
  @usableFromInline
  typealias Modify =
    @Sendable (UnsafeMutableRawPointer, (UnsafeMutablePointer<Value>) -> Void) -> Bool

  @usableFromInline let read: Read
  @usableFromInline let modify: Modify
  /// For messages; described only where there is one.
  @usableFromInline let name: @Sendable () -> String
  /// The distance from the whole's address, where the part is stored in the whole itself, and so is always there.
  @usableFromInline let offset: Int?

  @inlinable
  init(
    read: @escaping Read, modify: @escaping Modify, name: @escaping @Sendable () -> String,
    offset: Int? = nil
  ) {
    self.read = read
    self.modify = modify
    self.name = name
    self.offset = offset
  }

  /// A part that is stored in the whole itself.
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

  /// A part that is always there.
  @inlinable
  static func property<Whole: Sendable>(
    _ path: any WritableKeyPath<Whole, Value> & Sendable
  ) -> PartPath {
    let name: @Sendable () -> String = { "\(path)" }
    // A key path to stored properties is no more than that; following it takes several times as long.
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
      name: name)
  }

  /// Changes the part by a closure that may throw; nil where it is gone.
  ///
  /// - Parameter commit: Changes the whole, unless its closure says that it has found nothing to change.
  @inlinable
  func update<Result, Failure: Error>(
    by commit: @escaping ((UnsafeMutableRawPointer) -> Bool) -> Void,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    var result: Swift.Result<Result, Failure>?
    commit { whole in
      modify(whole) { part in
        result = Swift.Result { () throws(Failure) in try body(&part.pointee) }
      }
    }
    return try result?.get()
  }

  /// The path to a part of the part.
  @inlinable
  func appending<Next>(_ next: PartPath<Next>) -> PartPath<Next> {
    let (path, name) = (self, PartName.joining(next.name, name))
    guard let offset else {
      return PartPath<Next>(
        read: { whole, body in
          var isFound = false
          _ = path.read(whole) { isFound = next.read(UnsafeRawPointer($0), body) }
          return isFound
        },
        modify: { whole, body in
          var isFound = false
          _ = path.modify(whole) { isFound = next.modify(UnsafeMutableRawPointer($0), body) }
          return isFound
        },
        name: name)
    }
    if offset == 0 { return next.named(name) }
    if let nextOffset = next.offset { return .stored(at: offset + nextOffset, name) }
    return PartPath<Next>(
      read: { next.read($0 + offset, $1) }, modify: { next.modify($0 + offset, $1) }, name: name)
  }

  @inlinable
  func named(_ name: @escaping @Sendable () -> String) -> PartPath {
    PartPath(read: read, modify: modify, name: name, offset: offset)
  }
}

/// What parts are called in messages.
@usableFromInline
enum PartName {
  /// A part, and the one that it is in; the whole has no name.
  @usableFromInline
  static func joining(
    _ part: @escaping @Sendable () -> String, _ whole: @escaping @Sendable () -> String
  ) -> @Sendable () -> String {
    {
      let whole = whole()
      return whole.isEmpty ? part() : "\(part()) in \(whole)"
    }
  }

  @usableFromInline
  static func element(_ id: Any, of path: AnyKeyPath) -> String {
    "the element with id \(id) of \(path)"
  }

  @usableFromInline
  static func value(_ key: Any, of path: AnyKeyPath) -> String {
    "the value for key \(key) of \(path)"
  }
}
