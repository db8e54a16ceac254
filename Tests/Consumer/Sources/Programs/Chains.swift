import DispatchStore

/// Up, up and down, each action after the end of the one before: with closures.
func upUpDown(
  _ dispatcher: Dispatcher, then done: @escaping @Sendable (DispatchResult) -> Void
) {
  dispatcher.dispatch(action: Counter.Action.increase, mode: .serial) {
    dispatcher.dispatch(Counter.Action.increase, mode: .serial) { result in
      guard result.isSuccess else { return done(result) }
      dispatcher.dispatch(Counter.Action.decrease, mode: .serial, then: done)
    }
  }
}

/// The same chain with `await`.
func upUpDown(_ dispatcher: Dispatcher) async throws -> DispatchResult {
  try await dispatcher.dispatch(action: Counter.Action.increase, mode: .serial).get()
  let second = await dispatcher.dispatch(action: Counter.Action.increase, mode: .serial).result
  guard second.isSuccess else { return second }
  return try await dispatcher.dispatch(action: Counter.Action.decrease, mode: .serial).get()
}
