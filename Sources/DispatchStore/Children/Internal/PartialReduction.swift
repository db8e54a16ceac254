/// What the parts of a reduction have said of it: it changes nothing where each of them has said so.
@usableFromInline
struct PartialReduction {
  /// Whether no part has changed anything so far.
  @usableFromInline private(set) var isUnchanged = true
  /// The thread that reduces.
  private let thread = ThreadState.current

  @usableFromInline
  init() {}

  /// Has a part's reducer reduce, in the reduction of the whole's.
  @inlinable
  mutating func reduce<Model, Action>(
    _ model: inout Model, _ action: Action, by reducer: Reducer<Model, Action>
  ) throws {
    let before = begin()
    defer { end(of: ObjectIdentifier(reducer), before) }
    try reducer.reduce(into: &model, action: action)
  }

  /// The same for what a closure finds; false where that is nothing.
  @inlinable
  mutating func reduce<Model, Action>(
    _ action: Action, by reducer: Reducer<Model, Action>,
    in modify: ((UnsafeMutablePointer<Model>) -> Void) -> Bool
  ) throws -> Bool {
    var failure: (any Error)?
    let isFound = modify { part in
      do {
        try reduce(&part.pointee, action, by: reducer)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return isFound
  }

  /// A call begins: what was said before it, perhaps by the same reducer, is not about it, and is returned.
  @usableFromInline
  func begin() -> ObjectIdentifier? {
    thread.exchangeUnchanged(by: nil)
  }

  /// A call has ended; before it, this was said.
  @usableFromInline
  mutating func end(of reducer: ObjectIdentifier, _ before: ObjectIdentifier?) {
    if thread.exchangeUnchanged(by: before) != reducer { isUnchanged = false }
  }

  /// Code that is no reducer may have changed something.
  @usableFromInline
  mutating func noteChange() { isUnchanged = false }

  /// Changes what a closure finds in a model; a reducer is said to have changed nothing where it finds nothing.
  @inlinable
  static func change<Model, Action>(
    _ model: inout Model, by reducer: Reducer<Model, Action>,
    _ body: (UnsafeMutableRawPointer) -> Bool
  ) {
    let isFound = withUnsafeMutablePointer(to: &model) { body(UnsafeMutableRawPointer($0)) }
    if !isFound { noteUnchanged(by: ObjectIdentifier(reducer)) }
  }

  /// A reducer is said to have changed nothing, in the exclusive section.
  @usableFromInline
  static func noteUnchanged(by reducer: ObjectIdentifier) {
    ThreadState.current.noteUnchanged(by: reducer)
  }
}

extension Reducer {
  /// Has parts reduce: unless one of them has changed something, nothing has changed.
  final func reduceParts(_ body: (inout PartialReduction) throws -> Void) rethrows {
    var reduction = PartialReduction()
    defer { if reduction.isUnchanged { noChange() } }
    try body(&reduction)
  }
}
