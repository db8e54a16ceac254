import Foundation

/// A turn to deliver commits that a thread holds, and that other threads may wait for.
protocol DeliveryTurn: AnyObject {
  /// The notifier is about to block: threads that wait for the turn must leave their commits to it.
  func notifierBeginsToWait()

  /// The notifier runs again.
  func notifierHasWaited()
}

/// The time in which a thread blocks inside the library.
///
/// The thread gives up its place in the queue, all that is queued may be what it waits for, and threads that
/// wait for one of its delivery turns leave their commits to it: what it waits for can't wait for it.
struct BlockingRegion {
  private let worker: PoolWorker?
  /// The queue of the user's operation that blocks here.
  private let queueOfOperation: SharedQueue?
  /// The queues on which there is what the thread waits for, as far as that is known.
  private let awaited: [SharedQueue]
  private let isJobHelper: Bool
  private let blockedThreads: BlockedThreads
  private let turns: [any DeliveryTurn]
  /// Of the task that this thread runs.
  private let taskWait: TaskWait?

  private var isLent: Bool { worker != nil || isJobHelper }

  /// Whether code on this thread may not block in the library: the thread is the library's, and so are too many that do.
  static func isRefused(on thread: ThreadState) -> Bool {
    (thread.worker != nil || thread.isJobHelper) && BlockedThreads.here(on: thread).isFull
  }

  /// Why it may not, after an incident; nil for most.
  ///
  /// To be asked before a wait begins, or a `.sync` dispatch, which may come to wait.
  static func refusal(on thread: ThreadState, at callSite: CallSite) -> DispatchError? {
    guard isRefused(on: thread) else { return nil }
    let error = DispatchError(
      code: .wouldDeadlock,
      message: """
        A wait (\(callSite)) would block one more of the library's threads, of which \
        \(BlockedThreads.mostLent) are blocked already. Await the dispatch in an `async` block, or chain it \
        with a completion.
        """,
      callSites: [callSite])
    let incident = DispatchIncident(
      kind: .tooManyBlockedThreads, storeIdentifier: nil, message: error.message)
    if let dispatcher = thread.worker?.pool.dispatcher {
      dispatcher.report(incident)
    } else {
      DispatchIncident.writeToStandardError(incident)
    }
    return error
  }

  /// - Parameter queue: The queue on which that may run which the thread waits for.
  init(on thread: ThreadState, for queue: SharedQueue? = nil) {
    turns = thread.turns.map { $0.takeUnretainedValue() }
    taskWait = .begin()
    if !isPlanted(.turnKept) { for turn in turns { turn.notifierBeginsToWait() } }
    thread.leaveDeliveredOwners()
    blockedThreads = .here(on: thread)
    worker = isPlanted(.placeNotLent) ? nil : thread.worker
    isJobHelper = thread.isJobHelper
    queueOfOperation =
      thread.worker == nil && thread.simulated == nil
      ? (thread.operationQueue ?? OperationQueue.current).flatMap(blockedThreads.find) : nil
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
