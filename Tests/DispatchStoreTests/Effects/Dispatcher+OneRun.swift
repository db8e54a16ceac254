@testable import DispatchStore

extension Dispatcher {
  /// Registers an effect that is unregistered once it has run, before the dispatch ends that it follows.
  func registerForOneRun<Action: ActionType>(
    of type: Action.Type, _ body: @escaping @Sendable (Action) -> Void
  ) {
    let hasRun = Latch()
    let effect = Effect(type) { action, _ in
      body(action)
      hasRun.open()
    }
    let registrations = Locked([register(effect: effect)])
    // The key of a second effect is asked after the first one has followed the dispatch, in which it waits for that.
    @Sendable func endBoth() {
      hasRun.wait()
      for registration in registrations.withLock({ $0 }) { registration.unregister() }
    }
    let second = Effect(
      type, policy: .concurrent,
      per: { _ in
        endBoth()
        return true
      }
    ) { _, _ in }
    let last = register(effect: second)
    registrations.withLock { $0.append(last) }
  }
}
