/// What a stream's observer and its consumer share: the state, and the consumer's task.
final class StreamStorage: Sendable {
  typealias State = StreamState<StreamedElement, UnsafeContinuation<Void, Never>, StreamHold>

  private let state: Locked<State>

  init(_ policy: StreamBufferingPolicy) {
    state = Locked(State(policy))
  }

  // MARK: The producer

  /// Keeps the element of a commit, under the store's lock; whether `wake()` follows, outside of it.
  func push(_ element: StreamedElement, hold: () -> StreamHold?) -> State.Push {
    state.withLock { $0.push(element, hold: hold) }
  }

  /// Takes back the one element that is kept, under the store's lock; nil where the consumer has taken it.
  func takeBack() -> StreamedElement? {
    state.withLock { $0.takeBack() }
  }

  /// Resumes the consumer, and releases what was dropped.
  func wake() {
    let (waiter, dropped) = state.withLock { $0.wake() }
    resume(waiter)
    withExtendedLifetime(dropped) {}
  }

  /// The store has gone.
  func end() {
    resume(state.withLock { $0.end() })
  }

  private func resume(_ waiter: UnsafeContinuation<Void, Never>?) {
    guard let waiter else { return }
    ThreadState.current.hasResumedOthers = true
    waiter.resume()
  }

  // MARK: The consumer

  /// The next element; nil at the end, after which `close()` is called.
  nonisolated(nonsending) func next() async -> StreamedElement? {
    if Task.isCancelled { return nil }
    switch take() {
    case .element(let element): return element
    case .end: return nil
    case .none: return await nextToCome()
    }
  }

  /// The same where nothing was kept: only then may a cancellation have to resume the task.
  private nonisolated(nonsending) func nextToCome() async -> StreamedElement? {
    await withTaskCancellationHandler {
      while true {
        await suspend()
        switch take() {
        case .element(let element): return element
        case .end: return nil
        case .none: continue
        }
      }
    } onCancel: {
      // The runtime calls this while it has locked the task: the task itself does the rest.
      state.withLock { $0.close() }?.resume()
    }
  }

  private enum Taken {
    case element(StreamedElement)
    case none
    case end
  }

  private func take() -> Taken {
    yieldPoint(.takeElement)
    switch state.withLock({ $0.next() }) {
    case .element(let element, let hold):
      hold?.end()
      return .element(element)
    case .none: return .none
    case .end: return .end
    }
  }

  /// Elements are taken from the state, not passed through the continuation, since Thread Sanitizer understands the
  /// lock; and until the consumer runs, a newer one may replace them.
  private nonisolated(nonsending) func suspend() async {
    let taskWait = TaskWait.begin(for: self)
    yieldPoint(.awaitElement)
    await withUnsafeContinuation { waiter in
      if !state.withLock({ $0.suspend(waiter) }) { waiter.resume() }
    }
    taskWait?.end()
  }

  /// The consumer takes no more elements.
  func close() {
    let (waiter, released) = state.withLock { ($0.close(), $0.release()) }
    resume(waiter)
    for hold in released.holds { hold.end() }
    withExtendedLifetime(released) {}
  }
}

extension StreamStorage: TaskWaitObserver {
  func taskBeginsToWait() {
    for hold in state.withLock({ $0.consumerBeginsToWait() }) { hold.end() }
  }

  func taskHasWaited() {
    state.withLock { $0.consumerHasWaited() }
  }
}
