import Foundation

/// A turn to deliver commits, which a thread holds and other threads may wait for.
protocol DeliveryTurn: AnyObject {
  /// The notifier is about to block: threads that wait for the turn must leave their commits to it.
  func notifierBeginsToWait()

  /// The notifier runs again.
  func notifierHasWaited()
}

/// The turn of a dispatch to begin or to end, among those of its lane.
protocol LaneTurn: AnyObject {
  /// Gives the turn to the next dispatch; does nothing if that was done before.
  func leave()
}

/// The time in which a thread blocks inside the library.
///
/// The thread gives up its place in the queue, since it may wait for any queued work. Threads that wait for one of
/// its delivery turns leave their commits to it. So the awaited work can't wait for this thread.
struct BlockingRegion {
  private let worker: PoolWorker?
  /// The queue of the user's operation that blocks here.
  private let queueOfOperation: SharedQueue?
  /// The queues that have the awaited work, as far as that is known.
  private let awaited: [SharedQueue]
  private let isJobHelper: Bool
  private let blockedThreads: BlockedThreads
  private let turns: [any DeliveryTurn]
  /// The wait of the task that this thread runs.
  private let taskWait: TaskWait?

  private var isLent: Bool { worker != nil || isJobHelper }

  /// Returns the error of a refused wait; nil if the thread may block.
  ///
  /// It may not if it is a library thread, and too many of these are blocked already.
  ///
  /// Reports a warning for the first one of many.
  ///
  /// Call this before a wait begins, or before a `.sync` dispatch, which may come to wait.
  static func refusal(on thread: ThreadState, at callSite: CallSite) -> DispatchError? {
    guard thread.worker != nil || thread.fields.pointee.isJobHelper,
      BlockedThreads.here(on: thread).isFull
    else { return nil }
    let error = DispatchError(
      code: .wouldDeadlock,
      message: """
        A wait (\(callSite)) would block one more of the library's threads, of which \
        \(BlockedThreads.mostLent) are blocked already. Await the dispatch in an `async` block, or chain it \
        with a completion.
        """,
      callSites: [callSite])
    guard BlockedThreads.here(on: thread).takeReport() else { return error }
    let warning = DispatchWarning(
      kind: .tooManyBlockedThreads, storeIdentifier: nil, message: error.message)
    if let dispatcher = thread.worker?.pool.dispatcher {
      dispatcher.report(warning)
    } else {
      DispatchWarning.writeToStandardError(warning)
    }
    return error
  }

  /// - Parameter queue: The queue on which the awaited work may run.
  init(on thread: ThreadState, for queue: SharedQueue? = nil) {
    turns = thread.turns.map { $0.takeUnretainedValue() }
    taskWait = .begin()
    if !isPlanted(.turnKept) { for turn in turns { turn.notifierBeginsToWait() } }
    thread.leaveDeliveredOwners()
    thread.leaveLaneTurns()
    blockedThreads = .here(on: thread)
    worker = isPlanted(.placeNotLent) ? nil : thread.worker
    isJobHelper = thread.fields.pointee.isJobHelper
    queueOfOperation =
      thread.worker == nil && thread.simulated == nil
      ? (thread.fields.pointee.own?.queue ?? OperationQueue.current)
        .flatMap(blockedThreads.find) : nil
    awaited = [queue, worker?.queue, queueOfOperation].compactMap { $0 }
    worker?.beginWait()
    queueOfOperation?.operationWaits()
    if isJobHelper { JobInbox.ofProcess.helperWaits() }
    for queue in awaited { queue.beginWait() }
    if !isPlanted(.placeNotLent) { blockedThreads.begin(isLent: isLent) }
  }

  func end() {
    taskWait?.end()
    if !isPlanted(.turnKept) { for turn in turns { turn.notifierHasWaited() } }
    if !isPlanted(.placeNotLent) { blockedThreads.end(isLent: isLent) }
    for queue in awaited { queue.endWait() }
    if isJobHelper { JobInbox.ofProcess.helperHasWaited() }
    queueOfOperation?.operationHasWaited()
    worker?.endWait()
  }
}
