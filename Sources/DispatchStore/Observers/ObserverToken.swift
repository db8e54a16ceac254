/// Keeps an observer registered: until `cancel()`, or until the token is released.
public final class ObserverToken: Sendable {
  /// Released when it was called, so that an observer may hold its own token.
  private let onCancel: Locked<(@Sendable () -> Void)?>

  init(onCancel: @escaping @Sendable () -> Void) {
    self.onCancel = Locked(onCancel)
  }

  deinit {
    end()
  }

  /// Ends the observation, from any thread, also from inside the observer.
  ///
  /// Once this has returned the observer is not called again; a call under way on another thread still ends.
  public func cancel() {
    // Not in `end()`: when a token is released depends on the compiler.
    yieldPoint(.cancelObserver)
    end()
  }

  private func end() {
    let onCancel = onCancel.withLock { $0.take() }
    onCancel?()
  }
}
