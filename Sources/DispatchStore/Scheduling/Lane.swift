import Dispatch

/// A first-in, first-out lane: strictly one dispatch at a time, from its start to its completion.
///
/// One job at a time drains it. A dispatch that waits for something elsewhere keeps the lane without
/// keeping a thread.
final class Lane: Venue {
  let key: LaneKey?
  private let isMain: Bool
  private let pool: ConcurrentPool
  private let onRetire: @Sendable (Lane) -> Void
  private let state = Locked(LaneState())
  /// After so many steps others have their turn.
  private static let batch = 64

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

  func reserve() -> Bool {
    state.withLock { $0.reserve() }
  }

  func drain() {
    for _ in 0..<Self.batch {
      switch state.withLock({ $0.next(isSuspended: isSuspended, isNamed: key != nil) }) {
      case .step(let step): step()
      case .reach(let dispatch): dispatch.reach()
      case .suspended: return schedule(isStart: true)
      case .leave: return
      case .retire: return onRetire(self)
      }
    }
    switch state.withLock({ $0.pause(isNamed: key != nil) }) {
    case .again(let isStart): schedule(isStart: isStart)
    case .leave: break
    case .retire: onRetire(self)
    }
  }

  private func schedule(isStart: Bool) {
    if isMain {
      DispatchQueue.main.async { self.drain() }
    } else {
      pool.submit(.lane(self), isStart: isStart)
    }
  }

  // MARK: Venue

  var runsSideBySide: Bool { false }
  var needsMainQueue: Bool { isMain }
  var isSuspended: Bool { !isMain && pool.isSuspended }

  var description: String {
    isMain ? "the main lane" : key.map { "lane \"\($0.description)\"" } ?? "the default lane"
  }

  func take(_ dispatch: Dispatch) {
    if state.withLock({ $0.push(dispatch) }) { schedule(isStart: true) }
  }

  func post(_ step: @escaping @Sendable () -> Void) {
    if state.withLock({ $0.post(step) }) { schedule(isStart: false) }
  }

  func resume(_ dispatch: Dispatch) {
    if state.withLock({ $0.resume(dispatch) }) { schedule(isStart: true) }
  }

  func release(_ dispatch: Dispatch) {
    state.withLock { $0.release(dispatch) }
  }

  func endCancelled(_ dispatch: Dispatch, _ step: @escaping @Sendable () -> Void) {
    pool.post(step)
  }

  func run(_ job: UnownedJob, on executor: OperationExecutor) {
    let queue: DispatchQueue = isMain ? .main : .global()
    queue.async { executor.run(job) }
  }

  func dispatches(before dispatch: Dispatch) -> [Dispatch] {
    state.withLock { $0.dispatches(before: dispatch) }
  }
}
