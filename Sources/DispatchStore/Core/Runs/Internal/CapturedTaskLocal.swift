/// A task-local value of a dispatch: captured when its action was dispatched, or bound by a middleware.
///
/// Other values follow in a linked list, and are bound around it.
@usableFromInline
final class CapturedTaskLocal: @unchecked Sendable {
  // because `attachment` belongs to the step that runs, and the rest is constant from the time when the dispatch gets
  // it until the only reference reuses it
  private let calls: Calls
  /// The memory of the value.
  ///
  /// Several threads may read it at a time: the threads of a group's steps, or the thread of a deadline.
  private let value: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var hasValue = false
  @exclusivity(unchecked) private var next: CapturedTaskLocal?
  /// Whether a middleware has bound it; then the caller's task does not have it.
  let isBound: Bool
  /// The number of the dispatcher that carries the values; set in the first element of the list only.
  @exclusivity(unchecked) private var dispatcher = UInt64.max
  /// The attachment that the dispatch keeps besides the task-local values.
  @exclusivity(unchecked) var attachment = Dispatch.Attachment.none

  /// The operations on a value, compiled for its concrete type if the program names it.
  @usableFromInline
  final class Calls: Sendable {
    let size: Int
    let alignment: Int
    /// Reads the value that is bound in the current context.
    let capture: @Sendable (_ memory: UnsafeMutableRawPointer) -> Void
    let copy:
      @Sendable (_ value: UnsafeMutableRawPointer, _ memory: UnsafeMutableRawPointer) -> Void
    let clear: @Sendable (_ value: UnsafeMutableRawPointer) -> Void
    /// Runs a closure with the value bound.
    let bind: @Sendable (_ value: UnsafeMutableRawPointer, _ body: () -> Void) -> Void
    let bindInTask: BindInTask

    @usableFromInline
    typealias BindInTask =
      nonisolated(nonsending) @Sendable (
        _ value: UnsafeMutableRawPointer, _ body: nonisolated(nonsending) () async -> Void
      ) async -> Void

    @usableFromInline
    init(
      size: Int, alignment: Int,
      capture: @escaping @Sendable (_ memory: UnsafeMutableRawPointer) -> Void,
      copy:
        @escaping @Sendable (
          _ value: UnsafeMutableRawPointer, _ memory: UnsafeMutableRawPointer
        ) -> Void,
      clear: @escaping @Sendable (_ value: UnsafeMutableRawPointer) -> Void,
      bind: @escaping @Sendable (_ value: UnsafeMutableRawPointer, _ body: () -> Void) -> Void,
      bindInTask: @escaping BindInTask
    ) {
      (self.size, self.alignment) = (size, alignment)
      (self.capture, self.copy, self.clear, self.bind) = (capture, copy, clear, bind)
      self.bindInTask = bindInTask
    }
  }

  private init(_ calls: Calls, before next: CapturedTaskLocal?) {
    (self.calls, self.next, isBound) = (calls, next, false)
    value = .allocate(byteCount: calls.size, alignment: calls.alignment)
  }

  /// Makes the value that a middleware binds.
  init<Value: Sendable>(_ local: TaskLocal<Value>, boundTo bound: Value) {
    (calls, next, isBound) = (CarriedTaskLocal(local).calls, nil, true)
    value = .allocate(byteCount: calls.size, alignment: calls.alignment)
    value.initializeMemory(as: Value.self, to: bound)
    hasValue = true
  }

  deinit {
    if hasValue { calls.clear(value) }
    value.deallocate()
  }

  /// Captures the values that are bound in the current context; nil if there are none.
  ///
  /// - Parameters:
  ///   - dispatcher: The number of the dispatcher that carries them.
  ///   - spare: An earlier capture to reuse, of that dispatcher or another one.
  static func capture(
    _ locals: [CarriedTaskLocal], of dispatcher: UInt64, using spare: CapturedTaskLocal? = nil
  ) -> CapturedTaskLocal? {
    let first =
      spare?.dispatcher == dispatcher
      ? spare : locals.reduce(nil) { CapturedTaskLocal($1.calls, before: $0) }
    first?.dispatcher = dispatcher
    var present = first
    while let captured = present {
      captured.calls.capture(captured.value)
      captured.hasValue = true
      present = captured.next
    }
    return first
  }

  /// Copies the values for another dispatch.
  ///
  /// The copy shares all values after the first, so that neither can be reused.
  func copy() -> CapturedTaskLocal {
    let copy = CapturedTaskLocal(calls, before: next)
    calls.copy(value, copy.value)
    copy.hasValue = true
    return copy
  }

  /// Releases the values, so that the memory can be reused.
  func clear() {
    attachment = .none
    var present: CapturedTaskLocal? = self
    while let captured = present {
      captured.calls.clear(captured.value)
      captured.hasValue = false
      present = captured.next
    }
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

  func bind<Result>(_ body: () -> Result) -> Result {
    var result: Result?
    func bindThis() {
      calls.bind(value) { result = body() }
    }
    if let next { next.bind(bindThis) } else { bindThis() }
    return result.unsafelyUnwrapped
  }

  /// Binds the values of middlewares in the caller's task, which has the captured ones.
  nonisolated(nonsending) func bindInTask(_ body: nonisolated(nonsending) () async -> Void) async {
    guard let next, next.isBound else { return await calls.bindInTask(value, body) }
    await next.bindInTask { await self.calls.bindInTask(self.value, body) }
  }
}
