/// The wait until a closed dispatcher has no dispatch in flight.
///
/// Waits generation after generation, since dispatches under way may make others.
final class DrainWait: TimerTarget {
  /// Whether all dispatches have ended, once the wait has.
  let isComplete = Eventual<Bool>()
  private let dispatcher: Dispatcher

  init(of dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
  }

  func begin(until deadline: Int64?) {
    // Before the timer, so that no limit is too short if nothing is in flight.
    awaitGeneration()
    guard let deadline, !isComplete.isSet else { return }
    let timer = dispatcher.timers.add(self, at: deadline)
    isComplete.whenSet { _ in self.dispatcher.timers.remove(timer) }
  }

  /// Waits for the dispatches that have been accepted so far; those that they make are the next generation.
  private func awaitGeneration() {
    if isComplete.isSet { return }
    let isAwaited = dispatcher.endGeneration { generation in
      generation.whenEnded { self.awaitGeneration() }
    }
    if !isAwaited { isComplete.set(true) }
  }

  func timerFired() {
    isComplete.set(false)
  }
}
