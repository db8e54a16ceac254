/// A first-in, first-out lane: strictly one dispatch at a time, from its start to its completion.
///
/// Dispatching threads push to one word, without a lock. One job at a time drains the lane. A dispatch
/// that waits for something elsewhere keeps the lane without keeping a thread.
final class Lane: Venue, @unchecked Sendable {
  // because `busyFor` belongs to whoever asked for the drainer, and then to the drainer
  let key: LaneKey?
  private let isMain: Bool
  private let pool: ConcurrentPool
  private let onRetire: @Sendable (Lane) -> Void
  private let word = AtomicLaneWord()
  /// The drainer's; others look, or post steps.
  private let state = Locked(LaneState())
  /// Kept alive until the lane is idle.
  private var busyFor: Dispatcher?
  /// After so many steps others have their turn.
  private static let batch = 64
  /// After so many steps in a row its actions come as a flow.
  private static let flow = 4

  /// - Parameters:
  ///   - key: The lane's name; nil for one that stays.
  ///   - onRetire: Called when the lane has run empty, where it is named.
  init(
    key: LaneKey? = nil, isMain: Bool = false, pool: ConcurrentPool,
    onRetire: @escaping @Sendable (Lane) -> Void = { _ in }
  ) {
    self.key = key
    self.isMain = isMain
    self.pool = pool
    self.onRetire = onRetire
  }

  /// Whether it has left the table of lanes.
  var isRetired: Bool { word.now.activity == .retired }

  // MARK: Draining

  /// Runs what is to be done, for a while; how many steps that were.
  @discardableResult
  func drain() -> Int {
    let thread = ThreadState.current
    // The one that has ended is kept until the lane no longer calls it its holder.
    var ended: Dispatch?
    var mayLeave = false
    for count in 0..<Self.batch {
      switch next(after: &ended, mayLeave: mayLeave, on: thread) {
      case .empty:
        // Where actions come one after the other, the next one is not far.
        mayLeave = count < Self.flow || !pool.lookOut(on: thread, for: { self.hasPush })
      case .step(let step):
        step()
      case .reach(var dispatch):
        if case .goesOn = Dispatch.reach(&dispatch, on: thread) {
          yieldPoint(.park, on: thread, description)
          state.withLock { $0.park(dispatch) }
          if isPlanted(.earlyRelease) { release(dispatch) }
        } else {
          ended = dispatch
        }
      case .suspended:
        schedule(isStart: true)
        return count + 1
      case .left(let end):
        end.follow(self)
        return count + 1
      }
    }
    pause(after: &ended, on: thread)
    return Self.batch
  }

  @inline(__always)
  private func letGo(_ ended: inout Dispatch?, on thread: ThreadState) {
    guard ended != nil else { return }
    if isKnownUniquelyReferenced(&ended), let dispatch = ended.take(), dispatch.details == nil {
      pool.recycle(dispatch, on: thread)
    }
    ended = nil
  }

  /// Whether something was pushed that was not taken in yet.
  private var hasPush: Bool { word.now.top != nil }

  private enum Next {
    /// Nothing at all is to be done, and the drainer is still there.
    case empty
    case step(@Sendable () -> Void)
    case reach(Dispatch)
    /// An action could start, but the queue is suspended.
    case suspended
    case left(Departure)
  }

  /// What the drainer does once it has left, outside the lock.
  private struct Departure {
    let busyFor: Dispatcher?
    let isRetired: Bool

    func follow(_ lane: Lane) {
      if isRetired { lane.onRetire(lane) }
    }
  }

  private func next(
    after ended: inout Dispatch?, mayLeave: Bool, on thread: ThreadState
  ) -> Next {
    let hasEnded = ended != nil
    defer { letGo(&ended, on: thread) }
    yieldPoint(.takeNext, on: thread, description)
    return state.withLock { state in
      if hasEnded { state.holderEnded() }
      if !mayLeave, state.rest == .empty {
        state.takeIn(word.change(\.takenIn)?.top)
        if state.rest == .empty { return .empty }
      }
      switch rest(of: &state) {
      case (.step, _): return .step(state.takeStep())
      // Asked only now: what was pushed after a suspension has been taken in by then.
      case (.start, _): return isSuspended ? .suspended : .reach(state.takeStart())
      case (.held, let departure), (.empty, let departure): return .left(departure!)
      }
    }
  }

  /// Lets others have their turn.
  private func pause(after ended: inout Dispatch?, on thread: ThreadState) {
    let hasEnded = ended != nil
    defer { letGo(&ended, on: thread) }
    yieldPoint(.pause, on: thread, description)
    let (rest, departure) = state.withLock { state in
      if hasEnded { state.holderEnded() }
      return self.rest(of: &state)
    }
    if let departure {
      departure.follow(self)
    } else if rest == .start, !isMain {
      pool.putBack(self)
    } else {
      schedule(isStart: rest == .start)
    }
  }

  /// What is to be done next; where that is nothing, the drainer has left.
  private func rest(of state: inout LaneState) -> (LaneState.Rest, Departure?) {
    while true {
      let rest = state.rest
      guard rest == .held || rest == .empty else { return (rest, nil) }
      if let departure = leave(rest) { return (rest, departure) }
      state.takeIn(word.change(\.takenIn)?.top)
    }
  }

  private func leave(_ rest: LaneState.Rest) -> Departure? {
    yieldPoint(.leave, description)
    if rest == .held {
      _ = word.change { $0.leaving(as: .held) }
      return Departure(busyFor: nil, isRetired: false)
    }
    // Whoever makes the lane busy again sets it: that is after the word has changed.
    let departure = Departure(busyFor: busyFor.take(), isRetired: key != nil)
    if isPlanted(.lostWakeUp), key == nil, !hasPush {
      yieldPoint(.leave, description)
      _ = word.change { LaneWord($0.top, .idle) }
      return departure
    }
    if word.change({ $0.leaving(as: key == nil ? .idle : .retired) }) != nil { return departure }
    busyFor = departure.busyFor
    return nil
  }

  private func schedule(isStart: Bool) {
    if isMain {
      MainQueue.run(in: pool.world) { self.drain() }
    } else if isStart {
      pool.submit(start: .lane(self), for: busyFor)
    } else {
      pool.submit(step: .lane(self))
    }
  }

  // MARK: Venue

  override var dispatcher: Dispatcher? { busyFor }
  override var needsMainQueue: Bool { isMain }
  override var isSuspended: Bool {
    !isMain && pool.isSuspended && !isPlanted(.ignoredSuspension)
  }

  override var description: String {
    isMain ? "the main lane" : key.map { "lane \"\($0.description)\"" } ?? "the default lane"
  }

  override func take(_ dispatch: Dispatch, of dispatcher: Dispatcher) -> Bool {
    let pushed = Unmanaged.passRetained(dispatch)
    var needsDrainer = false
    yieldPoint(.push, description)
    let before = word.change { word in
      guard let push = word.pushing(pushed) else { return nil }
      dispatch.next = word.top
      needsDrainer = push.needsDrainer
      return push.word
    }
    guard before != nil else {
      pushed.release()
      return false
    }
    if needsDrainer {
      yieldPoint(.schedule, description)
      busyFor = dispatcher
      schedule(isStart: true)
    }
    return true
  }

  override func post(_ step: @escaping @Sendable () -> Void) {
    yieldPoint(.post, description)
    if isPlanted(.lostStep) {
      askForDrainer(isStart: false)
      yieldPoint(.post, description)
      return state.withLock { $0.post(step) }
    }
    state.withLock { $0.post(step) }
    askForDrainer(isStart: false)
  }

  override func resume(_ dispatch: Dispatch) {
    yieldPoint(.resume, description)
    if state.withLock({ $0.resume(dispatch) }) { askForDrainer(isStart: true) }
  }

  private func askForDrainer(isStart: Bool) {
    yieldPoint(.schedule, description)
    if word.change(\.askingForDrainer) != nil { schedule(isStart: isStart) }
  }

  override func release(_ dispatch: Dispatch) {
    yieldPoint(.release, description)
    let released = state.withLock { $0.release(dispatch) }
    withExtendedLifetime(released) {}
  }

  override func endCancelled(_ dispatch: Dispatch, _ step: @escaping @Sendable () -> Void) {
    pool.post(step)
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    guard isMain else { return executor.runAnywhere(job) }
    MainQueue.run(in: pool.world) { executor.run(job) }
  }

  override func dispatches(before dispatch: Dispatch) -> [Dispatch] {
    state.withLock { $0.dispatches(before: dispatch, top: word.now.top) }
  }
}
