/// The wait until a closed dispatcher has no dispatch in flight.
///
/// Waits generation after generation, since dispatches under way may make others.
final class DrainWait: Sendable {
  /// Whether all dispatches have ended, once the wait has.
  let isComplete = Eventual<Bool>()
  private let dispatcher: Dispatcher
  /// Whether it goes on until the consumers of the stores' streams have caught up.
  private let includesStreams: Bool

  init(of dispatcher: Dispatcher, includingStreams: Bool) {
    self.dispatcher = dispatcher
    includesStreams = includingStreams
  }

  func begin(until deadline: Int64?) {
    // Before the timer, so that no limit is too short if nothing is in flight.
    awaitGeneration()
    guard let deadline, !isComplete.isSet else { return }
    let timer = dispatcher.timers.add(at: deadline) { self.isComplete.set(false) }
    isComplete.whenSet { _ in self.dispatcher.timers.remove(timer) }
  }

  /// Waits for the dispatches that have been accepted so far; those that they make are the next generation.
  private func awaitGeneration() {
    if isComplete.isSet { return }
    let isAwaited = dispatcher.endGeneration { generation in
      generation.whenEnded { self.awaitGeneration() }
    }
    if !isAwaited { awaitStreams() }
  }

  private func awaitStreams() {
    guard includesStreams else { return isComplete.set(true) }
    let entries = dispatcher.registry.withLock(\.allEntries)
    // Outside the lock, since this may release the last reference to a store.
    let catchUp = CatchUp(with: entries.compactMap(\.storage))
    catchUp.isComplete.whenSet { if $0 { self.isComplete.set(true) } }
    isComplete.whenSet { if !$0 { catchUp.cancel() } }
  }
}
