/// A registration of an observer, or of an effect whose registration made it.
///
/// It ends with `cancel()`, or when the token is released.
public final class ObserverToken: Sendable {
  /// The closure that ends the observation.
  ///
  /// Released once called, so that an observer may hold its own token.
  private let onCancel: Locked<(@Sendable () -> Void)?>

  init(onCancel: @escaping @Sendable () -> Void) {
    self.onCancel = Locked(onCancel)
  }

  deinit {
    end()
  }

  /// Ends the observation, from any thread, also from inside the observer.
  ///
  /// After this returns, no call of the observer begins. A call that another thread has begun goes on; it may even be
  /// about to enter your closure. To be sure that no call is under way, observe on a serial queue, and cancel on that queue.
  public func cancel() {
    // Not in `end()`, because the moment of a token's release depends on the compiler.
    yieldPoint(.cancelObserver)
    end()
  }

  private func end() {
    let onCancel = onCancel.withLock { $0.take() }
    onCancel?()
  }
}
