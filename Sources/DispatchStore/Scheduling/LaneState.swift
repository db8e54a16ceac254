/// The inbox of a lane and who holds it, without threads.
struct LaneState {
  private var inbox = FIFO<Dispatch>()
  /// The dispatch that was reached and has not ended: it may run, wait for others, or be parked.
  private var holder: Dispatch?
  /// The holder was parked and can run now.
  private var isResumed = false
  /// What the holder does next, because of something that happened elsewhere.
  private var steps = FIFO<@Sendable () -> Void>()
  /// Somebody drains the lane, or has been asked to.
  private var isDrained = false
  /// Dispatches that have chosen the lane and are about to be pushed.
  private var reservations = 0
  /// The lane has left the table of lanes; nothing is pushed to it any longer.
  private var isRetired = false

  /// Keeps the lane in its table until the push; false where it has left already.
  mutating func reserve() -> Bool {
    guard !isRetired else { return false }
    reservations += 1
    return true
  }

  /// Whether somebody has to be asked to drain.
  mutating func push(_ dispatch: Dispatch) -> Bool {
    reservations -= 1
    inbox.append(dispatch)
    // Asked for while the lane is held, a drainer would be held back by suspension, and the holder's
    // steps with it.
    return holder == nil && askToDrain()
  }

  mutating func post(_ step: @escaping @Sendable () -> Void) -> Bool {
    steps.append(step)
    return askToDrain()
  }

  mutating func resume(_ dispatch: Dispatch) -> Bool {
    guard holder === dispatch else { return false }
    isResumed = true
    return askToDrain()
  }

  private mutating func askToDrain() -> Bool {
    defer { isDrained = true }
    return !isDrained
  }

  mutating func release(_ dispatch: Dispatch) {
    guard holder === dispatch else { return }
    holder = nil
    isResumed = false
  }

  enum Next {
    case step(@Sendable () -> Void)
    case reach(Dispatch)
    /// An action could start, but the queue is suspended.
    case suspended
    /// Nothing can be done now: the drainer has left.
    case leave
    /// Nothing is left at all: the drainer has left, and so has the lane.
    case retire
  }

  /// The decision to leave and the emptiness that it follows from are one: whoever adds something
  /// comes before and is found, or comes after and has to ask for a drainer.
  mutating func next(isSuspended: Bool, isNamed: Bool) -> Next {
    if let step = steps.popFirst() { return .step(step) }
    if let holder {
      guard isResumed else { return leave() }
      if isSuspended { return .suspended }
      isResumed = false
      return .reach(holder)
    }
    guard !inbox.isEmpty else {
      isRetired = isNamed && reservations == 0
      return isRetired ? retire() : leave()
    }
    if isSuspended { return .suspended }
    holder = inbox.popFirst()
    return .reach(holder!)
  }

  private mutating func leave() -> Next {
    isDrained = false
    return .leave
  }

  private mutating func retire() -> Next {
    isDrained = false
    return .retire
  }

  /// What becomes of a drainer that lets others have their turn.
  enum Pause {
    case again(isStart: Bool)
    case leave
    case retire
  }

  mutating func pause(isNamed: Bool) -> Pause {
    if !steps.isEmpty { return .again(isStart: false) }
    if holder == nil ? !inbox.isEmpty : isResumed { return .again(isStart: true) }
    switch next(isSuspended: false, isNamed: isNamed) {
    case .retire: return .retire
    case .step, .reach, .suspended, .leave: return .leave
    }
  }

  /// The holder and those in the inbox before a dispatch; none where it is the holder.
  func dispatches(before dispatch: Dispatch) -> [Dispatch] {
    if holder === dispatch { return [] }
    return (holder.map { [$0] } ?? []) + inbox.all.prefix { $0 !== dispatch }
  }
}
