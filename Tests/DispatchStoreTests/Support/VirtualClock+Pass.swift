import DispatchStoreTesting

extension VirtualClock {
  /// Advances the time once there are this many sleepers.
  ///
  /// Timers fire on the caller's thread, as with `advance(by:)`.
  nonisolated(nonsending) func pass(_ time: Duration, sleepers: Int = 1) async {
    await waitForSleepers(atLeast: sleepers)
    advance(by: time)
  }
}
