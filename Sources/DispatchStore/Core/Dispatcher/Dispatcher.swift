public import Foundation
import Synchronization

/// The dispatcher under the module's own name, for programs that write `DispatchStore.default`.
///
/// If another module has a type of the same name, write `DispatchStore::Store`.
public typealias DispatchStore = Dispatcher

/// Takes each action to the stores that handle it.
///
/// Register stores, then `send` from async code, or `dispatch` from anywhere. Per dispatch: `willDispatch` → handler →
/// commit → observers → `didDispatch` → completion → `await` returns.
///
/// You can use it from any thread, also inside handlers, hooks, observers and completions. A released dispatcher lives
/// until its dispatches have ended.
public final class Dispatcher: Sendable {
  /// The dispatcher that the static functions use.
  public static let `default` = Dispatcher(name: "default", in: nil)

  /// The dispatcher's name in messages.
  public let name: String

  let clock: DispatcherClock
  /// Timers that use `clock`.
  let timers: TimerQueue
  let carriedTaskLocals: [CarriedTaskLocal]
  let carriesTaskLocals: Bool
  /// A copy of `ThreadState.key`, which takes a call to read.
  let threadKey = ThreadState.key
  /// A number that is unique in the process, even among released dispatchers.
  let number = Dispatcher.count.wrappingAdd(1, ordering: .relaxed).newValue
  private static let count = Atomic<UInt64>(0)

  let registry: Locked<Registry>
  let pool: ConcurrentPool
  private let serialLane: Lane
  private let mainLane: Lane
  private let lanes = LaneTable()
  let defaultAdmission: DefaultAdmission?
  /// In the order in which they came: a simulation must not depend on addresses.
  private let attachments = Locked([any DispatcherAttachment]())
  private let warningHandler = Locked(WarningHandler(call: DispatchWarning.writeToStandardError))

  /// A struct, because a closure that is taken out of a generic type by itself is wrapped anew each time.
  private struct WarningHandler: Sendable {
    let call: @Sendable (DispatchWarning) -> Void
  }

  /// Makes a dispatcher.
  ///
  /// - Parameters:
  ///   - world: The simulated world in which its dispatches run.
  ///   - admission: Controls its dispatches, besides their own options.
  package init(
    name: String, queue: OperationQueue? = nil, clock: (any Clock<Duration>)? = nil,
    carrying taskLocals: [CarriedTaskLocal] = [], in world: (any SimulatedWorld)?,
    by admission: DefaultAdmission? = nil
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

  /// Sets the closure that is called with each warning, such as a second finish.
  ///
  /// By default, warnings are written to standard error.
  ///
  /// Called on the thread on which the warning occurs, with no lock held; if it is about saving, on a queue of its own.
  public func onWarning(_ body: @escaping @Sendable (DispatchWarning) -> Void) {
    var handler = WarningHandler(call: body)
    // The previous closure is released outside the lock.
    warningHandler.withLock { swap(&$0, &handler) }
  }

  func report(
    _ kind: DispatchWarning.Kind, of storeIdentifier: String? = nil, _ message: String
  ) {
    report(DispatchWarning(kind: kind, storeIdentifier: storeIdentifier, message: message))
  }

  func report(_ warning: DispatchWarning) {
    warningHandler.withLock(\.call)(warning)
  }

  /// The number of named lanes that exist now, for tests.
  var laneCount: Int { lanes.count }

  deinit {
    let removed = registry.withLock { registry in
      registry.routes.removeAll()
      return RouteCache.evict(registry.routes.takeRemoved())
    }
    for route in removed { route.retire() }
    pool.detach()
  }

  func scheduler(of mode: Mode) -> Scheduler {
    switch mode.kind {
    case .sync, .async: pool
    case .serial: serialLane
    case .lane(let key): lanes.lane(key, pool: pool)
    case .lanes(let keys): LaneSet(keys.all.map { lanes.lane($0, pool: pool) }, of: self)
    case .mainThread: mainLane
    }
  }

  /// Keeps a retired named lane for reuse, if the caller has the only reference.
  func recycle(_ scheduler: consuming Scheduler) {
    guard scheduler.isRetired else { return }
    var lane = unsafeDowncast(scheduler, to: Lane.self)
    Lane.recycle(&lane)
  }

  /// Returns a scheduler for an empty sequence, which takes no position in the mode's order.
  func freeScheduler(of mode: Mode) -> Scheduler {
    if case .mainThread = mode.kind { Lane(isMain: true, pool: pool) } else { pool }
  }

  /// Returns the dispatcher's attachment of this type, and makes it if there is none.
  func attachment<Attachment: DispatcherAttachment>(
    orAdd make: @autoclosure () -> Attachment
  ) -> Attachment {
    attachments.withLock { attachments in
      if let present = attachments.first(Attachment.self) { return present }
      let attachment = make()
      attachments.append(attachment)
      return attachment
    }
  }

  /// Returns the dispatcher's attachment of this type; nil if there is none.
  func attachment<Attachment: DispatcherAttachment>(_: Attachment.Type) -> Attachment? {
    attachments.withLock { $0.first(Attachment.self) }
  }

  /// The attachments that are there now, in the order in which they came.
  var presentAttachments: [any DispatcherAttachment] { attachments.withLock { $0 } }

  /// Returns the carried task-local values, as they are bound here; nil if there are none.
  func captureTaskLocals() -> CapturedTaskLocal? {
    carriedTaskLocals.reduce(nil) { $1.capture($0) }
  }
}

/// An object that a part of the library keeps with a dispatcher, as long as the dispatcher exists.
protocol DispatcherAttachment: AnyObject, Sendable {
  /// Called when the dispatcher closes, with no lock held, and perhaps again; not if it was closed before.
  func closed(_ dispatcher: Dispatcher)
}

extension DispatcherAttachment {
  func closed(_ dispatcher: Dispatcher) {}
}

extension [any DispatcherAttachment] {
  fileprivate func first<Attachment: DispatcherAttachment>(_: Attachment.Type) -> Attachment? {
    first { type(of: $0) == Attachment.self }.map { unsafeDowncast($0, to: Attachment.self) }
  }
}
