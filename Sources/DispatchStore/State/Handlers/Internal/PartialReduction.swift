/// Collects the `unchanged()` calls of a reduction's parts: the whole is unchanged if every part is.
@usableFromInline
struct PartialReduction {
  /// Whether no part has changed anything yet.
  @usableFromInline private(set) var isUnchanged = true
  /// The thread that reduces.
  private let thread = ThreadState.current

  @usableFromInline
  init() {}

  /// Calls a part's handler in the reduction of the whole.
  mutating func reduce(_ handler: () throws -> Void) rethrows {
    let before = begin()
    defer { end(of: thread.exclusive.map { ObjectIdentifier($0) }, before) }
    try handler()
  }

  /// Calls a part's reducer in the reduction of the whole.
  @inlinable
  mutating func reduce<Model, Action>(
    _ model: inout Model, _ action: Action, by reducer: Reducer<Model, Action>
  ) throws {
    let before = begin()
    defer { end(of: ObjectIdentifier(reducer), before) }
    try reducer.reduce(into: &model, action: action)
  }

  /// Calls a part's reducer on the part that a closure finds; returns false if it finds none.
  @inlinable
  mutating func reduce<Model, Action>(
    _ action: Action, by reducer: Reducer<Model, Action>,
    in modify: ((UnsafeMutablePointer<Model>) -> Void) -> Bool
  ) throws -> Bool {
    var result: Result<Void, any Error>?
    let isFound = modify { part in
      result = Result { try reduce(&part.pointee, action, by: reducer) }
    }
    try result?.get()
    return isFound
  }

  /// Begins a call, and returns the previous `unchanged()` note, which may be of the same reducer but not of this
  /// call.
  @usableFromInline
  func begin() -> ObjectIdentifier? {
    thread.exchangeUnchanged(by: nil)
  }

  /// Ends a call, and restores the previous note.
  @usableFromInline
  mutating func end(of reducer: ObjectIdentifier?, _ before: ObjectIdentifier?) {
    if thread.exchangeUnchanged(by: before) != reducer { isUnchanged = false }
  }

  /// Records that code other than a reducer may have changed something.
  @usableFromInline
  mutating func noteChange() { isUnchanged = false }
}

extension Reducer {
  @usableFromInline
  typealias PartsBody = @Sendable (inout Model, Action, inout PartialReduction) throws -> Void

  /// Calls the parts' reducers, and then `unchanged()` if none has changed anything.
  final func reduceParts(_ body: (inout PartialReduction) throws -> Void) rethrows {
    var reduction = PartialReduction()
    defer { if reduction.isUnchanged { unchanged() } }
    try body(&reduction)
  }
}

extension ThreadState {
  /// Sets the reducer that has reported no change, for a reducer that calls others and needs the report of each.
  ///
  /// - Returns: The reducer that was set before.
  fileprivate func exchangeUnchanged(by reducer: ObjectIdentifier?) -> ObjectIdentifier? {
    defer { fields.pointee.unchangedBy = reducer }
    return fields.pointee.unchangedBy
  }
}
