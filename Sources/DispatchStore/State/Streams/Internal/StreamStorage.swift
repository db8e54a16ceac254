/// The state that a stream's observer and its consumer share, including the consumer's continuation.
final class StreamStorage: Sendable {
  typealias State = StreamState<KeptNote, UnsafeContinuation<Void, Never>, StreamHold>

  /// The follower keeps elements in it, under the store's lock.
  let state: Locked<State>

  init(_ buffering: StreamBuffering) {
    state = Locked(State(buffering))
  }

  // MARK: The producer

  /// Resumes the consumer, or ends waits for it, and releases the dropped elements.
  func wake() {
    let (waiter, dropped, caughtUp) = state.withLock { $0.wake() }
    resume(waiter)
    for watch in caughtUp { watch.hasCaughtUp() }
    withExtendedLifetime(dropped) {}
  }

  /// Ends the stream, since the store is gone.
  func end() {
    state.withLock { $0.end() }
    wake()
  }

  private func resume(_ waiter: UnsafeContinuation<Void, Never>?) {
    guard let waiter else { return }
    ThreadState.current.fields.pointee.hasResumedOthers = true
    waiter.resume()
  }

  // MARK: The consumer

  /// Returns the next element, or nil at the end.
  ///
  /// The caller then calls `close()`.
  nonisolated(nonsending) func next() async -> KeptNote? {
    if Task.isCancelled { return nil }
    for watch in state.withLock({ $0.takeCaughtUp() }) { watch.hasCaughtUp() }
    switch take() {
    case .element(let element, _): return element
    case .end: return nil
    case .none: return await nextToCome()
    }
  }

  /// Waits for the next element.
  ///
  /// Only this slow path needs a cancellation handler, since only here the task suspends.
  private nonisolated(nonsending) func nextToCome() async -> KeptNote? {
    await withCancellationHandler {
      while true {
        await suspend()
        switch take() {
        case .element(let element, _): return element
        case .end: return nil
        case .none: continue
        }
      }
    } onCancel: {
      // The task itself releases the elements and holds.
      state.withLock { $0.close() }?.resume()
    }
  }

  /// Takes the next element, and releases its producer.
  private func take() -> State.Next {
    yieldPoint(.takeElement)
    let next = state.withLock { $0.next() }
    if case .element(_, let hold) = next { hold?.end() }
    return next
  }

  /// Suspends the consumer until there is an element or the end.
  ///
  /// The continuation passes no element: a newer one may replace it before the consumer runs, and Thread Sanitizer
  /// understands the lock.
  private nonisolated(nonsending) func suspend() async {
    let taskWait = TaskWait.begin(for: self)
    yieldPoint(.awaitElement)
    await withUnsafeContinuation { waiter in
      let (isSuspended, caughtUp) = state.withLock { $0.suspend(waiter) }
      if !isSuspended { waiter.resume() }
      for watch in caughtUp { watch.hasCaughtUp() }
    }
    taskWait?.end()
  }

  /// Ends the stream, since the consumer takes no more elements.
  func close() {
    let (waiter, released, watches) = state.withLock {
      ($0.close(), $0.release(), $0.takeCaughtUp())
    }
    resume(waiter)
    for watch in watches { watch.hasCaughtUp() }
    for hold in released.holds { hold.end() }
    withExtendedLifetime(released) {}
  }
}

extension StreamStorage: FollowingStream {
  func watch(_ watch: CatchUp) -> Bool { state.withLock { $0.watch(watch) } }

  func remove(_ watch: CatchUp) { state.withLock { $0.remove(watch) } }
}

extension StreamStorage: TaskWaitObserver {
  func taskBeginsToWait() {
    for hold in state.withLock({ $0.consumerBeginsToWait() }) { hold.end() }
  }

  func taskHasWaited() {
    state.withLock { $0.consumerHasWaited() }
  }
}
