public import Foundation
import Synchronization

/// Holds stores and middlewares, and takes each action to the stores that respond to it.
///
/// One dispatch, step by step, and where its code is:
///
/// 1. **Registry** (`Registry/`): a snapshot of the stores that respond to the action's type, in the
///    order that `waitFor` requires. A cycle or an unknown identifier ends the dispatch here.
/// 2. **Middleware** (`Middleware/`): `willDispatch` for each store, on the dispatching thread.
/// 3. **Scheduling** (`Scheduling/`): the mode's scheduler queues the dispatch and starts it: the
///    concurrent queue, a lane, the main queue, or the caller's thread.
/// 4. **Dispatch** (`Dispatch/`): an inline run takes the action through its stores, one after the other;
///    a round takes over where a store can't end at once.
/// 5. **Operation** (`Operation/`): each store's reducer handles the action, by a change of its model or an
///    `ActionOperation`.
/// 6. **Store** (`Store/`, `Observers/`): observers are notified of the store's commits, in commit order.
/// 7. **Completion** (`Completion/`): `didDispatch` for each store; once the last store run has ended,
///    the completion; then threads and tasks that wait for the handle resume.
///
/// `dispatch` returns a handle, and threads of the library do the rest. `send` does it in the caller's task, in the
/// lane's turn (`Dispatcher+Send.swift`).
///
/// All of it may be called from any thread, also from inside blocks, hooks, observers and completions,
/// in every mode. A dispatcher that is released stays alive until the dispatches in flight have ended.
public final class Dispatcher: Sendable {
  /// The dispatcher that the static functions use.
  public static let `default` = Dispatcher(name: "default")

  /// Its name in messages.
  public let name: String

  let clock: DispatcherClock
  /// Timers by that clock.
  let timers: TimerQueue
  let carriedTaskLocals: [CarriedTaskLocal]
  let carriesTaskLocals: Bool
  /// A copy of the static one, which takes a call to read.
  let threadKey = ThreadState.key
  /// Unique in the process, also among dispatchers that were released.
  let number = Dispatcher.count.wrappingAdd(1, ordering: .relaxed).newValue
  private static let count = Atomic<UInt64>(0)

  let registry: Locked<Registry>
  let pool: ConcurrentPool
  private let serialLane: Lane
  private let mainLane: Lane
  private let lanes = LaneTable()
  let defaultAdmission: DefaultAdmission?
  private let attachments = Locked([ObjectIdentifier: any DispatcherAttachment]())
  private let onIncident = Locked<@Sendable (DispatchIncident) -> Void>(
    DispatchIncident.writeToStandardError)

  /// Makes a dispatcher.
  ///
  /// - Parameters:
  ///   - name: Its name in messages.
  ///   - queue: The concurrent queue, for `async` and `serial`; by default a new one, whose width is the
  ///     number of active processors. Several dispatchers may share one, also that of another dispatcher,
  ///     with the program's own operations: together they are as many at once as it is wide.
  ///   - clock: Measures durations, and time limits; a test may pass a `VirtualClock`.
  ///   - taskLocals: The task-local values to bind where an action runs.
  public convenience init(
    name: String = "dispatcher", queue: OperationQueue? = nil,
    clock: (any Clock<Duration>)? = nil, carrying taskLocals: [CarriedTaskLocal] = []
  ) {
    self.init(name: name, queue: queue, clock: clock, carrying: taskLocals, in: nil)
  }

  /// Makes one whose dispatches a simulated world runs.
  package convenience init(
    name: String, queue: OperationQueue? = nil, clock: (any Clock<Duration>)? = nil,
    carrying taskLocals: [CarriedTaskLocal] = [], in world: (any SimulatedWorld)?
  ) {
    self.init(
      name: name, queue: queue, clock: clock, carrying: taskLocals, in: world, by: nil)
  }

  /// Makes one that controls its dispatches, whatever their options say.
  init(
    name: String, queue: OperationQueue? = nil, clock: (any Clock<Duration>)? = nil,
    carrying taskLocals: [CarriedTaskLocal] = [], in world: (any SimulatedWorld)?,
    by admission: DefaultAdmission?
  ) {
    self.name = name
    defaultAdmission = admission
    self.clock = DispatcherClock(clock)
    registry = Locked(Registry(of: number))
    timers = TimerQueue(self.clock, in: world)
    carriedTaskLocals = taskLocals
    carriesTaskLocals = !taskLocals.isEmpty
    pool = ConcurrentPool(
      queue: queue ?? Self.makeQueue(for: name, width: world?.width), in: world)
    serialLane = Lane(pool: pool)
    mainLane = Lane(isMain: true, pool: pool)
  }

  private static func makeQueue(for name: String, width: Int?) -> OperationQueue {
    let queue = PoolQueue()
    queue.name = "DispatchStore.\(name)"
    queue.maxConcurrentOperationCount = width ?? ProcessInfo.processInfo.activeProcessorCount
    return queue
  }

  /// The queue of `async` and `serial`, which run within its width, quality of service and suspension.
  ///
  /// Suspending it stops both between actions; `sync` and `mainThread` still run.
  public var queue: OperationQueue { pool.queue }

  /// Sets the closure that is called with each incident, such as a second finish; the default writes it
  /// to standard error.
  ///
  /// Called on the thread on which the incident occurs, with no lock held.
  public func onIncident(_ body: @escaping @Sendable (DispatchIncident) -> Void) {
    var body = body
    // The previous closure is released outside the lock.
    onIncident.withLock { swap(&$0, &body) }
  }

  func report(_ incident: DispatchIncident) {
    onIncident.withLock { $0 }(incident)
  }

  /// The named lanes that exist now, for tests.
  var laneCount: Int { lanes.count }

  deinit {
    RouteCache.evict(
      registry.withLock { registry in
        registry.routes.removeAll()
        return registry.routes.takeRemoved()
      })
    pool.detach()
  }

  func scheduler(of mode: Mode) -> Scheduler {
    switch mode.kind {
    case .sync, .async: pool
    case .serial(let key?): lanes.lane(key, pool: pool)
    case .serial(nil): serialLane
    case .mainThread: mainLane
    }
  }

  /// Keeps a named lane that has retired, to be used again, where the caller has the only reference.
  func recycle(_ scheduler: consuming Scheduler) {
    guard scheduler.isRetired else { return }
    var lane = unsafeDowncast(scheduler, to: Lane.self)
    Lane.recycle(&lane)
  }

  /// A scheduler for an empty sequence, which takes no position in the mode's order.
  func freeScheduler(of mode: Mode) -> Scheduler {
    if case .mainThread = mode.kind { Lane(isMain: true, pool: pool) } else { pool }
  }

  /// What a part of the library keeps with the dispatcher, made where there is none.
  func attachment<Attachment: DispatcherAttachment>(
    orAdd make: @autoclosure () -> Attachment
  ) -> Attachment {
    attachments.withLock { attachments in
      let key = ObjectIdentifier(Attachment.self)
      if let present = attachments[key] { return unsafeDowncast(present, to: Attachment.self) }
      let attachment = make()
      attachments[key] = attachment
      return attachment
    }
  }

  /// The carried task-local values, as they are bound here.
  ///
  /// - Parameter spare: What a dispatch has used before.
  func captureTaskLocals(using spare: CapturedTaskLocal? = nil) -> CapturedTaskLocal? {
    .capture(carriedTaskLocals, of: number, using: spare)
  }
}

/// What a part of the library keeps with a dispatcher, until that is gone.
protocol DispatcherAttachment: AnyObject, Sendable {}
