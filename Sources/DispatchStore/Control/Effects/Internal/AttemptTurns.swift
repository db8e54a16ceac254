/// The turns of a durable effect's attempts: as many at once as its bound, first come, first served.
final class AttemptTurns: Sendable {
  private final class Waiter: Sendable {
    let hasTurn = Eventual<Bool>()
  }

  private let state: Locked<LimitState<EffectRun, Waiter>>

  init(bound: Int) { state = Locked(LimitState(bound: bound)) }

  /// Takes a turn, if one is free and nobody waits.
  func take() -> Bool { state.withLock { $0.enter() } }

  /// Waits for a turn; returns false if the calling task is cancelled before.
  func wait() async -> Bool {
    let waiter = Waiter()
    let isIn = state.withLock { state in
      if state.enter() { return true }
      state.wait(waiter)
      return false
    }
    if isIn { return true }
    return await withTaskCancellationHandler {
      await waiter.hasTurn.value
    } onCancel: {
      if self.state.withLock({ $0.endWait(waiter) }) { waiter.hasTurn.set(false) }
    }
  }

  func leave() { state.withLock { $0.leave() }?.hasTurn.set(true) }
}
