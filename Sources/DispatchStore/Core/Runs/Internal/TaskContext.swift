import Synchronization

/// The context of an `async` block, of a follower, or of a group's steps, in its task and in tasks made there.
final class TaskContext: DispatchContext, @unchecked Sendable {
  // because `address` is atomic, and all else is constant
  /// Nil for a follower or a group.
  private let storeRun: StoreRun?
  /// The number of the dispatcher of a follower or a group; nil for a block.
  private let dispatcher: UInt64?
  /// The dispatch that represents a follower or a group; nil for a block.
  private let standIn: Dispatch?
  /// The sleeps of the run, if a test waits for it.
  let sleeps: VirtualSleeps?
  private let ownJobScheduler: Scheduler?
  private let isOnMainQueue: Bool
  private var ofAll = HoldUps()
  /// The address of the block's task-local binding, until the block has returned.
  private let address = Atomic<UInt>(0)

  init(
    _ storeRun: StoreRun, of dispatch: Dispatch, at scheduler: Scheduler, holdsUpMainQueue: Bool
  ) {
    (dispatcher, standIn, sleeps) = (nil, nil, nil)
    self.storeRun = storeRun
    let caller = dispatch.caller
    ownJobScheduler =
      scheduler.isTask ? caller?.jobScheduler : scheduler.needsMainQueue ? nil : scheduler
    isOnMainQueue = holdsUpMainQueue
    super.init(inside: caller)
    ofAll = ownHoldUps.union(caller?.holdUps ?? [])
  }

  /// Creates the context of a follower, or of a group's steps.
  ///
  /// - Parameters:
  ///   - dispatch: The dispatch that represents it, until it has ended.
  ///   - caller: The context that waits for it; nil for a follower.
  ///   - sleeps: The sleeps of its run, if a test waits for it.
  init(
    standIn dispatch: Dispatch, of dispatcher: Dispatcher, inside caller: DispatchContext? = nil,
    at jobScheduler: Scheduler?, sleeps: VirtualSleeps?
  ) {
    self.dispatcher = dispatcher.number
    (standIn, self.sleeps) = (dispatch, sleeps)
    (storeRun, isOnMainQueue, ownJobScheduler) = (nil, false, jobScheduler)
    super.init(inside: caller)
    ofAll = caller?.holdUps ?? []
  }

  override var passesOn: Bool { storeRun == nil || super.passesOn }

  override var dispatcherUnderWay: UInt64? {
    guard let dispatcher else { return super.dispatcherUnderWay }
    return dispatch.hasEnded ? nil : dispatcher
  }

  override var dispatch: Dispatch { standIn ?? storeRun.unsafelyUnwrapped.dispatch }
  override var owner: StoreRun? { storeRun }
  override var isOfBlock: Bool { true }
  override var jobScheduler: Scheduler? { ownJobScheduler }
  override var holdsUpMainQueue: Bool { isOnMainQueue }
  // Worked out when it is made: the task may go on after its caller.
  override var holdUps: HoldUps { ofAll }

  override var waitsForTask: Bool {
    let address = address.load(ordering: .relaxed)
    return address != 0 && address == TaskLocalAddress.current(of: Self.$inTask)
  }

  /// Notes that the block runs in the current task, which has bound the context.
  func begin() {
    address.store(TaskLocalAddress.current(of: Self.$inTask), ordering: .relaxed)
  }

  /// Forgets the address once the block has returned, because a later value may reuse it.
  func end() {
    address.store(0, ordering: .relaxed)
  }
}
