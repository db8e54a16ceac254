/// The wait of a task or a thread for a unit of a limit.
///
/// Ends with the unit, or without one if the task is cancelled or the time has passed.
final class LimitWaiter: Sendable {
  let end = Eventual<LimitUnit?>()
  private let limit: DispatchLimit

  init(for limit: DispatchLimit) {
    self.limit = limit
  }

  /// Ends the wait without a unit, unless it has one.
  func cancel() {
    if limit.endWait(self) { end.set(nil) }
  }
}
