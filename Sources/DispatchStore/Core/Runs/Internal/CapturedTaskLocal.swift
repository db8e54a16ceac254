/// A task-local value of a dispatch: captured when its action was dispatched, or bound by a middleware.
///
/// Other values follow in a linked list, and are bound around it.
class CapturedTaskLocal: @unchecked Sendable {
  // because it is constant from the time when the dispatch gets it
  @exclusivity(unchecked) fileprivate final var next: CapturedTaskLocal?
  /// Whether a middleware has bound it; then the caller's task does not have it.
  final let isBound: Bool

  fileprivate init(before next: CapturedTaskLocal?, isBound: Bool) {
    (self.next, self.isBound) = (next, isBound)
  }

  /// Runs a closure with the first value bound.
  fileprivate func bindThis(_ body: () -> Void) { fatalError("CapturedTaskLocal is abstract.") }

  fileprivate nonisolated(nonsending) func bindThisInTask(
    _ body: nonisolated(nonsending) () async -> Void
  ) async {
    fatalError("CapturedTaskLocal is abstract.")
  }

  /// Adds values that middlewares have bound in this order; the last one is the innermost.
  static func adding(
    _ bound: [CapturedTaskLocal], to captured: CapturedTaskLocal?
  ) -> CapturedTaskLocal? {
    bound.reduce(captured) { outer, value in
      value.next = outer
      return value
    }
  }

  /// Runs a closure with these values bound, if there are any.
  @inline(__always)
  static func bind<Result>(_ values: CapturedTaskLocal?, _ body: () -> Result) -> Result {
    if let values { values.bind(body) } else { body() }
  }

  final func bind<Result>(_ body: () -> Result) -> Result {
    var result: Result?
    func bindFirst() {
      bindThis { result = body() }
    }
    if let next { next.bind(bindFirst) } else { bindFirst() }
    return result.unsafelyUnwrapped
  }

  /// Binds the values of middlewares in the caller's task, which has the captured ones.
  final nonisolated(nonsending) func bindInTask(
    _ body: nonisolated(nonsending) () async -> Void
  ) async {
    guard let next, next.isBound else { return await bindThisInTask(body) }
    await next.bindInTask { await self.bindThisInTask(body) }
  }
}

/// A value of a known type.
final class CapturedValue<Value: Sendable>: CapturedTaskLocal, @unchecked Sendable {
  // because what it adds is constant
  private let local: TaskLocal<Value>
  private let value: Value

  init(
    _ local: TaskLocal<Value>, _ value: Value, before next: CapturedTaskLocal? = nil,
    isBound: Bool = false
  ) {
    (self.local, self.value) = (local, value)
    super.init(before: next, isBound: isBound)
  }

  override fileprivate func bindThis(_ body: () -> Void) {
    local.withValue(value, operation: body)
  }

  override fileprivate nonisolated(nonsending) func bindThisInTask(
    _ body: nonisolated(nonsending) () async -> Void
  ) async {
    await local.withValue(value, operation: { await body() })
  }
}
