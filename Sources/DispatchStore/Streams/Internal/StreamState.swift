/// What a stream has kept for its consumer, and who waits: a state machine behind the stream's lock.
///
/// Elements that are dropped, and what holds up producers, are returned to the caller or taken later, so that both are
/// released outside of the lock.
struct StreamState<Element, Waiter, Hold> {
  private enum Life {
    /// The store commits. Can become ended or closed.
    case open
    /// The store has gone: what is kept can still be taken. Can become closed.
    case ended
    /// The consumer has gone, or its task was cancelled.
    case closed
  }

  private let policy: StreamBufferingPolicy
  private var life = Life.open
  private var kept = FIFO<Element>()
  private var count = 0
  private var dropped: [Element] = []
  /// Of each element beyond the bound, in order, what its producer waits for.
  private var holds = FIFO<Hold?>()
  private var waiter: Waiter?
  /// The consumer's waits inside the library under way, in which no producer waits for it.
  private var consumerWaits = 0

  init(_ policy: StreamBufferingPolicy) {
    self.policy = policy
  }

  // MARK: The producer

  /// What became of an element.
  struct Push {
    var isKept = false
    /// Whether the producer calls `wake()`, outside of the store's lock.
    var isDue = false
  }

  /// The element of a commit.
  ///
  /// - Parameter hold: What the producer is to wait for, if it can wait; called where the consumer is too far behind.
  mutating func push(_ element: Element, hold: () -> Hold?) -> Push {
    guard case .open = life else { return Push() }
    switch policy {
    case .unbounded: break
    case .bufferingNewest(let bound):
      if count == bound { dropFirst() }
    case .bufferingOldest(let bound):
      if count == bound { return Push() }
    case .suspending(let bound):
      if count >= bound { holds.append(consumerWaits == 0 ? hold() : nil) }
    }
    kept.append(element)
    count += 1
    return Push(isKept: true, isDue: waiter != nil || !dropped.isEmpty)
  }

  /// Takes back the one element that is kept, so that the next one is merged into it.
  mutating func takeBack() -> Element? {
    defer { count = 0 }
    return kept.popFirst()
  }

  private mutating func dropFirst() {
    if let first = kept.popFirst() { dropped.append(first) }
    count -= 1
  }

  /// The consumer, where it has something to take, or the end; and what was dropped.
  mutating func wake() -> (waiter: Waiter?, dropped: [Element]) {
    let waiter = count > 0 || !isOpen ? waiter.take() : nil
    defer { dropped = [] }
    return (waiter, dropped)
  }

  private var isOpen: Bool {
    if case .open = life { true } else { false }
  }

  /// The store has gone; the consumer that is to be resumed.
  mutating func end() -> Waiter? {
    if case .open = life { life = .ended }
    return waiter.take()
  }

  // MARK: The consumer

  enum Next {
    /// An element, and the producer that no longer waits.
    case element(Element, Hold?)
    /// The consumer suspends, unless something has come meanwhile.
    case none
    case end
  }

  mutating func next() -> Next {
    if case .closed = life { return .end }
    if let element = kept.popFirst() {
      count -= 1
      return .element(element, holds.popFirst() ?? nil)
    }
    return isOpen ? .none : .end
  }

  /// Whether the consumer is suspended now, until it is resumed; false where it is to call `next()`.
  mutating func suspend(_ waiter: Waiter) -> Bool {
    guard isOpen && count == 0 || isPlanted(.lostElement) else { return false }
    if self.waiter != nil {
      stopProgram(
        """
        Two tasks wait for the next element of one iterator of a stream. Make an iterator for each, with \
        makeAsyncIterator().
        """)
    }
    self.waiter = waiter
    return true
  }

  /// No element is taken any more; the consumer that is to be resumed.
  ///
  /// `release()` follows, on the consumer's thread.
  mutating func close() -> Waiter? {
    life = .closed
    return waiter.take()
  }

  /// After the end: what was kept, and the producers that no longer wait.
  mutating func release() -> (elements: FIFO<Element>, dropped: [Element], holds: [Hold]) {
    defer { (kept, count, dropped) = (FIFO(), 0, []) }
    return (kept, dropped, releaseHolds())
  }

  /// The consumer begins to wait inside the library; the producers that no longer wait.
  mutating func consumerBeginsToWait() -> [Hold] {
    if !isPlanted(.heldByWaitingConsumer) { consumerWaits += 1 }
    return consumerWaits > 0 ? releaseHolds() : []
  }

  mutating func consumerHasWaited() {
    consumerWaits = max(0, consumerWaits - 1)
  }

  private mutating func releaseHolds() -> [Hold] {
    var released: [Hold] = []
    holds.updateAll { hold in
      if let hold { released.append(hold) }
      hold = nil
    }
    return released
  }
}
