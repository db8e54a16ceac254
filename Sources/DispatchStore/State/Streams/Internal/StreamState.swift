/// The buffer of a stream and its waiters: a state machine behind the stream's lock.
///
/// Dropped elements and released holds are returned to the caller or taken later, so that user objects are never
/// released under the lock.
struct StreamState<Element, Waiter, Hold> {
  private enum Life {
    /// The store is alive.
    ///
    /// Can become ended or closed.
    case open
    /// The store is gone, but kept elements can still be taken.
    ///
    /// Can become closed.
    case ended
    /// The consumer is gone, or its task was cancelled.
    case closed
  }

  private let buffering: StreamBuffering
  private var life = Life.open
  private var kept = FIFO<Element>()
  private var count = 0
  /// Whether an element was taken back to be merged with the next one: the consumer has not dealt with it.
  private var isMerging = false
  private var dropped: [Element] = []
  /// The producers that wait, in order, each with the position from which on the consumer is close enough.
  private var holds = FIFO<(end: Int, hold: Hold)>()
  private var waiter: Waiter?
  /// The consumer's current waits inside the library.
  ///
  /// While there are any, no producer waits for the consumer.
  private var consumerWaits = 0
  /// Whether the consumer has ever asked for an element.
  ///
  /// Before, no producer waits for it.
  private var hasBegun = false
  /// The number of elements that were taken or dropped.
  private var position = 0
  /// The waits until the consumer asks for the element at a position.
  private var watches: [(position: Int, watch: CatchUp)] = []

  init(_ buffering: StreamBuffering) {
    self.buffering = buffering
  }

  // MARK: The producer

  /// Offers the element of a commit.
  ///
  /// - Parameter hold: Makes the producer wait, if it can. Called if the consumer lags too far behind.
  /// - Returns: Whether it is kept, and whether the caller must call `wake()`, outside of the store's lock.
  mutating func push(_ element: Element, hold: () -> Hold?) -> (isKept: Bool, isDue: Bool) {
    isMerging = false
    guard isOpen else { return (false, false) }
    switch buffering {
    case .unbounded: break
    case .newest(let bound):
      if count == bound { dropFirst() }
    case .oldest(let bound):
      if count == bound { return (false, false) }
    case .suspending(let bound):
      if count >= bound, hasBegun, consumerWaits == 0, let hold = hold() {
        holds.append((position + count - bound + 1, hold))
      }
    }
    kept.append(element)
    count += 1
    return (isKept: true, isDue: waiter != nil || !dropped.isEmpty)
  }

  /// Takes back the only kept element, so that the next one can be merged into it.
  ///
  /// `push(_:hold:)` or `mergedAway()` follows.
  mutating func takeBack() -> Element? {
    let element = kept.popFirst()
    (count, isMerging) = (0, element != nil)
    return element
  }

  /// Notes that the element that was taken back and the next one cancel out.
  ///
  /// - Returns: Whether the caller must call `wake()`, outside of the store's lock, because waits for the consumer end.
  mutating func mergedAway() -> Bool {
    isMerging = false
    return waiter != nil && !watches.isEmpty
  }

  /// Keeps the last element in the place of the only one that is kept, if the consumer has not taken that.
  mutating func replaceKept(by last: Element) {
    guard isOpen else { return }
    if let first = kept.popFirst() { dropped.append(first) }
    kept.append(last)
    count = 1
  }

  private mutating func dropFirst() {
    if let first = kept.popFirst() { dropped.append(first) }
    count -= 1
    position += 1
  }

  /// Returns the consumer, if it can take an element or the end, and the dropped elements.
  ///
  /// Otherwise, if the consumer is suspended, returns the waits that end because nothing is left for it.
  mutating func wake() -> (waiter: Waiter?, dropped: [Element], caughtUp: [CatchUp]) {
    let resumed = count > 0 || !isOpen ? waiter.take() : nil
    defer { dropped = [] }
    return (resumed, dropped, waiter == nil ? [] : takeCaughtUp())
  }

  private var isOpen: Bool { life == .open }

  /// Notes that the store is gone; `wake()` follows.
  mutating func end() {
    if isOpen { life = .ended }
  }

  // MARK: Waits for the consumer

  /// Calls back once the consumer has taken what is kept, and asks for more.
  ///
  /// Returns false if it has, or never will.
  mutating func watch(_ watch: CatchUp) -> Bool {
    if life == .closed { return false }
    if isIdle, waiter != nil || !isOpen { return false }
    watches.append((position + count + (isMerging ? 1 : 0), watch))
    return true
  }

  /// Whether nothing is kept for the consumer, or about to be kept again.
  private var isIdle: Bool { count == 0 && !isMerging }

  mutating func remove(_ watch: CatchUp) {
    watches.removeAll { $0.watch === watch }
  }

  /// Takes the waits that end, because the consumer has caught up.
  ///
  /// Called when it asks for an element, before it takes one, and after the end.
  mutating func takeCaughtUp() -> [CatchUp] {
    if watches.isEmpty { return [] }
    let isDone = life == .closed || isIdle
    let due = watches.filter { isDone || $0.position <= position }
    watches.removeAll { isDone || $0.position <= position }
    return due.map(\.watch)
  }

  // MARK: The consumer

  enum Next {
    /// An element, and the producer that it releases.
    case element(Element, Hold?)
    /// The buffer is empty: the consumer calls `suspend(_:)`.
    case none
    case end
  }

  mutating func next() -> Next {
    hasBegun = true
    if life == .closed { return .end }
    if let element = kept.popFirst() {
      count -= 1
      position += 1
      return .element(element, takeHold())
    }
    return isOpen ? .none : .end
  }

  /// Returns whether the consumer is now suspended, and the waits that end with that.
  ///
  /// If the consumer is not suspended, it must call `next()` again. A wait may have begun after the consumer's last
  /// call of `next()`: that call could not end it.
  mutating func suspend(_ waiter: Waiter) -> (isSuspended: Bool, caughtUp: [CatchUp]) {
    guard isOpen && count == 0 || isPlanted(.lostElement) else { return (false, []) }
    if self.waiter != nil {
      stopProgram(
        """
        Two tasks wait for the next element of one iterator of a stream. Make an iterator for each, with \
        makeAsyncIterator().
        """)
    }
    self.waiter = waiter
    return (true, isPlanted(.lostCatchUp) ? [] : takeCaughtUp())
  }

  /// Closes the stream to its consumer.
  ///
  /// Returns the consumer to resume.
  ///
  /// `release()` follows, on the consumer's thread.
  mutating func close() -> Waiter? {
    life = .closed
    return waiter.take()
  }

  /// Returns the kept and dropped elements, and the producers to release.
  ///
  /// Called after the end.
  mutating func release() -> (elements: FIFO<Element>, dropped: [Element], holds: [Hold]) {
    defer { (kept, count, dropped) = (FIFO(), 0, []) }
    return (kept, dropped, releaseHolds())
  }

  /// Notes that the consumer waits inside the library.
  ///
  /// Returns the producers to release.
  mutating func consumerBeginsToWait() -> [Hold] {
    if !isPlanted(.heldByWaitingConsumer) { consumerWaits += 1 }
    return consumerWaits > 0 ? releaseHolds() : []
  }

  mutating func consumerHasWaited() {
    consumerWaits = max(0, consumerWaits - 1)
  }

  /// Takes the producer whose element has just come within the bound.
  private mutating func takeHold() -> Hold? {
    guard let first = holds.first, first.end <= position else { return nil }
    return holds.popFirst()?.hold
  }

  private mutating func releaseHolds() -> [Hold] {
    defer { holds = FIFO() }
    return holds.all.map(\.hold)
  }
}
