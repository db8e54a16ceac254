/// A store's core and its lock, that a token can refer to without keeping the store.
final class StoreBox<Model: Sendable, Action: ActionType>: @unchecked Sendable {
  // because every access to `core` holds `lock`
  let lock = Lock()
  var core: StoreCore<Model, Action>

  init(_ core: StoreCore<Model, Action>) {
    self.core = core
  }

  @inline(__always)
  func withLock<Result, Failure: Error>(
    _ body: (inout StoreCore<Model, Action>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&core)
  }
}
