/// What the drainer of a lane has before it, and who holds the lane, without threads.
struct LaneState {
  private var inbox = DispatchFIFO()
  /// The dispatch that was reached and has not ended: it may run, wait for others, or be parked.
  private var holder: Unmanaged<Dispatch>?
  /// The holder goes on later: until then the lane refers to it.
  private var parkedHolder: Dispatch?
  /// The holder was parked and can run now.
  private var isResumed = false
  /// What the holder does next, because of something that happened elsewhere.
  private var steps = FIFO<@Sendable () -> Void>()

  /// Takes in what was pushed since, newest first.
  mutating func takeIn(_ top: Unmanaged<Dispatch>?) {
    inbox.append(newestFirst: top)
  }

  mutating func post(_ step: @escaping @Sendable () -> Void) {
    steps.append(step)
  }

  /// Whether it holds the lane, and so is to be reached again.
  mutating func resume(_ dispatch: Dispatch) -> Bool {
    guard isHolder(dispatch) else { return false }
    isResumed = true
    return true
  }

  private func isHolder(_ dispatch: Dispatch) -> Bool {
    holder?.toOpaque() == Unmanaged.passUnretained(dispatch).toOpaque()
  }

  /// The holder goes on later, unless it has been released already.
  mutating func park(_ dispatch: Dispatch) {
    if isHolder(dispatch) { parkedHolder = dispatch }
  }

  /// What the lane referred to is returned, to be let go of outside the lock.
  mutating func release(_ dispatch: Dispatch) -> Dispatch? {
    guard isHolder(dispatch) else { return nil }
    holder = nil
    isResumed = false
    return parkedHolder.take()
  }

  /// The holder has ended in the step in which it was reached.
  mutating func holderEnded() {
    holder = nil
  }

  /// What is to be done next.
  enum Rest {
    /// Continue the holder.
    case step
    /// Start an action.
    case start
    /// Nothing, until the holder goes on.
    case held
    /// Nothing at all.
    case empty
  }

  var rest: Rest {
    if !steps.isEmpty { return .step }
    if holder != nil { return isResumed ? .start : .held }
    return inbox.isEmpty ? .empty : .start
  }

  mutating func takeStep() -> @Sendable () -> Void {
    steps.popFirst()!
  }

  /// The dispatch to be reached: the holder that was parked, or the first one in the inbox.
  mutating func takeStart() -> Dispatch {
    if let holder {
      let dispatch = holder.takeUnretainedValue()
      isResumed = false
      parkedHolder = nil
      return dispatch
    }
    let dispatch = inbox.popFirst()!
    holder = Unmanaged.passUnretained(dispatch)
    return dispatch
  }

  /// The holder and those in the inbox before a dispatch; none where it is the holder.
  ///
  /// - Parameter top: Those that were not taken in, newest first.
  func dispatches(before dispatch: Dispatch, top: Unmanaged<Dispatch>?) -> [Dispatch] {
    if isHolder(dispatch) { return [] }
    let pushed = sequence(first: top, next: { $0.map { $0._withUnsafeGuaranteedRef(\.next) } })
      .prefix { $0 != nil }.map { $0!.takeUnretainedValue() }
    let waiting = inbox.all + pushed.reversed()
    return (holder.map { [$0.takeUnretainedValue()] } ?? []) + waiting.prefix { $0 !== dispatch }
  }
}
