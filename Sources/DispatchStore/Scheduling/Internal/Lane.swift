/// A first-in, first-out lane: strictly one dispatch at a time, from its start to its completion.
///
/// Dispatching threads push to one word, without a lock. One job at a time drains the lane. A dispatch
/// that waits for something elsewhere keeps the lane without keeping a thread.
final class Lane: Scheduler, @unchecked Sendable {
  // because `busyFor` belongs to whoever asked for the drainer, and then to the drainer
  let key: LaneKey?
  let isMain: Bool
  let pool: ConcurrentPool
  let onRetire: @Sendable (Lane) -> Void
  let word = AtomicLaneWord()
  /// The drainer's; others look, or post steps.
  let state = Locked(LaneState())
  /// Kept alive until the lane is idle.
  var busyFor: Dispatcher?

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

  func schedule(isStart: Bool) {
    if isMain {
      MainQueue.run(in: pool.world) { self.drain() }
    } else if isStart {
      pool.submit(start: .lane(self), for: busyFor)
    } else {
      pool.submit(step: .lane(self))
    }
  }

  // MARK: Scheduler

  override var dispatcher: Dispatcher? { busyFor }
  override var needsMainQueue: Bool { isMain }
  override var isSuspended: Bool {
    !isMain && pool.isSuspended && !isPlanted(.ignoredSuspension)
  }

  override var description: String {
    isMain ? "the main lane" : key.map { "lane \"\($0.description)\"" } ?? "the default lane"
  }

  override func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
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

  override func resume(_ step: @escaping @Sendable () -> Void) {
    yieldPoint(.post, description)
    if isPlanted(.lostStep) {
      askForDrainer(isStart: false)
      yieldPoint(.post, description)
      return state.withLock { $0.post(step) }
    }
    state.withLock { $0.post(step) }
    askForDrainer(isStart: false)
  }

  override func unpark(_ dispatch: Dispatch) {
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
    pool.resume(step)
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    guard isMain else { return executor.runAnywhere(job) }
    MainQueue.run(in: pool.world) { executor.run(job) }
  }

  override func dispatches(before dispatch: Dispatch) -> [Dispatch] {
    state.withLock { $0.dispatches(before: dispatch, top: word.now.top) }
  }
}
