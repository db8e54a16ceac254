/// Keeps an observer: cancels it on demand, and when the token is released.
public final class ObserverToken: Sendable {
  private let onCancel: @Sendable () -> Void

  init(onCancel: @escaping @Sendable () -> Void) {
    self.onCancel = onCancel
  }

  deinit {
    onCancel()
  }

  /// Ends the observation, from any thread, also from inside the observer.
  ///
  /// Once it has returned the observer is not called again; a call under way on another thread ends.
  public func cancel() {
    onCancel()
  }
}
